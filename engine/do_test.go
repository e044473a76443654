package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// codeError is a service's answer.
type codeError string

func (e codeError) Error() string     { return "service says " + string(e) }
func (e codeError) ErrorCode() string { return string(e) }

// statusError is an answer known by its status, with a delay the server wants.
type statusError struct {
	status int
	after  time.Duration
}

func (e *statusError) Error() string             { return http.StatusText(e.status) }
func (e *statusError) HTTPStatusCode() int       { return e.status }
func (e *statusError) RetryAfter() time.Duration { return e.after }

const slowDown, denied = codeError("SlowDown"), codeError("AccessDeniedException")

// script is an op that fails with each error in turn and then succeeds with the
// number of its attempts. It remembers when it was called.
type script struct {
	errs  []error
	times []time.Time
}

func (s *script) op(context.Context) (int, error) {
	s.times = append(s.times, time.Now())
	if n := len(s.times); n <= len(s.errs) {
		return n, s.errs[n-1]
	}
	return len(s.times), nil
}

// waits are the times between the attempts.
func (s *script) waits() []time.Duration {
	var waits []time.Duration
	for i := 1; i < len(s.times); i++ {
		waits = append(waits, s.times[i].Sub(s.times[i-1]))
	}
	return waits
}

func TestDoSucceedsAtOnce(t *testing.T) {
	e := newEngine(t, engine.WithTokens(10))
	v, err := engine.Do(t.Context(), e, func(context.Context) (string, error) { return "done", nil })
	require.NoError(t, err)
	assert.Equal(t, "done", v)
	assert.Equal(t, 11, level(e))
	require.NoError(t, engine.Run(t.Context(), e, func(context.Context) error { return nil }))
	assert.Equal(t, 12, level(e))
}

// R2, R4: it sends, waits, sends again, and gives the last retry's cost back.
func TestDoRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t)
		s := script{errs: []error{slowDown, &statusError{status: 503}}}
		v, err := engine.Do(t.Context(), e, s.op)
		require.NoError(t, err)
		assert.Equal(t, 3, v)
		assert.Equal(t, []time.Duration{time.Second - near, 100*ms - near}, s.waits())
		assert.Equal(t, 495, level(e), "500 - 5 - 14 + 14")
		st := e.Stats()
		assert.EqualValues(t, 1, st.ThrottlingRetries)
		assert.EqualValues(t, 1, st.TransientRetries)
		assert.EqualValues(t, 1, st.Recoveries)

		var n int
		require.NoError(t, engine.Run(t.Context(), e, func(context.Context) error {
			if n++; n < 3 {
				return slowDown
			}
			return nil
		}))
		assert.Equal(t, 3, n)
	})
}

// R5: an error may carry the server's delay.
func TestDoObeysTheServersDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := script{errs: []error{
			fmt.Errorf("wrapped: %w", &statusError{503, 1500 * ms}), &statusError{503, time.Hour},
		}}
		_, err := engine.Do(t.Context(), newEngine(t), s.op)
		require.NoError(t, err)
		assert.Equal(t, []time.Duration{1500 * ms, 5100*ms - near}, s.waits())
	})
}

// R2, peer fault 44: no sleep after the last attempt; the last error comes back
// with its reason.
func TestDoGivesUp(t *testing.T) {
	for attempts := 1; attempts <= 3; attempts++ {
		synctest.Test(t, func(t *testing.T) {
			e := newEngine(t, engine.WithMaxAttempts(attempts))
			s := script{errs: []error{slowDown, slowDown, slowDown, slowDown}}
			start := time.Now()
			v, err := engine.Do(t.Context(), e, s.op)
			assert.Equal(t, attempts, v, "the last value comes back too")
			assert.Len(t, s.times, attempts)
			assert.Equal(t, []time.Duration{0, time.Second - near, 3*time.Second - 2*near}[attempts-1], time.Since(start))
			var wrapped *engine.Error
			require.ErrorAs(t, err, &wrapped)
			assert.Equal(t, engine.Error{
				Err: slowDown, Attempts: attempts, Class: classify.Throttling, Reason: engine.ReasonMaxAttempts,
				QuotaLeft: 500 - 5*(attempts-1), QuotaCost: 5, QuotaCapacity: 500,
			}, *wrapped)
			assert.ErrorIs(t, err, engine.ErrMaxAttempts)
			assert.ErrorIs(t, err, slowDown)
		})
	}
}

// R2.1: a non-retryable first failure comes back untouched; a later one says how
// often was tried.
func TestDoNonRetryable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t)
		boom := errors.New("boom")
		_, err := engine.Do(t.Context(), e, (&script{errs: []error{boom}}).op)
		assert.Same(t, boom, err)
		assert.Equal(t, 500, level(e))

		_, err = engine.Do(t.Context(), e, (&script{errs: []error{slowDown, denied}}).op)
		var wrapped *engine.Error
		require.ErrorAs(t, err, &wrapped)
		assert.Equal(t, engine.ReasonNonRetryable, wrapped.Reason)
		assert.Equal(t, 2, wrapped.Attempts)
		assert.ErrorIs(t, err, denied)
		assert.NotErrorIs(t, err, engine.ErrMaxAttempts)
		assert.Equal(t, 495, level(e), "R6.4")
	})
}

// R7: a refused long poll waits, under WithPacing every call does; others
// return at once. A cancel ends the wait at once.
func TestDoPacing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, row := range []struct {
			opts []engine.Option
			want time.Duration
		}{{nil, 0}, {[]engine.Option{engine.WithPacing()}, time.Second - near}} {
			e := newEngine(t, append(row.opts, engine.WithTokens(4))...)
			start := time.Now()
			_, err := engine.Do(t.Context(), e, (&script{errs: []error{slowDown}}).op)
			assert.ErrorIs(t, err, engine.ErrQuota)
			assert.Equal(t, row.want, time.Since(start))
			assert.Equal(t, 4, level(e))
		}

		e := newEngine(t, engine.WithPacing(), engine.WithTokens(0))
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("shutting down")
		time.AfterFunc(300*ms, func() { cancel(reason) })
		start := time.Now()
		_, err := engine.Do(ctx, e, (&script{errs: []error{slowDown}}).op)
		assert.Equal(t, 300*ms, time.Since(start))
		assert.ErrorIs(t, err, engine.ErrQuota)
		assert.ErrorIs(t, err, reason)
		assert.ErrorIs(t, err, slowDown)
	})
}

// Peer fault 91: a delay that does not fit before the deadline ends the call at
// once, tokens untouched.
func TestPeerFault91Deadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t)
		ctx, cancel := context.WithTimeout(t.Context(), 300*ms)
		defer cancel()
		start := time.Now()
		_, err := engine.Do(ctx, e, (&script{errs: []error{slowDown}}).op)
		assert.Zero(t, time.Since(start))
		assert.ErrorIs(t, err, engine.ErrDeadline)
		assert.ErrorIs(t, err, slowDown)
		assert.NotErrorIs(t, err, context.DeadlineExceeded, "it has not passed")
		assert.Equal(t, 500, level(e))

		// One retry fits, the second does not.
		s := script{errs: []error{&statusError{status: 500}, &statusError{status: 500, after: time.Second}}}
		_, err = engine.Do(ctx, e, s.op)
		assert.ErrorIs(t, err, engine.ErrDeadline)
		assert.Len(t, s.times, 2)
		assert.Equal(t, 486, level(e))
	})
}

// Peer fault 88: a hint beyond the deadline stops the call, with the hint's
// error at hand.
func TestPeerFault88HintBeyondTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		_, err := engine.Do(ctx, newEngine(t), (&script{errs: []error{&statusError{503, 24 * time.Hour}}}).op)
		assert.ErrorIs(t, err, engine.ErrDeadline)
		var answer *statusError
		require.ErrorAs(t, err, &answer)
		assert.Equal(t, 24*time.Hour, answer.RetryAfter())
		assert.Zero(t, time.Since(start))
	})
}

// Peer faults 92 and 100: a cancel ends the sleep at once; the service's error
// and the cause are both reachable; the tokens of the unsent retry come back.
func TestPeerFault92CancelInTheSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("user left")
		time.AfterFunc(5*ms, func() { cancel(reason) })
		s := script{errs: []error{slowDown}}
		start := time.Now()
		_, err := engine.Do(ctx, e, s.op)
		assert.Equal(t, 5*ms, time.Since(start))
		assert.Len(t, s.times, 1)
		assert.ErrorIs(t, err, slowDown)
		assert.ErrorIs(t, err, reason)
		assert.ErrorIs(t, err, engine.ErrCancelled)
		var wrapped *engine.Error
		require.ErrorAs(t, err, &wrapped)
		assert.Equal(t, 1, wrapped.Attempts, "the retry was never sent")
		assert.Equal(t, reason, wrapped.Cause)
		assert.Equal(t, 500, level(e), "R6.3")
		assert.EqualValues(t, 1, e.Stats().UnsentRetries)
	})
}

// The deadline passes in an attempt: reason Deadline, both errors reachable.
func TestDeadlinePassesInTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := engine.Do(ctx, e, func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, fmt.Errorf("get: %w", ctx.Err())
		})
		assert.ErrorIs(t, err, engine.ErrDeadline)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 500, level(e))
	})
}

// R3.6, peer faults 89, 94 and 95: the caller's own cancellation is never
// retried; an attempt's time-out under a live caller is.
func TestPeerFault95AttemptTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t)
		n := 0
		_, err := engine.Do(t.Context(), e, func(ctx context.Context) (int, error) {
			if n++; n > 1 {
				return n, nil
			}
			attempt, cancel := context.WithTimeout(ctx, 10*ms)
			defer cancel()
			<-attempt.Done()
			return 0, attempt.Err()
		})
		assert.NoError(t, err)
		assert.Equal(t, 2, n)

		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("gone")
		n = 0
		_, err = engine.Do(ctx, e, func(ctx context.Context) (int, error) {
			n++
			cancel(reason)
			return 0, ctx.Err()
		})
		assert.Equal(t, 1, n)
		assert.ErrorIs(t, err, engine.ErrCancelled)
		assert.ErrorIs(t, err, context.Canceled)
		assert.ErrorIs(t, err, reason)
		assert.Equal(t, 500, level(e))

		n = 0
		_, err = engine.Do(t.Context(), e, func(context.Context) (int, error) {
			n++
			return 0, context.Canceled // somebody else's: our caller lives
		})
		assert.Equal(t, 1, n)
		assert.Equal(t, context.Canceled, err, "untouched")

		dead, cancelDead := context.WithCancel(t.Context())
		cancelDead()
		n = 0
		_, err = engine.Do(dead, e, func(context.Context) (int, error) { n++; return 0, slowDown })
		assert.Equal(t, 1, n, "a retryable failure under a dead caller ends the call")
		assert.ErrorIs(t, err, engine.ErrCancelled)
		_, err = engine.Do(dead, e, func(context.Context) (int, error) { return 0, denied })
		assert.Equal(t, denied, err, "a non-retryable first failure comes back untouched all the same")
	})
}

// Peer fault 4: a hundred callers cancelled in their sleep leave the quota full.
func TestPeerFault4CancelledSleepers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, engine.WithSchedule(fastbackoff.Schedule{Throttling: time.Hour, Max: time.Hour}))
		ctx, cancel := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() {
				_, err := engine.Do(ctx, e, func(context.Context) (int, error) { return 0, slowDown })
				assert.ErrorIs(t, err, engine.ErrCancelled)
			})
		}
		synctest.Wait()
		assert.Equal(t, 0, level(e), "a hundred retries are granted and asleep")
		cancel()
		callers.Wait()
		assert.Equal(t, 500, level(e))
	})
}

// Peer fault 97: the deadline wins over any number of attempts.
func TestPeerFault97TotalBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, engine.WithMaxAttempts(1_000_000), engine.WithQuota(engine.Quota{Capacity: 1 << 30}))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		err := engine.Run(ctx, e, func(context.Context) error { return &statusError{status: 503} })
		assert.ErrorIs(t, err, engine.ErrDeadline)
		assert.Less(t, time.Since(start), 5*time.Second)
	})
}

// A panic in op ends the call and goes on unchanged; a retry that was sent
// keeps its cost, as after any failure. Goexit likewise.
func TestPanicInOp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t)
		type value struct{ n int }
		thrown := &value{7}
		n := 0
		assert.PanicsWithValue(t, thrown, func() {
			_, _ = engine.Do(t.Context(), e, func(context.Context) (int, error) {
				if n++; n == 2 {
					panic(thrown)
				}
				return 0, slowDown
			})
		})
		assert.Equal(t, 495, level(e))
		assert.PanicsWithValue(t, thrown, func() {
			_ = engine.Run(t.Context(), e, func(context.Context) error { panic(thrown) })
		})
		assert.Equal(t, 495, level(e))

		var caller sync.WaitGroup
		caller.Go(func() {
			_ = engine.Run(t.Context(), e, func(context.Context) error { runtime.Goexit(); return nil })
		})
		caller.Wait()
		assert.Equal(t, 495, level(e))
	})
}

// What a programmer can get wrong panics before the first attempt.
func TestDoMisuse(t *testing.T) {
	e := newEngine(t)
	calls := 0
	op := func(context.Context) (int, error) { calls++; return 0, nil }
	run := func(context.Context) error { calls++; return nil }
	const noContext = "reprise/engine: Do and Run need a context; this one is nil (context.Background() will do)"
	const noOp = "reprise/engine: Do and Run need an op; this one is nil"
	const noEngine = "reprise/engine: a call needs an engine made by New; this *Engine is nil or zero"
	var none context.Context
	assert.PanicsWithValue(t, noContext, func() { _, _ = engine.Do(none, e, op) })
	assert.PanicsWithValue(t, noContext, func() { _ = engine.Run(none, e, run) })
	assert.PanicsWithValue(t, noOp, func() { _, _ = engine.Do[int](t.Context(), e, nil) })
	assert.PanicsWithValue(t, noOp, func() { _ = engine.Run(t.Context(), e, nil) })
	for _, bad := range []*engine.Engine{nil, new(engine.Engine)} {
		assert.PanicsWithValue(t, noEngine, func() { _, _ = engine.Do(t.Context(), bad, op) })
		assert.PanicsWithValue(t, noEngine, func() { _ = engine.Run(t.Context(), bad, run) })
	}
	assert.Zero(t, calls)
}
