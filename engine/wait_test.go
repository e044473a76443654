package engine_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// Between FailIn and Wait nothing has been waited for and the tokens are taken;
// after Wait the next attempt is admitted.
func TestFailInThenWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t)
		start := time.Now()
		c := e.Begin()
		d := c.FailIn(t.Context(), transient)
		assert.Equal(t, engine.Decision{Delay: 50*ms - near, Reason: engine.ReasonRetry}, d)
		assert.Zero(t, time.Since(start))
		assert.Equal(t, 486, level(e))
		assert.Equal(t, engine.ReasonRetry, c.Wait(t.Context(), transient, d).Reason)
		assert.Equal(t, 50*ms-near, time.Since(start))
		c.Abandon()
		assert.Equal(t, 486, level(e), "it was sent, so its cost is spent")
	})
}

// R6.3: a retry that was granted and whose wait was cut short was never sent.
func TestWaitCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t)
		ctx, cancel := context.WithCancel(t.Context())
		c := e.Begin()
		d := c.FailIn(ctx, throttling)
		time.AfterFunc(ms, cancel)
		start := time.Now()
		assert.Equal(t, engine.Decision{Reason: engine.ReasonCancelled}, c.Wait(ctx, throttling, d))
		assert.Equal(t, ms, time.Since(start))
		assert.Equal(t, 500, level(e))
		assert.Equal(t, 1, c.Attempts())
	})
}

// A refused long poll waits; what was not granted is not admitted, whatever the
// decision that is passed says.
func TestWaitWithoutGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, engine.WithTokens(0))
		c := e.BeginLongPoll()
		start := time.Now()
		d := c.FailIn(t.Context(), transient)
		assert.Equal(t, engine.Decision{Delay: 50*ms - near, Reason: engine.ReasonQuota}, d)
		assert.Equal(t, engine.Decision{Reason: engine.ReasonQuota}, c.Wait(t.Context(), transient, d))
		assert.Equal(t, 50*ms-near, time.Since(start))

		granted := engine.Decision{Delay: ms, Reason: engine.ReasonRetry}
		assert.Zero(t, c.Wait(t.Context(), transient, granted))
		var zero engine.Call
		assert.Zero(t, zero.Wait(t.Context(), transient, granted))
	})
}

// The earlier of the outcome's deadline and the context's is the call's.
func TestFailInObeysTheEarlierDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, row := range []struct {
			outcome, context time.Duration // from now
			want             engine.Reason
		}{
			{10 * ms, time.Hour, engine.ReasonDeadline},
			{time.Hour, 10 * ms, engine.ReasonDeadline},
			{time.Hour, 2 * time.Hour, engine.ReasonRetry},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), row.context)
			e := newEngine(t)
			c := e.Begin()
			o := transient
			o.Deadline = time.Now().Add(row.outcome)
			assert.Equal(t, row.want, c.FailIn(ctx, o).Reason, "%+v", row)
			cancel()
		}
	})
}

// panicClock is a clock that breaks in the wait.
type panicClock struct{ fakeClock }

func (*panicClock) Sleep(context.Context, time.Duration, <-chan struct{}) { panic("broken clock") }

// R6.3: a granted retry that is not sent because of a panic, or because the
// goroutine ends, gives its tokens back.
func TestUnsentByPanicIsRefunded(t *testing.T) {
	fails := func(context.Context) error { return slowDown }
	e := newEngine(t, engine.WithClock(&panicClock{}))
	assert.PanicsWithValue(t, "broken clock", func() { _ = engine.Run(t.Context(), e, fails) })
	assert.Equal(t, 500, level(e))
	assert.EqualValues(t, 1, e.Stats().UnsentRetries)
	assert.EqualValues(t, 1, e.Stats().Stops[engine.ReasonCancelled])

	c := e.Begin()
	d := c.FailIn(t.Context(), throttling)
	require.Equal(t, 495, level(e))
	assert.PanicsWithValue(t, "broken clock", func() { c.Pause(t.Context(), throttling, d) })
	assert.Equal(t, 500, level(e))

	e = adaptive(t, engine.WithClock(&panicClock{}))
	c = e.Begin()
	c.FailIn(t.Context(), throttling)
	require.Equal(t, 495, level(e))
	assert.PanicsWithValue(t, "broken clock", func() { c.AdmitWait(t.Context()) }, "in the limiter's line")
	assert.Equal(t, 500, level(e))

	e = newEngine(t, engine.WithObserver(engine.Observer{Retry: func(engine.RetryEvent) { runtime.Goexit() }}))
	var caller sync.WaitGroup
	caller.Go(func() { _ = engine.Run(t.Context(), e, fails) })
	caller.Wait()
	assert.Equal(t, 500, level(e))
	assert.EqualValues(t, 1, e.Stats().UnsentRetries)
}

// Whoever reports that an attempt has failed has sent it, with Admit or without,
// whether the context still lives or not.
func TestFailInAfterAnUnadmittedAttempt(t *testing.T) {
	e := newEngine(t)
	ctx, cancel := context.WithCancel(t.Context())
	c := e.Begin()
	assert.Equal(t, engine.ReasonRetry, c.FailIn(ctx, transient).Reason)
	cancel()
	assert.Equal(t, engine.ReasonCancelled, c.FailIn(ctx, transient).Reason)
	assert.Equal(t, 486, level(e))
	assert.Equal(t, 2, c.Attempts())
}

// The limiter's wait obeys the outcome's deadline as it does the context's: a
// token that comes after it is not waited for, and what the retry took comes back.
func TestWaitObeysTheOutcomesDeadline(t *testing.T) {
	for name, ctxTimeout := range map[string]time.Duration{"no deadline of the context's": 0, "a later one": time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			e := adaptive(t)
			throttled(t, e) // 0.5 tokens a second from here on
			ctx := t.Context()
			if ctxTimeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, ctxTimeout)
				defer cancel()
			}
			c := e.Begin() // admitted before the throttle, as it were
			before := level(e)
			start := time.Now()
			d := c.FailWait(ctx, engine.Outcome{Class: classify.Transient, Deadline: start.Add(200 * ms)})
			assert.Equal(t, engine.ReasonDeadline, d.Reason, name)
			assert.Greater(t, d.Delay, 200*ms, name)
			assert.Less(t, time.Since(start), 200*ms, name)
			assert.Equal(t, before, level(e), name)
		})
	}
}
