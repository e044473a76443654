package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// fakeClock is moved by what is slept on it, and remembers that. One goroutine.
type fakeClock struct {
	now   time.Time
	slept []time.Duration
}

func (c *fakeClock) Now() time.Time { return c.now }
func (c *fakeClock) Sleep(_ context.Context, d time.Duration, _ <-chan struct{}) {
	c.now = c.now.Add(d)
	c.slept = append(c.slept, d)
}

// handClock is moved by hand and never sleeps. It begins at the zero time.
type handClock struct{ nanos atomic.Int64 }

func (c *handClock) Now() time.Time                                        { return time.Time{}.Add(time.Duration(c.nanos.Load())) }
func (c *handClock) Sleep(context.Context, time.Duration, <-chan struct{}) {}
func (c *handClock) pass(d time.Duration)                                  { c.nanos.Add(int64(d)) }

// unread is a clock that tells when it is read. No time passes on it.
type unread struct{}

func (unread) Now() time.Time                                        { panic("the clock was read") }
func (unread) Sleep(context.Context, time.Duration, <-chan struct{}) {}

// An own clock sees every wait, and no time passes.
func TestWithClock(t *testing.T) {
	clock := &fakeClock{now: time.Unix(0, 0)}
	e := newEngine(t, engine.WithClock(clock))
	_, err := engine.Do(t.Context(), e, (&script{errs: []error{slowDown, slowDown}}).op)
	require.NoError(t, err)
	assert.Equal(t, []time.Duration{time.Second - near, 2*time.Second - near}, clock.slept)

	ctx, cancel := context.WithDeadline(context.Background(), clock.now.Add(time.Hour)) // long past by the system's clock
	defer cancel()
	c := e.Begin()
	assert.Equal(t, engine.ReasonDeadline, c.FailWait(ctx, throttling).Reason, "that context is done, whatever our clock says")
}

// Without a deadline, and out of adaptive mode, nothing reads the clock: no
// success, no decision, no wait, and no look at the counts.
func TestNothingReadsTheClock(t *testing.T) {
	for _, mode := range []engine.Mode{engine.Standard, engine.Legacy} {
		assert.NotPanics(t, func() {
			e := newEngine(t, engine.WithMode(mode), engine.WithClock(unread{}), engine.WithPacing())
			ctx := context.Background()
			for range 50 { // until the quota refuses
				c := e.Begin()
				c.AdmitWait(ctx)
				c.Succeed()
				c = e.BeginLongPoll()
				c.Admit()
				c.Hedge()
				c.FailWait(ctx, transient)
				c.Abandon()
				_, _ = engine.Do(ctx, e, bareOp)
				_ = engine.Run(ctx, e, func(context.Context) error { return slowDown })
			}
			e.Stats()
		}, mode)
		c := newEngine(t, engine.WithMode(mode), engine.WithClock(unread{})).Begin()
		assert.Panics(t, func() { c.Fail(engine.Outcome{Class: classify.Transient, Deadline: time.Unix(1, 0)}) }, "a read is seen")
	}
}
