package classify

import (
	"io"
	"reflect"
	"testing"
)

// BenchmarkTraits compares a type that the table knows with one that it must
// examine: what every walk would cost without the table, with the runtime's
// own caches warm.
func BenchmarkTraits(b *testing.B) {
	err := error(&typed[int, int, int, int]{io.EOF})
	b.Run("table=known", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			traitsOf(err)
		}
	})
	b.Run("table=full", func(b *testing.B) {
		b.ReportAllocs()
		typ := reflect.TypeOf(err)
		for b.Loop() {
			examineType(typ, err)
		}
	})
}
