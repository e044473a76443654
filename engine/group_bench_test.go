package engine_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/engine"
)

// BenchmarkGroup is the way to a key's engine. look=hot finds it, among so many;
// all=true looks for each of them in turn, which is mostly the misses of the
// caches; look=new makes it; look=full has no room, after a search among engines
// that are all in use.
func BenchmarkGroup(b *testing.B) {
	for _, keys := range []int{1, 10_000, 1_000_000} {
		var g *engine.Group[string]
		var names []string
		prepare := sync.OnceFunc(func() {
			g = newGroup[string](b, keys)
			names = make([]string, keys)
			for i := range names {
				names[i] = fmt.Sprintf("tenant-%07d", i)
				g.For(names[i])
			}
		})
		hot := func(b *testing.B, mask int) {
			prepare()
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				i, e := 0, g.For(names[0])
				for pb.Next() {
					if got := g.For(names[i%keys&mask]); got == nil || keys == 1 && got != e {
						panic("another engine")
					}
					i += 7919
				}
			})
		}
		b.Run(fmt.Sprintf("look=hot/keys=%d/all=false", keys), func(b *testing.B) { hot(b, 0xff) })
		if keys > 1 {
			b.Run(fmt.Sprintf("look=hot/keys=%d/all=true", keys), func(b *testing.B) { hot(b, -1) })
		}
	}
	b.Run("look=new", func(b *testing.B) {
		g := newGroup[int64](b, 1<<26)
		var next atomic.Int64
		b.ReportAllocs()
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				g.For(next.Inc())
			}
		})
	})
	b.Run("look=full", func(b *testing.B) {
		clock := new(handClock)
		clock.pass(time.Hour)
		g := newGroup[int64](b, 10_000, engine.WithClock(clock))
		for key := range int64(10_000) {
			g.For(key)
		}
		var next atomic.Int64
		b.ReportAllocs()
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				g.For(-1 - next.Inc())
			}
		})
	})
	b.Run("look=evict", func(b *testing.B) {
		clock := new(handClock)
		g := newGroup[int64](b, 10_000, engine.WithClock(clock))
		for key := range int64(10_000) {
			g.For(key)
		}
		var next atomic.Int64
		b.ReportAllocs()
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				clock.pass(10 * time.Millisecond) // 10,000 keys in 100 s: each has rested when its turn comes
				g.For(-1 - next.Inc())
			}
		})
		s := g.Stats()
		b.ReportMetric(float64(s.Overflowed)/float64(s.Made+s.Overflowed), "overflowed/op")
	})
}
