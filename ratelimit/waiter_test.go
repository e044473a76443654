package ratelimit_test

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/internal/hammer"
	"github.com/reprise-go/reprise/ratelimit"
)

// tenPerSecond returns an empty limiter of about 10 tokens/s that nothing
// updates any more.
func tenPerSecond(t testing.TB) (*ratelimit.Limiter, float64) {
	t.Helper()
	l := ratelimit.New(time.Now())
	for range 8 {
		l.Update(false)
	}
	pass(600 * time.Millisecond)
	l.Update(true)
	for l.Acquire() == 0 {
	}
	rate := l.Snapshot().FillRate
	require.InDelta(t, 10, rate, 0.1)
	return l, rate
}

// wait is the loop that Waiter documents. It returns how often it woke, and
// whether it was admitted.
func wait(ctx context.Context, w ratelimit.Waiter) (wakes int, ok bool) {
	defer w.Leave()
	turn := w.Turn()
	for {
		wait, ok := w.AdmitAt(time.Now())
		if ok {
			return wakes, true
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-turn:
			turn = nil
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return wakes, false
		}
		wakes++
	}
}

// A thousand wait at ten a second: first come, first served, each wakes at most
// three times, and the tokens go as fast as they come.
func TestWaitersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, rate := tenPerSecond(t)
		const waiters = 1000
		start := time.Now()
		var served atomic.Int64
		var order, woke [waiters]int64
		var all sync.WaitGroup
		for i := range waiters {
			w := l.Wait()
			all.Go(func() {
				wakes, ok := wait(t.Context(), w)
				require.True(t, ok)
				order[i], woke[i] = served.Add(1), int64(wakes)
			})
		}
		all.Wait()
		for i := range waiters {
			assert.EqualValues(t, i+1, order[i], "place %d", i)
			assert.LessOrEqual(t, woke[i], int64(3), "place %d", i)
		}
		assert.InEpsilon(t, waiters/rate, time.Since(start).Seconds(), 0.001)
		assert.Zero(t, l.Snapshot().Waiting)
	})
}

// Without Turn each sleeps as long as it was told: about the same order and
// rate.
func TestWaitersThatOnlySleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, rate := tenPerSecond(t)
		const waiters = 1000
		start := time.Now()
		var served atomic.Int64
		var order [waiters]int64
		var most atomic.Int64
		var all sync.WaitGroup
		for i := range waiters {
			w := l.Wait()
			all.Go(func() {
				for n := int64(0); ; n++ {
					wait, ok := w.AdmitAt(time.Now())
					if ok {
						order[i] = served.Add(1)
						return
					}
					most.Store(max(most.Load(), n+1))
					pass(wait)
				}
			})
		}
		all.Wait()
		for i := range waiters {
			assert.InDelta(t, i+1, order[i], 10)
		}
		assert.LessOrEqual(t, most.Load(), int64(10))
		assert.InEpsilon(t, waiters/rate, time.Since(start).Seconds(), 0.02)
	})
}

// Half of the waiters give up at random times, in every part of the line. The
// others are served in order and as fast as if those had never been, and no
// token is missing in the end.
func TestWaitersThatLeaveLeaveNoTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, rate := tenPerSecond(t)
		r := rand.New(rand.NewPCG(3, 3))
		const waiters = 1000
		start := time.Now()
		var mu sync.Mutex
		var order []int
		most := 0
		var all sync.WaitGroup
		for i := range waiters {
			w := l.Wait()
			ctx, cancel := context.WithCancel(t.Context())
			if i%2 == 1 {
				ctx, cancel = context.WithTimeout(t.Context(), time.Duration(r.Int64N(int64(40*time.Second))))
			}
			all.Go(func() {
				defer cancel()
				wakes, ok := wait(ctx, w)
				mu.Lock()
				defer mu.Unlock()
				most = max(most, wakes)
				if ok {
					order = append(order, i)
				}
			})
		}
		all.Wait()
		assert.IsIncreasing(t, order)
		assert.GreaterOrEqual(t, len(order), waiters/2)
		assert.Less(t, len(order), waiters)
		assert.LessOrEqual(t, most, 4)
		assert.InEpsilon(t, float64(len(order))/rate, time.Since(start).Seconds(), 0.001)
		s := l.Snapshot()
		assert.Zero(t, s.Waiting)
		assert.Less(t, s.Level, 1.0)
		pass(time.Hour)
		n := 0
		for l.Acquire() == 0 {
			n++
		}
		assert.EqualValues(t, math.Floor(l.Snapshot().Capacity), n)
	})
}

// The rate rises while they wait: nobody sleeps through it.
func TestWaitersFollowARisingRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := ratelimit.New(time.Now())
		l.Update(true) // 0.5..1 tokens/s
		slow := l.Snapshot().FillRate
		require.Less(t, slow, 2.0)
		const waiters = 1000
		start := time.Now()
		var served atomic.Int64
		var all sync.WaitGroup
		for range waiters {
			w := l.Wait()
			all.Go(func() {
				wakes, ok := wait(t.Context(), w)
				require.True(t, ok)
				assert.LessOrEqual(t, wakes, 4)
				served.Add(1)
				pass(20 * time.Millisecond)
				l.Update(false)
			})
		}
		all.Wait()
		took := time.Since(start).Seconds()
		assert.Less(t, took, 60.0, "at the old rate it would take %v s", waiters/slow)
		assert.Greater(t, l.Snapshot().FillRate, 10*slow)
	})
}

// What a waiter is told counts those in front; what a newcomer is told counts
// all who wait, and it cannot take their tokens.
func TestWaitCountsThoseInFront(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, rate := tenPerSecond(t)
		var line []ratelimit.Waiter
		for range 5 {
			line = append(line, l.Wait())
		}
		level := l.Snapshot().Level
		for i, w := range line {
			wait, ok := w.AdmitAt(time.Now())
			require.False(t, ok)
			assert.InDelta(t, (float64(i)+1-level)/rate, wait.Seconds(), 1e-8)
		}
		assert.InDelta(t, (6-level)/rate, l.Acquire().Seconds(), 1e-8)

		pass(time.Duration((1.5 - level) / rate * 1e9)) // 1.5 tokens, all spoken for
		assert.NotZero(t, l.Acquire(), "a newcomer does not jump the line")
		for _, w := range line[1:] {
			_, ok := w.AdmitAt(time.Now())
			assert.False(t, ok)
		}
		_, ok := line[0].AdmitAt(time.Now())
		assert.True(t, ok)
		_, ok = line[0].AdmitAt(time.Now())
		assert.False(t, ok, "once a place")
		_, ok = line[0].AdmitNanos(math.MaxInt64)
		assert.False(t, ok, "whatever the time")
		select {
		case <-line[1].Turn():
		default:
			t.Error("the next in line was not called")
		}
		for _, w := range line {
			w.Leave()
		}
		pass(time.Second)
		assert.Zero(t, l.Acquire())
	})
}

// Places that were given up in the middle of the line are not waited for.
func TestWaitDoesNotCountThoseWhoLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, rate := tenPerSecond(t)
		var line []ratelimit.Waiter
		for range 5 {
			line = append(line, l.Wait())
		}
		for _, w := range line[1:4] {
			w.Leave()
		}
		level := l.Snapshot().Level
		wait, ok := line[4].AdmitAt(time.Now())
		require.False(t, ok)
		assert.InDelta(t, (2-level)/rate, wait.Seconds(), 1e-8, "one is in front")
		line[0].Leave()
		line[4].Leave()
		assert.Zero(t, l.Snapshot().Waiting)
	})
}

// A first in line that never wakes does not stop the others: a full bucket
// serves whoever asks.
func TestWaitersPassOneThatSleepsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := tenPerSecond(t)
		stuck := l.Wait()
		start := time.Now()
		var all sync.WaitGroup
		for range 20 {
			w := l.Wait()
			all.Go(func() {
				_, ok := wait(t.Context(), w)
				assert.True(t, ok)
			})
		}
		all.Wait()
		assert.Less(t, time.Since(start), time.Minute)
		_, ok := stuck.AdmitAt(time.Now().Add(time.Second))
		assert.True(t, ok)
	})
}

func TestZeroWaiterIsNeverAdmitted(t *testing.T) {
	var w ratelimit.Waiter
	wait, ok := w.AdmitAt(time.Now())
	assert.False(t, ok)
	assert.EqualValues(t, int64(math.MaxInt64), wait)
	wait, ok = w.AdmitNanos(0)
	assert.False(t, ok)
	assert.EqualValues(t, int64(math.MaxInt64), wait)
	assert.Nil(t, w.Turn())
	w.Leave()
}

// The line under fire: joins, admissions and cancels from many goroutines end
// with nobody waiting and everyone called at most once.
func TestLineHammer(t *testing.T) {
	hammer.OnProcs(t, func(t *testing.T) {
		l, start := limited(t, 900)
		var clock, admitted, left atomic.Int64
		clock.Store(start)
		rounds := 2000
		if testing.Short() {
			rounds = 200
		}
		var all sync.WaitGroup
		const workers = 8
		for g := range workers {
			all.Go(func() {
				r := rand.New(rand.NewPCG(uint64(g), 1))
				for range rounds {
					w := l.Wait()
					for {
						if _, ok := w.AdmitNanos(clock.Add(1e5)); ok {
							admitted.Add(1)
							break
						}
						if r.IntN(8) == 0 {
							left.Add(1)
							w.Leave()
							break
						}
						select {
						case <-w.Turn():
						default:
						}
					}
					w.Leave()
				}
			})
		}
		all.Wait()
		assert.EqualValues(t, workers*rounds, admitted.Load()+left.Load())
		assert.Zero(t, stats(l, clock.Load()).Waiting)
		s := stats(l, clock.Load())
		assert.LessOrEqual(t, float64(admitted.Load()), s.Capacity+s.FillRate*time.Duration(clock.Load()-start).Seconds())
		w := l.Wait()
		<-w.Turn()
		w.Leave()
	})
}

// pass lets d pass, in a bubble's time.
func pass(d time.Duration) {
	<-time.After(d)
}
