package ratelimit_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/ratelimit"
)

// hammer runs body at GOMAXPROCS 1, 2 and 4.
func hammer(t *testing.T, body func(t *testing.T)) {
	t.Helper()
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for _, procs := range []int{1, 2, 4} {
		runtime.GOMAXPROCS(procs)
		t.Run(fmt.Sprint("procs=", procs), body)
	}
}

// crowd runs body in workers goroutines at once.
func crowd(workers int, body func(worker int)) {
	var all sync.WaitGroup
	for g := range workers {
		all.Go(func() { body(g) })
	}
	all.Wait()
}

// R8.1 under fire, in phases of a constant rate: over seconds of virtual time no
// more is admitted than the burst and the integral of the rate, and not much
// less. Under race every admission checks that used stays under the allowance.
func TestHammerAdmissions(t *testing.T) {
	hammer(t, func(t *testing.T) {
		l, start := limited(t, 400)
		var clock, admitted atomic.Int64
		clock.Store(start)
		steps := 5000
		if testing.Short() {
			steps = 500
		}
		integral := stats(l, start).Capacity
		for phase := range 6 {
			s := stats(l, clock.Load())
			from := clock.Load()
			crowd(8, func(worker int) {
				r := rand.New(rand.NewPCG(uint64(worker), uint64(phase)))
				for range steps {
					now := clock.Add(r.Int64N(2e5))
					if r.IntN(10) == 0 {
						now -= r.Int64N(1e8) // a slow caller's clock
					}
					if l.AcquireNanos(now) == 0 {
						admitted.Add(1)
					}
				}
			})
			integral += s.FillRate * time.Duration(clock.Load()-from).Seconds()
			require.LessOrEqual(t, float64(admitted.Load()), integral, "phase %d", phase)
			l.UpdateNanos(clock.Load(), phase%2 == 0)
		}
		assert.Greater(t, float64(admitted.Load()), integral*0.5)
	})
}

// Everything at once: acquires, successes, throttles, waiters, stats. The rate
// never exceeds twice the measured one at its highest, which bounds what may be
// admitted; levels stay within [0, capacity] in every snapshot seen.
func TestHammerEverything(t *testing.T) {
	hammer(t, func(t *testing.T) {
		l, start := limited(t, 400)
		var clock, admitted, updates atomic.Int64
		var highest atomic.Uint64 // a rate, as bits: they order like the numbers
		clock.Store(start)
		highest.Store(math.Float64bits(stats(l, start).FillRate))
		burst := stats(l, start).Capacity
		steps := 4000
		if testing.Short() {
			steps = 400
		}
		see := func(now int64) {
			s := stats(l, now)
			assert.GreaterOrEqual(t, s.Level, 0.0)
			assert.LessOrEqual(t, s.Level, s.Capacity)
			assert.GreaterOrEqual(t, s.FillRate, 0.5)
			for {
				old := highest.Load()
				if math.Float64bits(s.FillRate) <= old || highest.CompareAndSwap(old, math.Float64bits(s.FillRate)) {
					return
				}
			}
		}
		crowd(8, func(worker int) {
			r := rand.New(rand.NewPCG(uint64(worker), 5))
			for i := range steps {
				now := clock.Add(r.Int64N(2e5)) - r.Int64N(1e6)
				if l.AcquireNanos(now) != 0 {
					continue
				}
				admitted.Add(1)
				l.UpdateNanos(clock.Load(), i%500 == worker)
				updates.Add(1)
				see(clock.Load())
			}
		})
		elapsed := time.Duration(clock.Load() - start).Seconds()
		top := math.Float64frombits(highest.Load())
		assert.LessOrEqual(t, float64(admitted.Load()), burst+2*top*(elapsed+1))
		assert.Equal(t, admitted.Load(), updates.Load())
	})
}

// No cut is lost: within a half second, throttles from all sides multiply the
// rate by 0.7 each, whatever their order (R8.2), and successes at stale instants
// change nothing.
func TestHammerEveryThrottleCuts(t *testing.T) {
	hammer(t, func(t *testing.T) {
		rounds := 300
		if testing.Short() {
			rounds = 30
		}
		for range rounds {
			l, start := limited(t, 100_000)
			fill := stats(l, start).FillRate
			var clock atomic.Int64
			clock.Store(start)
			crowd(4, func(int) {
				for range 5 {
					l.UpdateNanos(clock.Add(1), true)
					l.UpdateNanos(start, false)
				}
			})
			require.InEpsilon(t, fill*math.Pow(0.7, 20), stats(l, clock.Load()).FillRate, 1e-12)
		}
	})
}

// No response is lost from the measured rate, whether it went to the counter or
// along with a snapshot, across pages and borders.
func TestHammerEveryResponseCounts(t *testing.T) {
	hammer(t, func(t *testing.T) {
		l := ratelimit.New(epoch)
		m := 0.0
		each := 2000
		if testing.Short() {
			each = 200
		}
		for bucket := range int64(20) {
			from := bucket * int64(500*time.Millisecond)
			first := from + 1
			if bucket > 0 { // the first one over the border closes the last bucket
				l.UpdateNanos(first, bucket%5 == 4)
				count := float64(4*each + 1)
				m = 0.8*count/0.5 + 0.2*m
				require.InEpsilon(t, m, stats(l, first).MeasuredRate, 1e-9, "bucket %d", bucket)
			} else {
				l.UpdateNanos(first, false)
				l.UpdateNanos(first, false)
			}
			var clock atomic.Int64
			clock.Store(first)
			less := 0
			if bucket == 0 {
				less = 2
			}
			crowd(4, func(worker int) {
				n := each
				if worker == 0 {
					n -= less
				}
				for i := range n {
					l.UpdateNanos(clock.Add(1e4), bucket > 10 && i%100 == 0)
				}
			})
		}
	})
}
