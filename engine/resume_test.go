package engine_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// A call that is resumed for each attempt decides, pays and counts as one that
// is kept.
func TestResume(t *testing.T) {
	for _, mode := range []engine.Mode{engine.Standard, engine.Adaptive, engine.Legacy} {
		t.Run(mode.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var events [2][]any
				var engines [2]*engine.Engine
				for i := range engines {
					note := func(event any) { events[i] = append(events[i], event) }
					engines[i] = newEngine(t, engine.WithMode(mode), engine.WithMaxAttempts(4), engine.WithTokens(50), engine.WithSource(fastbackoff.Fixed(0.5)),
						engine.WithObserver(engine.Observer{
							Retry: func(e engine.RetryEvent) { note(e) }, Stop: func(e engine.StopEvent) { note(e) }, Success: func(e engine.SuccessEvent) { note(e) },
						}))
				}
				for _, script := range [][]classify.Class{
					{},
					{classify.Transient},
					{classify.Transient, classify.Throttling, classify.Transient},
					{classify.Throttling, classify.NonRetryable},
					{classify.Throttling, classify.Throttling, classify.Throttling, classify.Throttling}, // attempts used up
					{classify.Transient, classify.Transient, classify.Transient},                         // refused by the quota
				} {
					kept, ended := engines[0].Begin(), false
					resumed := engines[1].Resume(1, false)
					for i, class := range script {
						if i > 0 {
							resumed = engines[1].Resume(i+1, false)
						}
						o := engine.Outcome{Class: class}
						want := kept.Fail(o)
						assert.Equal(t, want, resumed.Fail(o))
						if ended = want.Reason != engine.ReasonRetry; ended {
							break
						}
						kept.Admit() // told apart from resumed, which adaptive mode would admit a second time
					}
					if !ended {
						kept.Succeed()
						resumed.Succeed()
					}
				}
				assert.Equal(t, events[0], events[1])
				a, b := engines[0].Stats(), engines[1].Stats()
				a.Limiter = b.Limiter // which admitted one side's attempts alone
				assert.Equal(t, a, b)
			})
		})
	}
	e := newEngine(t)
	for _, n := range []int{0, -1, math.MinInt} {
		assert.PanicsWithValue(t, "reprise/engine: Resume needs the number of an attempt, 1 to 2147483647", func() { e.Resume(n, false) })
	}
	assert.Panics(t, func() { (*engine.Engine)(nil).Resume(1, false) })
	assert.Panics(t, func() { new(engine.Engine).Resume(1, false) })
}

// R6: a success on a retry gives back what the retry took. The Call that paid for
// this one is gone, so it gives nothing, and not a first attempt's token either.
func TestResumedRetryMintsNothing(t *testing.T) {
	e := newEngine(t, engine.WithTokens(10))
	for _, row := range []struct{ attempt, level int }{{3, 10}, {2, 10}, {1, 11}} {
		c := e.Resume(row.attempt, false)
		c.Succeed()
		assert.Equal(t, row.level, level(e), "attempt %d", row.attempt)
	}
}

// R7: a resumed long poll waits like any.
func TestResumeLongPoll(t *testing.T) {
	e := newEngine(t, engine.WithTokens(0), engine.WithSource(fastbackoff.Fixed(0.5)))
	c := e.Resume(2, true)
	assert.Equal(t, engine.Decision{Delay: 50 * time.Millisecond, Reason: engine.ReasonQuota}, c.Fail(engine.Outcome{Class: classify.Transient}))
	c = e.Resume(2, false)
	assert.Equal(t, engine.Decision{Reason: engine.ReasonQuota}, c.Fail(engine.Outcome{Class: classify.Transient}))
}

func TestBackoff(t *testing.T) {
	e := newEngine(t, engine.WithSource(fastbackoff.Fixed(0.5)))
	assert.Equal(t, 25*time.Millisecond, e.Backoff(classify.Transient, 0))
	assert.Equal(t, 2*time.Second, e.Backoff(classify.Throttling, 2))
	assert.Equal(t, 10*time.Second, e.Backoff(classify.Throttling, math.MaxInt))
	assert.Zero(t, e.Backoff(classify.NonRetryable, 0))
	assert.Zero(t, e.Backoff(classify.Class(99), 0))
}

// R6.3: between Pause and Admit a retry is not yet sent.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, engine.WithSource(fastbackoff.Fixed(0.5)))
		o := engine.Outcome{Class: classify.Throttling}
		granted := func(ctx context.Context, c *engine.Call) engine.Decision {
			c.Admit()
			return c.FailIn(ctx, o)
		}
		start := time.Now()
		c := e.Begin()
		d := granted(t.Context(), &c)
		d = c.Pause(t.Context(), o, d)
		require.Equal(t, engine.ReasonRetry, d.Reason)
		assert.Equal(t, 500*time.Millisecond, time.Since(start))
		c.Abandon()
		assert.Equal(t, 500, e.Stats().QuotaLevel)

		c = e.Begin()
		d = granted(t.Context(), &c)
		require.Equal(t, engine.ReasonRetry, c.Pause(t.Context(), o, d).Reason)
		require.Zero(t, c.Admit())
		c.Abandon()
		assert.Equal(t, 495, e.Stats().QuotaLevel, "sent: it keeps its cost")
		assert.Equal(t, engine.Decision{}, c.Pause(t.Context(), o, d), "of a call that has ended")

		ctx, cancel := context.WithCancel(t.Context())
		c = e.Begin()
		d = granted(ctx, &c)
		cancel()
		assert.Equal(t, engine.ReasonCancelled, c.Pause(ctx, o, d).Reason)
		assert.Equal(t, 495, e.Stats().QuotaLevel)
		var zero engine.Call
		assert.Equal(t, engine.Decision{}, zero.Pause(t.Context(), o, d))
	})
}
