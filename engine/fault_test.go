package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// Faults of peers that no other file of this package has by its subject.

// Peer fault 5: callers that loop while everything fails. With pacing, an empty
// quota does not turn them loose: the server sees less than from callers that do
// not retry at all.
func TestPeerFault5PacingHoldsALoop(t *testing.T) {
	const workers, latency, run = 256, 50 * ms, 10 * time.Second
	sends := func(t *testing.T, opts ...engine.Option) int64 {
		var sent atomic.Int64
		synctest.Test(t, func(t *testing.T) {
			e, err := engine.New(opts...)
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), run)
			defer cancel()
			var loops sync.WaitGroup
			for range workers {
				loops.Go(func() {
					for ctx.Err() == nil {
						_ = engine.Run(ctx, e, func(context.Context) error {
							sent.Inc()
							pass(latency)
							return &statusError{status: 503}
						})
					}
				})
			}
			loops.Wait()
		})
		return sent.Load()
	}
	single := sends(t, engine.WithMaxAttempts(1))
	assert.InDelta(t, workers*int(run/latency), single, workers)
	assert.Less(t, sends(t, engine.WithPacing()), single)
}

// Peer fault 22: an empty quota is found out before the delay, not after it, and
// the cause is not lost.
func TestPeerFault22NoSleepForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, engine.WithTokens(0), engine.WithSchedule(fastbackoff.Schedule{Throttling: time.Hour, Max: time.Hour}))
		start := time.Now()
		_, err := engine.Do(t.Context(), e, (&script{errs: []error{slowDown}}).op)
		assert.Zero(t, time.Since(start))
		assert.ErrorIs(t, err, slowDown)
		assert.ErrorIs(t, err, engine.ErrQuota)
	})
}

// Peer fault 43: the schedule counts in every mode, and however many attempts
// there are.
func TestPeerFault43ScheduleCountsInEveryMode(t *testing.T) {
	for _, mode := range []engine.Mode{engine.Standard, engine.Adaptive, engine.Legacy} {
		clock := &fakeClock{now: time.Unix(0, 0)}
		e := newEngine(t, engine.WithMode(mode), engine.WithClock(clock), engine.WithMaxAttempts(1000),
			engine.WithSchedule(fastbackoff.Schedule{Transient: 10 * ms, Max: 30 * ms}))
		err := engine.Run(context.Background(), e, func(context.Context) error { return &statusError{status: 500} })
		require.Error(t, err)
		for i, slept := range clock.slept {
			assert.Equal(t, []time.Duration{10 * ms, 20 * ms, 30 * ms}[min(i, 2)]-near, slept, "%v, retry %d", mode, i)
		}
		assert.GreaterOrEqual(t, len(clock.slept), 35, mode)
	}
}

// Peer fault 98: what bounds the time of a call is its context, counted from
// where the caller began to count; a first attempt that took long is retried all
// the same if there is time.
func TestPeerFault98SlowFirstAttempt(t *testing.T) {
	for deadline, want := range map[time.Duration]error{2 * time.Minute: nil, 15 * time.Second: engine.ErrDeadline} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			attempts := 0
			err := engine.Run(ctx, newEngine(t), func(ctx context.Context) error {
				if attempts++; attempts > 1 {
					return nil
				}
				select {
				case <-time.After(time.Minute):
				case <-ctx.Done():
				}
				return errors.Join(&statusError{status: 503}, ctx.Err())
			})
			assert.ErrorIs(t, err, want)
		})
	}
}

// Peer fault 110: the raw hint is clamped, and the jitter stays beneath it: four
// years are t + 5 s (R5), whatever is drawn.
func TestPeerFault110RawHintIsClamped(t *testing.T) {
	e, err := engine.New(engine.WithQuota(engine.Quota{Capacity: 1 << 20}))
	require.NoError(t, err)
	lowest, highest := time.Hour, time.Duration(0)
	for range 10_000 {
		c := e.Begin()
		d := c.Fail(engine.Outcome{Class: classify.Transient, RetryAfter: 4 * 365 * 24 * time.Hour})
		lowest, highest = min(lowest, d.Delay), max(highest, d.Delay)
	}
	assert.GreaterOrEqual(t, lowest, 5*time.Second)
	assert.Less(t, highest, 5050*ms)
	assert.Greater(t, highest-lowest, 45*ms, "the backoff beneath is still jittered")
}
