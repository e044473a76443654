package ratelimit_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/internal/hammer"
	"github.com/reprise-go/reprise/ratelimit"
)

// R8.1 under fire, in phases of a constant rate: over seconds of virtual time no
// more is admitted than the burst and the integral of the rate, and not much
// less. Under race every admission checks that used stays under the allowance.
func TestHammerAdmissions(t *testing.T) {
	hammer.OnProcs(t, func(t *testing.T) {
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
			from, before := clock.Load(), admitted.Load()
			hammer.Together(8, func(worker int) {
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
			made := s.FillRate * time.Duration(clock.Load()-from).Seconds()
			integral += made
			require.GreaterOrEqual(t, float64(admitted.Load()-before), 0.95*made-2, "phase %d", phase)
			require.LessOrEqual(t, float64(admitted.Load()), integral, "phase %d", phase)
			l.UpdateNanos(clock.Load(), phase%2 == 0)
		}
	})
}

// Everything at once: acquires, successes, throttles, waiters, stats. The rate
// never exceeds twice the measured one at its highest, which bounds what may be
// admitted; levels stay within [0, capacity] in every snapshot seen.
func TestHammerEverything(t *testing.T) {
	hammer.OnProcs(t, func(t *testing.T) {
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
		hammer.Together(8, func(worker int) {
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
		assert.Equal(t, 15, ratelimit.FreeSlots(l), "every slot but the state's was set free")
	})
}

// No cut is lost: within a half second, throttles from all sides multiply the
// rate by 0.7 each, whatever their order (R8.2), and successes at stale instants
// change nothing.
func TestHammerEveryThrottleCuts(t *testing.T) {
	hammer.OnProcs(t, func(t *testing.T) {
		rounds := 300
		if testing.Short() {
			rounds = 30
		}
		for range rounds {
			l, start := limited(t, 10_000)
			fill := stats(l, start).FillRate
			var clock atomic.Int64
			clock.Store(start)
			hammer.Together(4, func(int) {
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
	hammer.OnProcs(t, func(t *testing.T) {
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
			hammer.Together(4, func(worker int) {
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

// A storm at the minimum rate, where throttles only mark their time: the last
// one is known, no response is lost, and the rate then grows as the model's.
func TestHammerStormAtTheFloor(t *testing.T) {
	hammer.OnProcs(t, func(t *testing.T) {
		each := 3000
		if testing.Short() {
			each = 300
		}
		p := newPair(t, 0)
		now := int64(0)
		for range 5 {
			now = (now/halfSecond + 1) * halfSecond // the first over a border
			p.update(now, true)
			for range 40 {
				now++
				p.update(now, true)
			}
			require.Equal(t, 0.5, p.m.fill)
			var clock atomic.Int64
			clock.Store(now)
			hammer.Together(4, func(worker int) {
				for i := range each {
					at := clock.Add(1e4)
					p.l.UpdateNanos(at, i%5 != worker)
					p.l.AcquireNanos(at)
				}
			})
			now = clock.Load() + 1
			p.l.UpdateNanos(now, true)
			assert.Zero(t, stats(p.l, now).SinceThrottle)
			for range 4 * each { // the model's, all at the end: within a half second and at the floor it is the same
				p.m.update(true, now)
			}
			p.m.update(true, now)
			for p.l.AcquireNanos(now) == 0 {
			}
			p.m.refill(now)
			p.m.level = stats(p.l, now).Level
			for range 50 {
				now += int64(40 * time.Millisecond)
				p.update(now, false)
			}
			require.Greater(t, p.m.fill, 0.5)
		}
	})
}

// Successes that raise the rate from the floor against throttles that mark: the
// throttles win in the end, whatever the order, and no cut is lost.
func TestHammerLeavingTheFloor(t *testing.T) {
	hammer.OnProcs(t, func(t *testing.T) {
		rounds := 2000
		if testing.Short() {
			rounds = 200
		}
		l := ratelimit.New(epoch)
		for i := range int64(500) {
			l.UpdateNanos(i*1e6, false)
		}
		now := int64(500 * time.Millisecond)
		for range rounds {
			for range 30 {
				now++
				l.UpdateNanos(now, true)
			}
			require.Equal(t, 0.5, stats(l, now).FillRate)
			later := now + int64(5*time.Second) // 0.4 (5 - 0.721)^3 + 0.5 = 31.84/s by then
			hammer.Together(4, func(worker int) {
				switch worker {
				case 0, 1:
					l.UpdateNanos(later, false)
					l.UpdateNanos(later+1, false)
				default:
					l.UpdateNanos(later+2, true)
				}
			})
			now = later + 2
			s := stats(l, now)
			require.Zero(t, s.SinceThrottle, "the throttles came last, by their clock")
			require.LessOrEqual(t, s.FillRate, 0.7*0.7*31.85, "both cut")
		}
	})
}

const halfSecond = int64(500 * time.Millisecond)
