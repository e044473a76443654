package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/engine"
)

// R2.2: the limiter knows of a failure before it is decided what follows, so a
// hook sees it there.
func TestLimiterIsToldBeforeTheDecision(t *testing.T) {
	now := time.Unix(100, 0)
	for name, fail := range map[string]func(*engine.Call) engine.Decision{
		"Fail":   func(c *engine.Call) engine.Decision { return c.Fail(throttling) },
		"FailAt": func(c *engine.Call) engine.Decision { return c.FailAt(now, throttling) },
	} {
		for attempts, want := range map[int]engine.Reason{1: engine.ReasonMaxAttempts, 2: engine.ReasonRetry} {
			var e *engine.Engine
			told := 0
			look := func() {
				told++
				assert.True(t, e.Stats().Limiter.Enabled, name)
			}
			e = adaptive(t, engine.WithMaxAttempts(attempts), engine.WithClock(&fakeClock{now: now}), engine.WithObserver(engine.Observer{
				Retry: func(engine.RetryEvent) { look() },
				Stop:  func(engine.StopEvent) { look() },
			}))
			c := e.Begin()
			assert.Equal(t, want, fail(&c).Reason, name)
			assert.Equal(t, 1, told, name)
			assert.Zero(t, e.Stats().HookPanics)
		}
	}
}

// R8.2: only throttling cuts; a transient failure, a final one and a success are
// counted alike. Ten responses a second measure ten, by each way in.
func TestEveryResponseIsCountedAndOnlyThrottlesCut(t *testing.T) {
	for name, respond := range map[string]func(*engine.Call, time.Time){
		"Succeed":          func(c *engine.Call, _ time.Time) { c.Succeed() },
		"SucceedAt":        (*engine.Call).SucceedAt,
		"Fail transient":   func(c *engine.Call, _ time.Time) { c.Fail(transient) },
		"Fail final":       func(c *engine.Call, _ time.Time) { c.Fail(final) },
		"FailAt transient": func(c *engine.Call, now time.Time) { c.FailAt(now, transient) },
		"FailAt final":     func(c *engine.Call, now time.Time) { c.FailAt(now, final) },
	} {
		clock := &fakeClock{now: time.Unix(100, 0)}
		e := adaptive(t, engine.WithClock(clock), engine.WithMaxAttempts(1))
		for range 100 {
			clock.now = clock.now.Add(100 * ms)
			c := e.Begin()
			require.Zero(t, c.AdmitAt(clock.now), name)
			respond(&c, clock.now)
		}
		s := e.Stats().Limiter
		assert.False(t, s.Enabled, name)
		assert.InDelta(t, 10, s.MeasuredRate, 1e-6, name)
	}
}

// What coalescing asks is when the throttled attempt was admitted: a throttle of
// one that went out after the cut is news and cuts again, however soon it comes,
// by each way in and whether it was a first attempt or waited in line.
func TestCoalescingKnowsWhenAnAttemptWasAdmitted(t *testing.T) {
	for name, way := range map[string]struct {
		admit func(*engine.Call, time.Time)
		fail  func(*engine.Call, time.Time)
	}{
		"Admit, Fail": {
			func(c *engine.Call, _ time.Time) { c.Admit() },
			func(c *engine.Call, _ time.Time) { c.Fail(throttling) },
		},
		"AdmitAt, FailAt": {
			func(c *engine.Call, now time.Time) { c.AdmitAt(now) },
			func(c *engine.Call, now time.Time) { c.FailAt(now, throttling) },
		},
		"AdmitWait, FailIn": {
			func(c *engine.Call, _ time.Time) { c.AdmitWait(t.Context()) },
			func(c *engine.Call, _ time.Time) { c.FailIn(t.Context(), throttling) },
		},
	} {
		clock := &fakeClock{now: time.Unix(100, 0)}
		e := adaptive(t, engine.WithClock(clock), engine.WithMaxAttempts(1), engine.WithThrottleCoalescing(time.Hour))
		for range 4000 { // 1,000/s
			clock.now = clock.now.Add(ms)
			c := e.Begin()
			c.SucceedAt(clock.now)
		}
		before, first := e.Begin(), e.Begin()
		way.admit(&before, clock.now)
		way.admit(&first, clock.now)
		clock.now = clock.now.Add(ms)
		way.fail(&first, clock.now)
		cut := e.Stats().Limiter.FillRate

		clock.now = clock.now.Add(ms)
		after := e.Begin()
		way.admit(&after, clock.now)
		clock.now = clock.now.Add(ms)
		way.fail(&before, clock.now)
		assert.Equal(t, cut, e.Stats().Limiter.FillRate, "%s: admitted before the cut", name)
		way.fail(&after, clock.now)
		assert.InDelta(t, 0.7*cut, e.Stats().Limiter.FillRate, 1e-9, "%s: admitted after it", name)
	}
}

// R2.2, R8.3: under a caller that has left, a throttle is still the server's
// word, while any other failure may be the leaving itself and tells nothing.
func TestWhatADoneContextTellsTheLimiter(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, row := range []struct {
		outcome engine.Outcome
		enabled bool
	}{
		{throttling, true},
		{transient, false},
		{engine.Outcome{Cancelled: true}, false},
	} {
		clock := &fakeClock{now: time.Unix(100, 0)}
		e := adaptive(t, engine.WithClock(clock))
		c := e.Begin()
		require.Zero(t, c.Admit())
		clock.now = clock.now.Add(600 * ms)
		assert.Equal(t, engine.ReasonCancelled, c.FailIn(ctx, row.outcome).Reason)
		s := e.Stats().Limiter
		assert.Equal(t, row.enabled, s.Enabled, "%+v", row)
		assert.Equal(t, row.enabled, s.MeasuredRate > 0, "%+v", row)
		assert.Equal(t, 500, level(e))
	}
}

// R2.1, R2.2, R6: behind the limiter Do and Run are one and the same call: the
// first attempt waits, its success is heard by the limiter, the quota and the
// hook.
func TestDoAndRunBehindTheLimiter(t *testing.T) {
	for name, call := range map[string]func(context.Context, *engine.Engine) error{
		"Do": func(ctx context.Context, e *engine.Engine) error {
			_, err := engine.Do(ctx, e, (&script{}).op)
			return err
		},
		"Run": func(ctx context.Context, e *engine.Engine) error {
			return engine.Run(ctx, e, func(context.Context) error { return nil })
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			successes := 0
			e := adaptive(t, engine.WithMaxAttempts(1), engine.WithTokens(7), engine.WithObserver(engine.Observer{
				Success: func(engine.SuccessEvent) { successes++ },
			}))
			require.NoError(t, call(t.Context(), e))
			assert.Equal(t, []int{8, 1}, []int{level(e), successes}, name)
			throttled(t, e)
			before := e.Stats().Limiter
			start := time.Now()
			require.NoError(t, call(t.Context(), e))
			assert.Equal(t, 2*time.Second, time.Since(start).Round(ms), "%s: (1 - 0) / 0.5 (R8.1)", name)
			assert.Equal(t, []int{9, 2}, []int{level(e), successes}, name)
			after := e.Stats().Limiter
			assert.NotEqual(t, before.MeasuredRate, after.MeasuredRate, "%s: its success is a response (R2.2)", name)
		})
	}
}
