package processor_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/internal/processor"
)

// ids returns the numbers that many goroutines are told, who run on procs processors
// and are moved between them.
func ids(procs int) map[int]int {
	before := runtime.GOMAXPROCS(procs)
	defer runtime.GOMAXPROCS(before)
	var told sync.Map
	var all sync.WaitGroup
	for range 4 * procs {
		all.Go(func() {
			for range 1000 {
				told.Store(processor.ID(), 1)
				runtime.Gosched()
			}
		})
	}
	all.Wait()
	seen := map[int]int{}
	told.Range(func(id, _ any) bool { seen[id.(int)]++; return true })
	return seen
}

func TestNumberIsNeverNegative(t *testing.T) {
	for _, procs := range []int{1, 8, 3, 2} {
		for id := range ids(procs) {
			assert.GreaterOrEqual(t, id, 0)
		}
	}
}

func BenchmarkID(b *testing.B) {
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		sum := 0
		for pb.Next() {
			sum += processor.ID()
		}
		runtime.KeepAlive(sum)
	})
}
