package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// Peer fault 17: each stop has its reason, its error and its words.
func TestPeerFault17EachReason(t *testing.T) {
	sentinels := []error{engine.ErrMaxAttempts, engine.ErrNotReplayable, engine.ErrQuota, engine.ErrDeadline, engine.ErrCancelled}
	for reason, row := range map[engine.Reason]struct {
		is   error
		want string
	}{
		engine.ReasonNonRetryable:  {nil, "reprise/engine: not retryable after 2 attempts: EOF"},
		engine.ReasonMaxAttempts:   {engine.ErrMaxAttempts, "reprise/engine: attempts used up after 2 attempts: EOF"},
		engine.ReasonNotReplayable: {engine.ErrNotReplayable, "reprise/engine: request not replayable after 2 attempts: EOF"},
		engine.ReasonQuota:         {engine.ErrQuota, "reprise/engine: retry quota refused (a retry costs 14 tokens, 3 of 500 are left) after 2 attempts: EOF"},
		engine.ReasonDeadline:      {engine.ErrDeadline, "reprise/engine: no time for a retry before the deadline after 2 attempts: EOF"},
		engine.ReasonCancelled:     {engine.ErrCancelled, "reprise/engine: cancelled after 2 attempts: EOF"},
	} {
		err := &engine.Error{Err: io.EOF, Attempts: 2, Reason: reason, QuotaLeft: 3, QuotaCost: 14, QuotaCapacity: 500}
		assert.EqualError(t, err, row.want)
		assert.ErrorIs(t, err, io.EOF)
		for _, sentinel := range sentinels {
			assert.Equal(t, sentinel == row.is, errors.Is(err, sentinel), "%v is %v", reason, sentinel)
		}
	}
	one := &engine.Error{Err: io.EOF, Attempts: 1, Reason: engine.ReasonCancelled, Cause: errors.New("gone")}
	assert.EqualError(t, one, "reprise/engine: cancelled after 1 attempt (gone): EOF")
}

// Both the last attempt's error and the cause are searched, for Is and As.
func TestErrorFindsErrAndCause(t *testing.T) {
	cause := &fs.PathError{Op: "watch", Err: fs.ErrClosed}
	err := error(&engine.Error{Err: slowDown, Cause: cause, Reason: engine.ReasonCancelled})
	var code codeError
	require.ErrorAs(t, err, &code)
	assert.Equal(t, slowDown, code)
	var path *fs.PathError
	require.ErrorAs(t, err, &path)
	assert.Same(t, cause, path)
	assert.ErrorIs(t, err, fs.ErrClosed)
	assert.NotErrorIs(t, err, io.EOF)
	assert.Equal(t, slowDown, errors.Unwrap(err))
	var number *numberError
	assert.False(t, errors.As(&engine.Error{Err: io.EOF}, &number))
}

// A time-out stays one to net.Error's users, and nothing else becomes one; the
// class stays that of what is wrapped.
func TestErrorTimeout(t *testing.T) {
	timeout := &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}
	for _, row := range []struct {
		err, cause error
		want       bool
	}{
		{nil, nil, false},
		{io.EOF, nil, false},
		{timeout, nil, true},
		{fmt.Errorf("send: %w", timeout), nil, true},
		{io.EOF, context.DeadlineExceeded, true},
		{nil, context.DeadlineExceeded, true},
		{io.EOF, context.Canceled, false},
		{&net.OpError{Op: "read", Err: io.EOF}, nil, false},
	} {
		err := &engine.Error{Err: row.err, Cause: row.cause, Reason: engine.ReasonDeadline}
		assert.Equal(t, row.want, err.Timeout(), "%v, %v", row.err, row.cause)
		assert.Equal(t, row.want, (&url.Error{Err: err}).Timeout())
		if row.err != nil && row.cause == nil {
			assert.Equal(t, classify.Default.Error(row.err), classify.Default.Error(err), "%v", row.err)
		}
	}
}

type numberError struct{}

func (*numberError) Error() string { return "" }

// Peer faults 7 and 8: the quota's refusal hides neither the failure nor its
// class, and tells what the quota had and wanted.
func TestPeerFault7QuotaError(t *testing.T) {
	e := newEngine(t, engine.WithTokens(4))
	_, err := engine.Do(t.Context(), e, (&script{errs: []error{slowDown}}).op)
	var refused *engine.Error
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, []int{4, 5, 500}, []int{refused.QuotaLeft, refused.QuotaCost, refused.QuotaCapacity})
	assert.Equal(t, classify.Throttling, refused.Class)
	assert.Equal(t, classify.Throttling, classify.Default.Error(err), "an outer engine sees the same class")
	assert.ErrorIs(t, err, slowDown)
}

// Wrap on a call without an engine, or with a class that does not exist, still
// makes an error.
func TestWrapOddities(t *testing.T) {
	var zero engine.Call
	err := zero.Wrap(context.Background(), io.EOF, classify.Transient, engine.Decision{Reason: engine.ReasonQuota})
	assert.ErrorIs(t, err, engine.ErrQuota)
	c := newEngine(t).Begin()
	err = c.Wrap(context.Background(), io.EOF, 77, engine.Decision{Reason: engine.ReasonQuota})
	assert.ErrorIs(t, err, io.EOF)
}

// Peer fault 127: a hook can neither fail nor stop a call; nil hooks are no
// hooks. Peer fault 128: events count what was sent.
func TestObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var retries []engine.RetryEvent
		var stops []engine.StopEvent
		var successes []engine.SuccessEvent
		e := newEngine(t, engine.WithObserver(engine.Observer{
			Retry:   func(v engine.RetryEvent) { retries = append(retries, v); panic("hook") },
			Stop:    func(v engine.StopEvent) { stops = append(stops, v); panic("hook") },
			Success: func(v engine.SuccessEvent) { successes = append(successes, v); panic("hook") },
		}))
		_, err := engine.Do(t.Context(), e, (&script{}).op)
		require.NoError(t, err)
		_, err = engine.Do(t.Context(), e, (&script{errs: []error{slowDown}}).op)
		require.NoError(t, err)
		_, err = engine.Do(t.Context(), e, (&script{errs: []error{slowDown, denied}}).op)
		require.Error(t, err)
		assert.Equal(t, []engine.SuccessEvent{{Attempts: 1, QuotaLeft: 500}, {Attempts: 2, QuotaLeft: 500}}, successes)
		one := engine.RetryEvent{Attempt: 1, Class: classify.Throttling, Delay: 1000*ms - near, Cost: 5, QuotaLeft: 495}
		assert.Equal(t, []engine.RetryEvent{one, one}, retries)
		assert.Equal(t, []engine.StopEvent{{Attempts: 2, Reason: engine.ReasonNonRetryable, QuotaLeft: 495}}, stops)
		assert.EqualValues(t, 5, e.Stats().HookPanics)

		ran := 0
		full := newEngine(t, engine.WithObserver(engine.Observer{Success: func(engine.SuccessEvent) { ran++ }}))
		require.NoError(t, engine.Run(t.Context(), full, func(context.Context) error { return nil }))
		assert.Equal(t, 1, ran, "Run has the same hooks, also at a full quota")

		quiet := newEngine(t, engine.WithObserver(engine.Observer{}))
		_, err = engine.Do(t.Context(), quiet, (&script{errs: []error{slowDown, denied}}).op)
		assert.Error(t, err)
	})
}
