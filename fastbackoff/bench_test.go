package fastbackoff_test

import (
	"crypto/rand"
	"encoding/binary"
	"testing"
	"time"

	"github.com/valyala/fastrand"

	"github.com/reprise-go/reprise/fastbackoff"
)

type cryptoSource struct{}

func (cryptoSource) Uint64() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return binary.LittleEndian.Uint64(b[:])
}

type packageSource struct{}

func (packageSource) Uint64() uint64 { return uint64(fastrand.Uint32()) << 32 }

var delaySink time.Duration

func BenchmarkDelay(b *testing.B) {
	for _, impl := range []struct {
		name   string
		source fastbackoff.Source
	}{
		{"shards", new(fastbackoff.Shards)},
		{"math-rand-v2", fastbackoff.Rand{}},
		{"fastrand-package", packageSource{}},
		{"crypto-rand", cryptoSource{}},
		{"fixed", fastbackoff.Fixed(0.5)},
	} {
		b.Run("source="+impl.name, func(b *testing.B) {
			b.ReportAllocs()
			schedule := fastbackoff.Default()
			b.RunParallel(func(pb *testing.PB) {
				var sum time.Duration
				for i := 0; pb.Next(); i++ {
					sum += schedule.Delay(fastbackoff.Transient, i&15, impl.source.Uint64())
				}
				if sum == 1 {
					delaySink = sum
				}
			})
		})
	}
}
