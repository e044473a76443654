package engine_test

import (
	"context"
	"io"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

type traceKey struct{}

// decisions is an observer that keeps what it is told, with the trace of the
// context it came with.
type decisions struct {
	events []engine.DecisionEvent
	traces []any
}

func (d *decisions) observer() engine.Observer {
	return engine.Observer{Decided: func(ctx context.Context, e engine.DecisionEvent) {
		d.events, d.traces = append(d.events, e), append(d.traces, ctx.Value(traceKey{}))
		panic("hook")
	}}
}

// Each failure under a context is told once, with that context, and so is the end
// of a wait (peer faults 127, 128).
func TestDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d decisions
		e := newEngine(t, engine.WithObserver(d.observer()))
		ctx := context.WithValue(t.Context(), traceKey{}, "mine")
		_, err := engine.Do(ctx, e, (&script{errs: []error{slowDown, io.ErrUnexpectedEOF, slowDown}}).op)
		require.ErrorIs(t, err, engine.ErrMaxAttempts)
		assert.Equal(t, []engine.DecisionEvent{
			{Attempts: 1, Class: classify.Throttling, Reason: engine.ReasonRetry, Delay: 1000*ms - near, QuotaLeft: 495},
			{Attempts: 2, Class: classify.Transient, Reason: engine.ReasonRetry, Delay: 100*ms - near, QuotaLeft: 481},
			{Attempts: 3, Class: classify.Throttling, Reason: engine.ReasonMaxAttempts, QuotaLeft: 481},
		}, d.events)
		assert.Equal(t, []any{"mine", "mine", "mine"}, d.traces)
		assert.EqualValues(t, 3, e.Stats().HookPanics)

		d.events = nil
		_, err = engine.Do(ctx, e, (&script{}).op)
		require.NoError(t, err)
		c := e.Begin()
		c.Fail(throttling)
		c.Abandon()
		assert.Empty(t, d.events, "a success, and what has no context")
	})
}

// A wait that the caller ends is told too, and its retry was not made.
func TestDecidedInAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d decisions
		e := newEngine(t, engine.WithObserver(d.observer()))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		_, err := engine.Do(ctx, e, (&script{errs: []error{slowDown}}).op)
		require.ErrorIs(t, err, engine.ErrCancelled)
		assert.Equal(t, []engine.DecisionEvent{
			{Attempts: 1, Class: classify.Throttling, Reason: engine.ReasonRetry, Delay: 1000*ms - near, QuotaLeft: 495},
			{Attempts: 1, Class: classify.Throttling, Reason: engine.ReasonCancelled, QuotaLeft: 500},
		}, d.events)

		d.events = nil
		_, err = engine.Do(ctx, e, (&script{errs: []error{slowDown}}).op)
		require.ErrorIs(t, err, engine.ErrCancelled)
		assert.Equal(t, []engine.DecisionEvent{
			{Attempts: 1, Class: classify.Throttling, Reason: engine.ReasonCancelled, QuotaLeft: 500},
		}, d.events, "cancelled before the decision")
	})
}

// So is a call whose first attempt the limiter does not let be sent (R8.1).
func TestDecidedInTheLimitersLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d decisions
		e := adaptive(t, engine.WithObserver(d.observer()))
		throttled(t, e)
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			_, _ = engine.Do(ctx, e, (&script{}).op)
			cancel()
		}
		require.NotEmpty(t, d.events)
		last := d.events[len(d.events)-1]
		assert.Equal(t, engine.ReasonDeadline, last.Reason)
		assert.Zero(t, last.Attempts)
		assert.Positive(t, last.Delay, "the wait that would have been too long")

		d.events = nil
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c := e.Begin()
		c.AdmitWait(ctx)
		c = e.Begin()
		c.Fail(transient)
		c.Wait(t.Context(), engine.Outcome{Class: classify.Transient, Deadline: time.Now()}, engine.Decision{Reason: engine.ReasonRetry})
		assert.Equal(t, []engine.DecisionEvent{
			{Reason: engine.ReasonCancelled, QuotaLeft: 495},
			{Attempts: 1, Class: classify.Transient, Reason: engine.ReasonDeadline, QuotaLeft: 495},
		}, d.events, "given up in line, and a deadline that has passed")
	})
}

// A hook that ends the goroutine leaves no tokens behind (R6.3).
func TestDecidedEndsTheGoroutine(t *testing.T) {
	e := newEngine(t, engine.WithObserver(engine.Observer{
		Decided: func(context.Context, engine.DecisionEvent) { runtime.Goexit() },
	}))
	done := make(chan struct{})
	go func() {
		defer close(done)
		c := e.Begin()
		c.FailIn(t.Context(), throttling)
	}()
	<-done
	assert.Equal(t, 500, level(e))
	assert.EqualValues(t, 1, e.Stats().UnsentRetries)
}

func TestObserverThen(t *testing.T) {
	var heard []string
	hooks := func(name string) engine.Observer {
		return engine.Observer{
			Retry:   func(engine.RetryEvent) { heard = append(heard, name+" retry") },
			Hedge:   func(engine.HedgeEvent) { heard = append(heard, name+" hedge") },
			Stop:    func(engine.StopEvent) { heard = append(heard, name+" stop") },
			Success: func(engine.SuccessEvent) { heard = append(heard, name+" success") },
			Decided: func(context.Context, engine.DecisionEvent) { heard = append(heard, name+" decided") },
		}
	}
	for _, row := range []struct {
		observer engine.Observer
		want     []string
	}{
		{hooks("a").Then(hooks("b")), []string{"a", "b"}},
		{hooks("a").Then(engine.Observer{}), []string{"a"}},
		{engine.Observer{}.Then(hooks("b")), []string{"b"}},
	} {
		heard = nil
		e := newEngine(t, engine.WithObserver(row.observer))
		c := e.Begin()
		c.Hedge()
		c.FailIn(t.Context(), throttling)
		c.Admit()
		c.Succeed()
		c = e.Begin()
		c.Fail(final)
		var want []string
		for _, event := range []string{"hedge", "retry", "decided", "success", "stop"} {
			for _, name := range row.want {
				want = append(want, name+" "+event)
			}
		}
		assert.Equal(t, want, heard)
	}
	odd := engine.Observer{
		Success: func(engine.SuccessEvent) { panic("odd") },
		Decided: func(context.Context, engine.DecisionEvent) { panic("odd") },
	}
	heard = nil
	e := newEngine(t, engine.WithObserver(odd.Then(hooks("b"))))
	c := e.Begin()
	c.FailIn(t.Context(), throttling)
	c.Admit()
	c.Succeed()
	assert.Equal(t, []string{"b retry", "b decided", "b success"}, heard, "peer fault 127")
	assert.EqualValues(t, 2, e.Stats().HookPanics)

	none := engine.Observer{}.Then(engine.Observer{})
	assert.Nil(t, none.Success, "nobody pays for a hook that nobody set")
	assert.Nil(t, none.Decided)
}

// Each way to succeed at the first attempt calls the hook once, in each mode, full
// quota or not, and in adaptive mode whether or not anything was throttled.
func TestSuccessHookOfFirstAttempts(t *testing.T) {
	now := time.Unix(100, 0)
	for name, succeed := range map[string]func(e *engine.Engine){
		"Succeed":   func(e *engine.Engine) { c := e.Begin(); c.Succeed() },
		"SucceedAt": func(e *engine.Engine) { c := e.Begin(); c.SucceedAt(now) },
		"Do":        func(e *engine.Engine) { _, _ = engine.Do(t.Context(), e, bareOp) },
		"Run":       func(e *engine.Engine) { _ = engine.Run(t.Context(), e, func(context.Context) error { return nil }) },
	} {
		for _, mode := range []engine.Mode{engine.Standard, engine.Adaptive, engine.Legacy} {
			for _, throttled := range []bool{false, true} {
				for _, tokens := range []int{100, 500} {
					var told []engine.SuccessEvent
					e := newEngine(t, engine.WithMode(mode), engine.WithTokens(tokens), engine.WithClock(&fakeClock{now: now}), engine.WithMaxAttempts(1),
						engine.WithObserver(engine.Observer{Success: func(e engine.SuccessEvent) { told = append(told, e) }}))
					if throttled {
						c := e.Begin()
						c.Fail(throttling)
					}
					succeed(e)
					want := []engine.SuccessEvent{{Attempts: 1, QuotaLeft: min(tokens+1, 500)}}
					assert.Equal(t, want, told, "%s, %v, throttled %v, %d tokens", name, mode, throttled, tokens)
				}
			}
		}
	}
}
