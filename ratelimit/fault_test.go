package ratelimit_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/ratelimit"
)

// limited returns a limiter that was throttled once, after perHalf responses in
// the half second before, and the instant of the throttle in nanoseconds. Its
// fill rate is 0.7 x 0.8 x 2 perHalf tokens/s (R8.2), and it is empty.
func limited(t testing.TB, perHalf int) (*ratelimit.Limiter, int64) {
	t.Helper()
	l := ratelimit.New(epoch)
	for i := range perHalf {
		l.UpdateNanos(int64(i+1)*int64(500*time.Millisecond)/int64(perHalf+1), false)
	}
	now := int64(600 * time.Millisecond)
	l.UpdateNanos(now, true)
	want := 0.7 * 0.8 * 2 * float64(perHalf+1)
	require.InEpsilon(t, want, stats(l, now).FillRate, 1e-12)
	for l.AcquireNanos(now) == 0 {
	}
	return l, now
}

func stats(l *ratelimit.Limiter, now int64) ratelimit.Stats {
	return l.SnapshotAt(epoch.Add(time.Duration(now)))
}

// A sleeper that wakes asks again: with 100 waiters on a limiter of about one
// token a second no more than burst + 5 go in 5 s.
func TestFault13SleeperAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := ratelimit.New(time.Now())
		l.UpdateAt(time.Now(), true)
		burst := stats0(l).Capacity
		rate := stats0(l).FillRate
		var admitted atomic.Int64
		end := time.Now().Add(5 * time.Second)
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				for time.Now().Before(end) {
					wait := l.Acquire()
					if wait == 0 {
						admitted.Add(1)
						return
					}
					pass(wait)
				}
			})
		}
		all.Wait()
		assert.LessOrEqual(t, float64(admitted.Load()), burst+5*rate)
		assert.GreaterOrEqual(t, float64(admitted.Load()), math.Floor(5*rate))
	})
}

func stats0(l *ratelimit.Limiter) ratelimit.Stats { return l.SnapshotAt(time.Now()) }

func TestFault14CostAboveCapacityIsAnErrorAtOnce(t *testing.T) {
	l, now := limited(t, 0) // capacity max(1.12, 1)
	require.Less(t, stats(l, now).Capacity, 5.0)
	for _, cost := range []int{5, 2, math.MaxInt} {
		wait, err := l.TryAdmitAt(epoch.Add(time.Duration(now)), cost)
		require.ErrorIs(t, err, ratelimit.ErrCost)
		assert.ErrorContains(t, err, "reprise/ratelimit: ")
		assert.Zero(t, wait)
	}
	for _, cost := range []int{0, -1, math.MinInt} {
		_, err := l.TryAdmitAt(epoch.Add(time.Duration(now)), cost)
		require.ErrorIs(t, err, ratelimit.ErrCost)
	}
}

// The clock jumps by an hour between acquire and refill: back it mints nothing,
// ahead it fills to the capacity and no more. (Instants with a monotonic reading
// do not jump at all: see internal/mono.)
func TestFault16ClockJump(t *testing.T) {
	start := time.Now()
	l := ratelimit.New(start)
	at := start.Add(600 * time.Millisecond)
	l.UpdateAt(at, true)
	for l.AcquireAt(at) == 0 {
	}
	assert.NotZero(t, l.AcquireAt(at.Add(-time.Hour)), "an hour back mints nothing")
	assert.LessOrEqual(t, l.SnapshotAt(at.Add(-time.Hour)).Level, 1.0)
	n := 0
	for l.AcquireAt(at.Add(time.Hour)) == 0 {
		n++
	}
	assert.EqualValues(t, math.Floor(l.SnapshotAt(at).Capacity), n, "an hour ahead refills to capacity")
}

// Stale timestamps from many goroutines, and t, t-1s in turn.
func TestFault49TimeMovesBack(t *testing.T) {
	l, start := limited(t, 90)
	s := stats(l, start)
	const workers, steps = 64, 500
	var admitted atomic.Int64
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 49))
			for i := range steps {
				now := start + int64(i)*int64(10*time.Millisecond)
				if i%2 == 1 {
					now -= int64(time.Second)
				}
				now -= r.Int64N(1e9)
				if l.AcquireNanos(now) == 0 {
					admitted.Add(1)
				}
			}
		})
	}
	all.Wait()
	elapsed := (steps * 10 * time.Millisecond).Seconds()
	assert.LessOrEqual(t, float64(admitted.Load()), s.Capacity+s.FillRate*elapsed)
}

// The clock is read, the goroutine yields, and only then it asks: admissions
// still stay under the line. A cancelled waiter leaves nothing behind.
func TestFault50YieldBetweenClockAndAsking(t *testing.T) {
	l, start := limited(t, 90)
	s := stats(l, start)
	var clock, admitted atomic.Int64
	clock.Store(start)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 2000 {
				now := clock.Add(int64(100 * time.Microsecond))
				runtime.Gosched()
				if l.AcquireNanos(now) == 0 {
					admitted.Add(1)
				}
			}
		})
	}
	all.Wait()
	elapsed := time.Duration(clock.Load() - start).Seconds()
	assert.LessOrEqual(t, float64(admitted.Load()), s.Capacity+s.FillRate*elapsed)
	assert.GreaterOrEqual(t, float64(admitted.Load()), s.FillRate*elapsed*0.9, "and not far below it")

	before := stats(l, clock.Load())
	w := l.Wait()
	_, ok := w.AdmitNanos(start)
	assert.False(t, ok)
	w.Leave()
	w.Leave()
	assert.Equal(t, before, stats(l, clock.Load()), "exact cancel")
}

// Whoever loses a CAS computes afresh: of any number of callers at one instant
// exactly as many are admitted as there are tokens, again and again.
func TestFault52LostCASRecomputes(t *testing.T) {
	l, now := limited(t, 9)
	s := stats(l, now)
	rounds := 200
	if testing.Short() {
		rounds = 20
	}
	for range rounds {
		now += int64(5 * time.Second) // full again
		want := int64(s.Capacity)
		var admitted atomic.Int64
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 5 {
					if l.AcquireNanos(now) == 0 {
						admitted.Add(1)
					}
				}
			})
		}
		all.Wait()
		require.Equal(t, want, admitted.Load())
	}
}

// No rate that is not a positive number ever admits; R8's own are never below
// 0.5.
func TestFault53OddRatesDeny(t *testing.T) {
	for _, rate := range []float64{0, 5e-324, math.NaN(), -1, math.Inf(-1)} {
		l := ratelimit.WithRate(epoch, rate)
		for _, now := range []int64{0, 1, int64(time.Hour), math.MaxInt64} {
			wait := l.AcquireNanos(now)
			assert.Positive(t, wait, "rate %v at %d", rate, now)
		}
	}
	for _, rate := range []float64{0, 5e-324, math.NaN(), math.Inf(1), -1, math.Inf(-1)} {
		fill, capacity := ratelimit.SetRate(rate)
		assert.GreaterOrEqual(t, fill, 0.5)
		assert.GreaterOrEqual(t, capacity, 1.0)
		assert.Less(t, fill, math.Inf(1))
	}
}

// An instant an hour ahead, then now: at most a capacity for the jump.
func TestFault55FutureTimestamp(t *testing.T) {
	l, now := limited(t, 9)
	s := stats(l, now)
	admitted := 0
	for range 100 {
		for l.AcquireNanos(now+int64(time.Hour)) == 0 {
			admitted++
		}
		for l.AcquireNanos(now) == 0 {
			admitted++
		}
		l.UpdateNanos(now, false) // an update must not make the past look refilled
		for l.AcquireNanos(now) == 0 {
			admitted++
		}
	}
	assert.EqualValues(t, math.Floor(s.Capacity), admitted)
	for _, garbage := range []int64{math.MinInt64, math.MinInt64 + 1, -1} {
		assert.NotZero(t, l.AcquireNanos(garbage))
		l.UpdateNanos(garbage, false)
	}
	assert.NotZero(t, l.AcquireNanos(now))
}

// A cost above the burst changes nothing, so nobody else pays for it.
func TestFault56OversizedCostLeavesNoDebt(t *testing.T) {
	l, now := limited(t, 9)
	now += int64(5 * time.Second)
	before := stats(l, now)
	at := epoch.Add(time.Duration(now))
	_, err := l.TryAdmitAt(at, int(before.Capacity)+1)
	require.ErrorIs(t, err, ratelimit.ErrCost)
	assert.Equal(t, before, stats(l, now))
	wait, err := l.TryAdmitAt(at, int(before.Capacity))
	require.NoError(t, err)
	assert.Zero(t, wait, "the whole burst at once")
	assert.InDelta(t, before.Capacity-math.Floor(before.Capacity), stats(l, now).Level, 1e-9)
	wait, err = l.TryAdmitAt(at, 2)
	require.NoError(t, err)
	assert.InDelta(t, (2-stats(l, now).Level)/before.FillRate, wait.Seconds(), 1e-8)
}

// The answer is a wait, not a sleep: in a bubble any sleep would show.
func TestFault58TryAdmitDoesNotSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := ratelimit.New(time.Now())
		l.Update(true)
		start := time.Now()
		wait, err := l.TryAdmit(1)
		require.NoError(t, err)
		assert.Positive(t, wait)
		assert.Positive(t, l.Acquire())
		assert.Zero(t, time.Since(start))
		pass(wait)
		wait, err = l.TryAdmit(1)
		require.NoError(t, err)
		assert.Zero(t, wait)
	})
}

// Ten thousand wait; whoever does not is answered at once.
func TestFault59WaitersBlockNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := ratelimit.New(time.Now())
		l.Update(true)
		stop := make(chan struct{})
		for range 10_000 {
			go func() {
				w := l.Wait()
				defer w.Leave()
				w.AdmitAt(time.Now())
				<-stop
			}()
		}
		synctest.Wait()
		start := time.Now()
		assert.Equal(t, 10_000, l.Snapshot().Waiting)
		for range 1000 {
			assert.Positive(t, l.Acquire())
			l.Update(false)
		}
		assert.Zero(t, time.Since(start))
		close(stop)
		synctest.Wait()
		assert.Zero(t, l.Snapshot().Waiting)
	})
}

// One throttle: the rate is 0.7 of the measured one, and the next cuts again.
func TestFault61ThrottleCuts(t *testing.T) {
	l := ratelimit.New(epoch)
	for i := range 100 {
		l.UpdateNanos(int64(i)*5e6, false)
	}
	l.UpdateNanos(5e8, true)
	s := stats(l, 5e8)
	assert.InEpsilon(t, 0.8*101/0.5, s.MeasuredRate, 1e-12)
	assert.InEpsilon(t, 0.7*s.MeasuredRate, s.FillRate, 1e-12)
	assert.True(t, s.Enabled)
	l.UpdateNanos(5e8+1, true)
	assert.InEpsilon(t, 0.7*0.7*s.MeasuredRate, stats(l, 5e8+1).FillRate, 1e-12)
}

// The limiter knows throttled or not, whatever the status was: that a plain 429
// is a throttle is decided once, by class (R3.4). An error that is none counts
// as any other response (R2.2).
func TestFault62OnlyTheClassDecides(t *testing.T) {
	l := ratelimit.New(epoch)
	l.UpdateNanos(1e8, false)
	assert.False(t, stats(l, 1e8).Enabled)
	assert.Zero(t, l.AcquireNanos(1e8))
	l.UpdateNanos(2e8, true)
	assert.True(t, stats(l, 2e8).Enabled)
	assert.NotZero(t, l.AcquireNanos(2e8))
}

// R8.3: refusals and waiters that give up are no samples.
func TestFault64RefusalsAreNoSamples(t *testing.T) {
	l, now := limited(t, 9)
	twin, _ := limited(t, 9)
	for range 10_000 {
		require.NotZero(t, l.AcquireNanos(now))
		w := l.Wait()
		_, ok := w.AdmitNanos(now)
		require.False(t, ok)
		w.Leave()
	}
	for _, at := range []int64{now, now + 1e9, now + 5e9} {
		l.UpdateNanos(at, false)
		twin.UpdateNanos(at, false)
		assert.Equal(t, stats(twin, at), stats(l, at))
	}
}

// Three callers, one token at a time: one is admitted each time, and the others
// are told when the next one comes.
func TestFault65OneForEachToken(t *testing.T) {
	l, now := limited(t, 0)
	for range 100 {
		now += int64(l.AcquireNanos(now))
		var admitted atomic.Int64
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if wait := l.AcquireNanos(now); wait == 0 {
					admitted.Add(1)
				} else {
					assert.InDelta(t, 1/stats(l, now).FillRate, wait.Seconds(), 1e-8)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, admitted.Load())
	}
}

// A caller whose clock is behind gets the tokens that are there: its now counts
// as the latest that was seen.
func TestStaleNowCountsAsTheLatest(t *testing.T) {
	l, now := limited(t, 90)
	now += int64(5 * time.Second)
	l.UpdateNanos(now, false)
	want := int(stats(l, now).Level)
	require.Greater(t, want, 50)
	n := 0
	for l.AcquireNanos(now-int64(900*time.Millisecond)) == 0 {
		n++
	}
	assert.Equal(t, want, n)
}

// Tokens that were taken at a later instant stay taken when an update with an
// earlier one begins the line anew: the hour between is not paid out twice.
func TestFault55UpdateAfterAFutureAdmission(t *testing.T) {
	l, now := limited(t, 9)
	ahead := now + int64(time.Hour)
	for l.AcquireNanos(ahead) == 0 {
	}
	before := stats(l, ahead).FillRate
	l.UpdateNanos(now+int64(300*time.Millisecond), false)
	require.NotEqual(t, before, stats(l, ahead).FillRate, "a new line")
	assert.NotZero(t, l.AcquireNanos(ahead))
}

// R8.1: the wait is long enough: who asks again after it, and not a nanosecond
// later, is admitted, whatever the rate.
func TestWaitIsLongEnough(t *testing.T) {
	for perHalf := range 300 {
		l, now := limited(t, perHalf)
		for range 50 {
			wait := l.AcquireNanos(now)
			require.Positive(t, wait)
			now += int64(wait)
			require.Zero(t, l.AcquireNanos(now), "%d responses, after %v", perHalf, wait)
		}
	}
}
