package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

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
