package engine_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
	"github.com/reprise-go/reprise/internal/hammer"
)

func adaptive(tb testing.TB, opts ...engine.Option) *engine.Engine {
	tb.Helper()
	return newEngine(tb, append([]engine.Option{engine.WithMode(engine.Adaptive)}, opts...)...)
}

// pass lets virtual time pass, in a bubble.
func pass(d time.Duration) { <-time.After(d) }

// throttled is one call whose only attempt is throttled.
func throttled(t *testing.T, e *engine.Engine) {
	t.Helper()
	c := e.Begin()
	require.Zero(t, c.Admit())
	c.Fail(throttling)
}

// Peer fault 61: outcomes reach the limiter. R8.2: one throttle after ten
// requests a second cuts the measured rate by 0.7.
func TestPeerFault61ThrottlesReachTheLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := adaptive(t, engine.WithMaxAttempts(1))
		for range 40 {
			pass(100 * ms)
			c := e.Begin()
			require.Zero(t, c.Admit(), "never throttled: never delayed")
			c.Succeed()
		}
		before := e.Stats().Limiter
		assert.False(t, before.Enabled)
		assert.InDelta(t, 10, before.MeasuredRate, 0.5)
		throttled(t, e)
		after := e.Stats().Limiter
		assert.True(t, after.Enabled)
		assert.InDelta(t, 0.7*after.MeasuredRate, after.FillRate, 1e-9)
		assert.Zero(t, after.SinceThrottle)
	})
}

// R2.1, R8.1: once enabled, first attempts wait too; Do waits and then sends.
func TestAdaptiveDelaysFirstAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := adaptive(t, engine.WithMaxAttempts(1))
		throttled(t, e) // nothing measured yet: the rate falls to 0.5/s, the level to 0
		s := e.Stats().Limiter
		require.Equal(t, 0.5, s.FillRate)

		c := e.Begin()
		wait := c.Admit()
		assert.Equal(t, 2*time.Second, wait.Round(ms), "(1 - 0) / 0.5")
		c.Abandon()

		start := time.Now()
		v, err := engine.Do(t.Context(), e, (&script{}).op)
		require.NoError(t, err)
		assert.Equal(t, 1, v)
		assert.InDelta(t, 2*time.Second, time.Since(start), float64(ms))
		require.NoError(t, engine.Run(t.Context(), e, func(context.Context) error { return nil }))
	})
}

// A wait that cannot fit before the deadline ends the call at once, with no
// token taken and nothing sent; the error says how long the wait would be.
func TestAdaptiveDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := adaptive(t, engine.WithMaxAttempts(1))
		throttled(t, e)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		var s script
		_, err := engine.Do(ctx, e, s.op)
		assert.Zero(t, time.Since(start))
		assert.Empty(t, s.times)
		assert.ErrorIs(t, err, engine.ErrDeadline)
		var refused *engine.Error
		require.ErrorAs(t, err, &refused)
		assert.Zero(t, refused.Attempts)
		assert.NoError(t, refused.Err)
		assert.Equal(t, 2*time.Second, refused.Wait.Round(ms))
		assert.EqualError(t, err, "reprise/engine: deadline too near before the first attempt (the send limiter asks to wait 2s)")
		assert.Zero(t, e.Stats().Limiter.Level)
		assert.Zero(t, e.Stats().Limiter.Waiting)
	})
}

// A cancel ends the wait at once, takes nothing and leaves no trace.
func TestAdaptiveCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := adaptive(t, engine.WithMaxAttempts(1))
		throttled(t, e)
		ctx, cancel := context.WithCancelCause(t.Context())
		leaving := errors.New("leaving")
		time.AfterFunc(300*ms, func() { cancel(leaving) })
		start := time.Now()
		_, err := engine.Do(ctx, e, (&script{}).op)
		assert.Equal(t, 300*ms, time.Since(start))
		assert.ErrorIs(t, err, leaving)
		assert.ErrorIs(t, err, engine.ErrCancelled)
		assert.Zero(t, e.Stats().Limiter.Waiting)
		pass(1700*ms + time.Microsecond)
		c := e.Begin()
		assert.Zero(t, c.Admit(), "the token that the cancelled caller did not take")
	})
}

// A hundred wait on a slow limiter: about in order, at the limiter's rate, with
// none lost (peer fault 13: admitted is at most burst + rate x time).
func TestAdaptiveWaitersAreServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := adaptive(t, engine.WithMaxAttempts(1))
		throttled(t, e)
		const callers = 50
		var order []int
		var mu sync.Mutex
		var all sync.WaitGroup
		start := time.Now()
		for i := range callers {
			all.Go(func() {
				c := e.Begin()
				if c.AdmitWait(t.Context()).Reason != engine.ReasonRetry {
					t.Error("not admitted")
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				c.Abandon() // no response: the rate stays 0.5/s
			})
			synctest.Wait()
		}
		all.Wait()
		assert.InDelta(t, callers*2, time.Since(start).Seconds(), 2.5)
		for place, caller := range order {
			assert.InDelta(t, place, caller, 2, "about first come, first served")
		}
	})
}

// Who is called to the head of the line does not sleep on: the token that the
// one in front has left is the next one's at once, not after the wait that was
// told when both stood there.
func TestAdaptiveNextInLineWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := adaptive(t, engine.WithMaxAttempts(1))
		throttled(t, e) // 0.5/s and empty: the first token after 2 s, the second after 4
		start := time.Now()
		first, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, leave)
		var both sync.WaitGroup
		both.Go(func() {
			c := e.Begin()
			assert.Equal(t, engine.ReasonCancelled, c.AdmitWait(first).Reason)
		})
		synctest.Wait()
		both.Go(func() {
			c := e.Begin()
			assert.Equal(t, engine.ReasonRetry, c.AdmitWait(context.Background()).Reason)
			assert.Equal(t, 2*time.Second, time.Since(start).Round(ms))
			c.Abandon()
		})
		both.Wait()
		assert.Zero(t, e.Stats().Limiter.Waiting)
	})
}

// A service of 500 requests a second that is offered 750 for 20 s keeps serving:
// the line of those who wait does not eat up the time that attempts need. A wait
// may take half of the time left.
func TestAdaptiveOverloadKeepsServing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const capacity, offered, seconds, latency, deadline = 500, 750, 20, 200 * ms, time.Second
		e := adaptive(t, engine.WithThrottleCoalescing(300*ms))
		var mu sync.Mutex
		tokens, last := float64(capacity), time.Now()
		var good, cut atomic.Int64
		op := func(ctx context.Context) (int, error) {
			mu.Lock()
			now := time.Now()
			tokens, last = min(capacity, tokens+capacity*now.Sub(last).Seconds()), now
			served := tokens >= 1
			if served {
				tokens--
			}
			mu.Unlock()
			select {
			case <-time.After(latency):
			case <-ctx.Done():
				cut.Inc()
				return 0, ctx.Err()
			}
			if !served {
				return 0, slowDown
			}
			good.Inc()
			return 1, nil
		}
		var callers sync.WaitGroup
		for range offered * seconds {
			callers.Go(func() {
				ctx, stop := context.WithTimeout(t.Context(), deadline)
				defer stop()
				_, _ = engine.Do(ctx, e, op)
			})
			pass(time.Second / offered)
		}
		callers.Wait()
		assert.Greater(t, good.Load(), int64(0.9*capacity*seconds))
		assert.Less(t, cut.Load(), int64(0.01*capacity*seconds), "attempts that had no time for their answer")
	})
}

// Calls whose deadlines are shorter than the wait for a token at the lowest rate,
// 2 s, still bring the rate up again: the one that gets the token has time for its
// answer, which the limiter must hear of.
func TestAdaptiveRecoversUnderShortDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const deadline, latency = 300 * ms, 10 * ms
		e := adaptive(t)
		throttled(t, e) // 0.5/s and empty
		var good atomic.Int64
		op := func(ctx context.Context) (int, error) {
			select {
			case <-time.After(latency):
				good.Inc()
				return 1, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		var callers sync.WaitGroup
		for range 60 * 250 { // a minute of 250/s
			callers.Go(func() {
				ctx, stop := context.WithTimeout(t.Context(), deadline)
				defer stop()
				_, _ = engine.Do(ctx, e, op)
			})
			pass(4 * ms)
		}
		callers.Wait()
		assert.Greater(t, good.Load(), int64(10_000))
		assert.Greater(t, e.Stats().Limiter.FillRate, 100.0)
	})
}

// A server's hint and the limiter's wait: the longer one counts.
func TestAdaptiveHintAndLimiter(t *testing.T) {
	for hint, want := range map[time.Duration]time.Duration{
		4 * time.Second: 4 * time.Second, // by then the limiter has a token
		100 * ms:        2 * time.Second, // the limiter's wait is longer
	} {
		synctest.Test(t, func(t *testing.T) {
			e := adaptive(t)
			s := script{errs: []error{&hinted{slowDown, hint}}}
			_, err := engine.Do(t.Context(), e, s.op)
			require.NoError(t, err)
			assert.InDelta(t, want, s.waits()[0], float64(ms))
		})
	}
}

type hinted struct {
	codeError
	after time.Duration
}

func (h *hinted) RetryAfter() time.Duration { return h.after }

// An admission that cannot fit after the backoff gives the quota's tokens back.
func TestAdaptiveRetryNotAdmittedIsRefunded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := adaptive(t, engine.WithSchedule(fastbackoff.Schedule{Throttling: 100 * ms}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := engine.Do(ctx, e, (&script{errs: []error{slowDown}}).op)
		assert.ErrorIs(t, err, engine.ErrDeadline)
		assert.ErrorIs(t, err, slowDown)
		assert.Equal(t, 500, level(e))
		assert.EqualValues(t, 1, e.Stats().UnsentRetries)
	})
}

// Peer fault 64: what is refused locally is no response.
func TestPeerFault64LocalRefusalsAreNoSamples(t *testing.T) {
	now := time.Unix(100, 0)
	clock := &fakeClock{now: now}
	e := adaptive(t, engine.WithClock(clock), engine.WithTokens(0))
	c := e.Begin()
	require.Zero(t, c.AdmitAt(now))
	c.FailAt(now, throttling) // a response; the quota's refusal of its retry is none
	before := e.Stats().Limiter
	for range 100 {
		c := e.Begin()
		require.NotZero(t, c.AdmitAt(now))
		c.Abandon()
	}
	assert.Equal(t, before, e.Stats().Limiter)
}

// Peer fault 1 in adaptive mode: a drained quota comes back with successes, one
// token each (R6).
func TestPeerFault1AdaptiveRefillsTheQuota(t *testing.T) {
	e := adaptive(t, engine.WithTokens(0))
	for range 1000 {
		c := e.Begin()
		require.Zero(t, c.Admit())
		c.Succeed()
	}
	assert.Equal(t, 500, level(e))
	c := e.Begin()
	assert.Equal(t, engine.ReasonRetry, c.Fail(transient).Reason)
}

// With coalescing, throttles that answer attempts admitted before the last cut
// do not cut again; by default each does (R8.2).
func TestThrottleCoalescing(t *testing.T) {
	for _, row := range []struct {
		opts []engine.Option
		cuts int
	}{
		{nil, 5},
		{[]engine.Option{engine.WithThrottleCoalescing(100 * ms)}, 1},
		{[]engine.Option{engine.WithThrottleCoalescing(2500 * time.Microsecond)}, 2},
	} {
		clock := &fakeClock{now: time.Unix(100, 0)}
		e := adaptive(t, append(row.opts, engine.WithClock(clock), engine.WithMaxAttempts(1))...)
		for range 4000 { // 1,000/s
			clock.now = clock.now.Add(ms)
			c := e.Begin()
			require.Zero(t, c.Admit())
			c.Succeed()
		}
		burst := make([]engine.Call, 5) // admitted together
		for i := range burst {
			burst[i] = e.Begin()
			require.Zero(t, burst[i].Admit())
		}
		cuts, last := 0, math.Inf(1)
		for i := range burst {
			clock.now = clock.now.Add(ms)
			burst[i].Fail(throttling)
			if rate := e.Stats().Limiter.FillRate; rate < last {
				cuts, last = cuts+1, rate
			}
		}
		assert.Equal(t, row.cuts, cuts)
	}
}

// R1.4: legacy has no quota, one backoff for all classes, five attempts.
func TestLegacy(t *testing.T) {
	e := newEngine(t, engine.WithMode(engine.Legacy))
	assert.Equal(t, 5, e.MaxAttempts())
	for range 100 {
		c := e.Begin()
		for i, o := range []engine.Outcome{transient, throttling, transient, throttling} {
			require.Equal(t, engine.Decision{Delay: time.Second<<i - near, Reason: engine.ReasonRetry}, c.Fail(o))
		}
		require.Equal(t, engine.ReasonMaxAttempts, c.Fail(transient).Reason)
	}
	assert.Equal(t, 500, level(e))
	c := e.Begin()
	assert.Equal(t, engine.ReasonNonRetryable, c.Fail(final).Reason, "the same classification")
	assert.Zero(t, e.Stats().Limiter)

	e = newEngine(t, engine.WithMode(engine.Legacy), engine.WithMaxAttempts(math.MaxInt32))
	c = e.Begin()
	var d engine.Decision
	for range 10 {
		d = c.Fail(transient)
	}
	assert.Equal(t, 20*time.Second-near, d.Delay)
}

// Attempts, costs and capacity change under load and no token is lost or minted.
func TestReconfigureUnderLoad(t *testing.T) {
	hammer.OnProcs(t, func(t *testing.T) {
		e := newEngine(t, engine.WithMaxAttempts(2))
		stop := atomic.NewBool(false)
		var workers sync.WaitGroup
		for range 8 {
			workers.Go(func() {
				for !stop.Load() {
					c := e.Begin()
					if c.Fail(transient).Reason == engine.ReasonRetry {
						c.Abandon() // at the cost that was paid, whatever it is by now
					}
				}
			})
		}
		for i := range 300 {
			if err := e.Reconfigure(
				engine.WithQuota(engine.Quota{TransientCost: 1 + i%50}),
				engine.WithMaxAttempts(2+i%3)); err != nil {
				t.Error(err)
			}
		}
		stop.Store(true)
		workers.Wait()
		assert.Equal(t, 500, level(e), "every retry was given back what it took")
		assert.Equal(t, 1+299%50, e.Quota().TransientCost)
	})
}

func TestReconfigure(t *testing.T) {
	e := newEngine(t)
	c := e.Begin()
	require.Equal(t, engine.ReasonRetry, c.Fail(transient).Reason)
	require.NoError(t, e.Reconfigure(engine.WithQuota(engine.Quota{Capacity: 50, TransientCost: 40}), engine.WithMaxAttempts(5)))
	assert.Equal(t, 50, e.Stats().QuotaCapacity)
	assert.Equal(t, 50, level(e))
	require.Equal(t, engine.ReasonRetry, c.Fail(transient).Reason, "the call under way goes on with the new policy")
	assert.Equal(t, 10, level(e))
	c.Succeed()
	assert.Equal(t, 50, level(e))
	require.NoError(t, e.Reconfigure(engine.WithQuota(engine.Quota{})))
	assert.Equal(t, 50, level(e), "a larger capacity adds no tokens")
	assert.Equal(t, 500, e.Stats().QuotaCapacity)
	assert.Equal(t, 5, e.MaxAttempts(), "what is not said stays")

	for _, fixed := range []engine.Option{
		engine.WithMode(engine.Adaptive), engine.WithTokens(3), engine.WithPacing(), engine.WithService("SQS"),
		engine.WithObserver(engine.Observer{}), engine.WithClock(&fakeClock{}), engine.WithSource(fastbackoff.Fixed(0)),
		engine.WithThrottleCoalescing(time.Second),
	} {
		assert.ErrorContains(t, e.Reconfigure(engine.WithMaxAttempts(9), fixed), "cannot be changed while calls are under way")
	}
	assert.Equal(t, 5, e.MaxAttempts(), "an error changes nothing")
	assert.Error(t, e.Reconfigure(engine.WithMaxAttempts(0)))

	d, err := e.Derive(engine.WithMaxAttempts(2))
	require.NoError(t, err)
	require.NoError(t, d.Reconfigure(engine.WithMaxAttempts(3)))
	assert.Equal(t, []int{3, 5}, []int{d.MaxAttempts(), e.MaxAttempts()})
	assert.ErrorContains(t, d.Reconfigure(engine.WithQuota(engine.Quota{Capacity: 7})), "reconfigure that")
	var none *engine.Engine
	assert.Error(t, none.Reconfigure())
	assert.Error(t, new(engine.Engine).Reconfigure())

	full := newEngine(t, engine.WithTokens(400))
	require.NoError(t, full.Reconfigure(engine.WithQuota(engine.Quota{Capacity: 100})), "the level it began at does not matter any more")
}
