package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/ratelimit"
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

// R8.3, peer fault 64: a failure of which the server knows nothing is no sample.
// It moves neither the rate nor what is measured, whatever its class and by each
// way in; the decision is as for any other of its class. What the attempt took to
// be sent is not given back.
func TestPeerFault64LocalFailuresAreNoSamples(t *testing.T) {
	for name, fail := range map[string]func(*engine.Call, time.Time, engine.Outcome) engine.Decision{
		"Fail":   func(c *engine.Call, _ time.Time, o engine.Outcome) engine.Decision { return c.Fail(o) },
		"FailAt": func(c *engine.Call, now time.Time, o engine.Outcome) engine.Decision { return c.FailAt(now, o) },
		"FailIn": func(c *engine.Call, _ time.Time, o engine.Outcome) engine.Decision { return c.FailIn(t.Context(), o) },
		"FailBeside": func(c *engine.Call, _ time.Time, o engine.Outcome) engine.Decision {
			c.FailBeside(engine.Hedge{}, o)
			return c.Fail(o)
		},
	} {
		for _, row := range []struct {
			outcome engine.Outcome
			reason  engine.Reason
			left    int
		}{
			{final, engine.ReasonNonRetryable, 500},
			{transient, engine.ReasonRetry, 486},
			{throttling, engine.ReasonRetry, 495},
		} {
			clock := &fakeClock{now: time.Unix(100, 0)}
			e := adaptive(t, engine.WithClock(clock), engine.WithThrottleCoalescing(time.Second))
			limiter := func() (ratelimit.Stats, float64) {
				s := e.Stats().Limiter
				level := s.Level
				s.Level, s.SinceThrottle = 0, 0 // time moves these
				return s, level
			}
			c := e.Begin()
			c.Fail(throttling)
			c.Abandon()
			clock.now = clock.now.Add(2 * time.Second)
			before, _ := limiter()
			c = e.Begin()
			require.Zero(t, c.AdmitAt(clock.now))
			_, spent := limiter()
			clock.now = clock.now.Add(600 * ms)
			row.outcome.Local = true
			d := fail(&c, clock.now, row.outcome)
			after, level := limiter()
			assert.Equal(t, before, after, "%s %+v", name, row)
			assert.InDelta(t, spent, level, 0.31, "%s %+v: 0.6 s at 0.5/s, and no token", name, row)
			assert.Equal(t, row.reason, d.Reason, "%s %+v", name, row)
			assert.Equal(t, row.left, e.Stats().QuotaLevel, "%s %+v", name, row)

			fresh := adaptive(t, engine.WithClock(clock))
			for range 5 {
				clock.now = clock.now.Add(time.Second)
				c := fresh.Begin()
				require.Zero(t, c.AdmitAt(clock.now))
				fail(&c, clock.now, row.outcome)
				c.Abandon()
			}
			assert.False(t, fresh.Stats().Limiter.Enabled, "%s %+v", name, row)
			assert.Zero(t, fresh.Stats().Limiter.MeasuredRate, "%s %+v", name, row)
		}
	}
}

// What a verdict proves to be local: this machine had nothing to make the
// connection with, or there was no address to make it to. A server that cannot be
// reached is not.
func TestOutcomeOfLocalFailures(t *testing.T) {
	for _, row := range []struct {
		verdict classify.Verdict
		local   bool
	}{
		{classify.Verdict{}, false},
		{classify.Verdict{Rule: classify.RuleLocalFault, NeverSent: true}, true},
		{classify.Verdict{Rule: classify.RuleBadRequest, NeverSent: true}, true},
		{classify.Verdict{Rule: classify.RuleLocalFault}, false}, // it may have been on the way
		{classify.Verdict{Rule: classify.RuleBadRequest}, false},
		{classify.Verdict{Class: classify.Transient, Rule: classify.RuleRefused, NeverSent: true}, false},
		{classify.Verdict{Class: classify.Transient, Rule: classify.RuleTimeout, NeverSent: true}, false},
		{classify.Verdict{Rule: classify.RuleCertificate, NeverSent: true}, false},
	} {
		assert.Equal(t, row.local, engine.OutcomeOf(row.verdict).Local, "%+v", row.verdict)
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

		clock.now = clock.now.Add(2 * ms) // the cut has left no token
		after := e.Begin()
		way.admit(&after, clock.now)
		clock.now = clock.now.Add(ms)
		way.fail(&before, clock.now)
		assert.Equal(t, cut, e.Stats().Limiter.FillRate, "%s: admitted before the cut", name)
		way.fail(&after, clock.now)
		assert.InDelta(t, 0.85*cut, e.Stats().Limiter.FillRate, 1e-9, "%s: admitted after it", name)
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
		{engine.Outcome{Class: classify.Throttling, Local: true}, false},
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

// With coalescing, an engine that was idle cuts when it has a rate to cut; by default
// at once, to the rate of its idleness (R8.2).
func TestFirstCutOfAnIdleEngine(t *testing.T) {
	for _, row := range []struct {
		opts        []engine.Option
		after       int     // milliseconds
		least, most float64 // requests/s
	}{
		{nil, 0, 0.5, 0.5},
		{[]engine.Option{engine.WithThrottleCoalescing(time.Minute)}, 1000, 0.85 * 0.8 * 1000, 0.85 * 1000},
	} {
		clock := &fakeClock{now: time.Unix(100, 0)}
		e := adaptive(t, append(row.opts, engine.WithClock(clock), engine.WithMaxAttempts(1))...)
		clock.now = clock.now.Add(10 * time.Minute)
		waited := -1
		for ; !e.Stats().Limiter.Enabled; waited++ { // 1,000/s
			clock.now = clock.now.Add(ms)
			c := e.Begin()
			require.Zero(t, c.Admit())
			c.Fail(throttling)
		}
		assert.InDelta(t, row.after, waited, 1)
		assert.GreaterOrEqual(t, e.Stats().Limiter.FillRate, row.least)
		assert.LessOrEqual(t, e.Stats().Limiter.FillRate, row.most)
	}
}
