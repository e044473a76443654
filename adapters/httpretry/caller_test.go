package httpretry_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

var errShutdown = errors.New("shutting down")

// Peer faults 92, 100 and 101: a cancellation ends the delay at once; cause,
// reason and what the server last said are all in the error, and the retry that
// was never sent gives its tokens back (R6.3).
func TestCancelDuringTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(400*ms, func() { cancel(errShutdown) })
		e := newEngine(t)
		failed := response(400, throttled, "Content-Type", "application/json")
		body := failed.Body.(*trackedBody)
		b := answers(func(int) *http.Response { return failed })
		start := time.Now()
		resp, err := newTransport(t, e, httpretry.WithBase(b)).RoundTrip(get(t, ctx))
		require.Nil(t, resp)
		assert.Equal(t, 400*ms, time.Since(start))
		require.ErrorIs(t, err, engine.ErrCancelled)
		require.ErrorIs(t, err, errShutdown)
		var answer *httpretry.ResponseError
		require.ErrorAs(t, err, &answer)
		assert.Equal(t, httpretry.ResponseError{Status: 400, Code: "ThrottlingException"}, *answer)
		assert.Equal(t, classify.Throttling, classify.Default.Error(err), "the error's class is the answer's")
		assert.ErrorContains(t, err, `the server answered 400 Bad Request ("ThrottlingException")`)
		assert.Equal(t, 1, body.closed())
		assert.Equal(t, 500, level(e))
		assert.Len(t, b.sent, 1)
	})
}

// Peer fault 94: a caller's cancellation is no failure of the server's.
func TestCancelDuringTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(400*ms, func() { cancel(errShutdown) })
		e, b := newEngine(t), blackHole(context.Context.Err)
		_, err := newTransport(t, e, httpretry.WithBase(b)).RoundTrip(get(t, ctx))
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errShutdown)
		require.ErrorIs(t, err, engine.ErrCancelled)
		assert.Len(t, b.sent, 1)
		assert.Equal(t, 500, level(e))
	})
}

// A call under a context that has ended is the base's to refuse, as in Do; what
// it says is not retried.
func TestContextEndedBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := failing(syscall.ECONNRESET)
	_, err := newTransport(t, newEngine(t), httpretry.WithBase(b)).RoundTrip(get(t, ctx))
	require.ErrorIs(t, err, engine.ErrCancelled)
	require.ErrorIs(t, err, syscall.ECONNRESET)
	assert.Len(t, b.sent, 1)
}

// Peer fault 97: the bound of the whole always wins.
func TestTotalDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		e, b := newEngine(t, engine.WithMaxAttempts(1e6)), statuses(503)
		start := time.Now()
		resp, err := newTransport(t, e, httpretry.WithBase(b)).RoundTrip(get(t, ctx))
		require.NoError(t, err)
		r, _ := httpretry.ResultOf(resp)
		assert.Equal(t, engine.ReasonDeadline, r.Reason)
		assert.Equal(t, 7, r.Attempts, "50+100+200+400+800+1600 ms fit, 3200 more do not")
		assert.Equal(t, 3150*ms-6*near, time.Since(start))
		assert.Equal(t, 500-6*14, level(e))
	})
}

// The delay of a refused long poll is waited (R7), and ends with the caller.
func TestLongPoll(t *testing.T) {
	mark := func(req *http.Request) *http.Request { return req.WithContext(httpretry.LongPoll(req.Context())) }
	target := func(name string) func(req *http.Request) *http.Request {
		return func(req *http.Request) *http.Request { req.Header.Set("X-Amz-Target", name); return req }
	}
	for _, row := range []struct {
		name string
		mark func(*http.Request) *http.Request
		wait time.Duration
	}{
		{"marked", mark, 50*ms - near},
		{"SQS", target("AmazonSQS.ReceiveMessage"), 50*ms - near},
		{"SFN", target("AWSStepFunctions.GetActivityTask"), 50*ms - near},
		{"SWF", target("SimpleWorkflowService.PollForDecisionTask"), 50*ms - near},
		{"another operation", target("AmazonSQS.SendMessage"), 0},
		{"another name", target("ReceiveMessage.Other"), 0},
		{"not marked", func(req *http.Request) *http.Request { return req }, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := newEngine(t, engine.WithTokens(0))
			start := time.Now()
			transport := newTransport(t, e, httpretry.WithAnyMethod(), httpretry.WithBase(answers(func(int) *http.Response { return response(500, "busy") })))
			resp, err := transport.RoundTrip(row.mark(request(t, t.Context(), http.MethodPost, nil)))
			require.NoError(t, err)
			assert.Equal(t, row.wait, time.Since(start), row.name)
			assert.Equal(t, "busy", readAll(t, resp))
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(httpretry.LongPoll(t.Context()))
		time.AfterFunc(20*ms, cancel)
		failed := response(500, "busy", "Content-Type", "text/plain")
		start := time.Now()
		resp, err := newTransport(t, newEngine(t, engine.WithTokens(0)), httpretry.WithBase(answers(func(int) *http.Response { return failed }))).RoundTrip(get(t, ctx))
		assert.Nil(t, resp)
		assert.ErrorIs(t, err, engine.ErrQuota)
		assert.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, 20*ms, time.Since(start))
		assert.Equal(t, 1, failed.Body.(*trackedBody).closed())
	})
}

// http.Client's Timeout is a deadline to the engine too: an answer that cannot
// be retried in time comes back, and an attempt that hangs is cut.
func TestClientTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := answers(func(int) *http.Response { return response(429, "later") })
		client := httpretry.Client(newEngine(t), httpretry.WithBase(b))
		client.Timeout = 900 * ms
		start := time.Now()
		resp, err := client.Do(get(t, t.Context()))
		require.NoError(t, err)
		assert.Zero(t, time.Since(start), "the delay would be 1 s")
		assert.Equal(t, "later", readAll(t, resp))
		r, ok := httpretry.ResultOf(resp)
		require.True(t, ok, "the result survives the client")
		assert.Equal(t, engine.ReasonDeadline, r.Reason)
	})
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t)
		client := httpretry.Client(e, httpretry.WithBase(blackHole(context.Context.Err)))
		client.Timeout = 900 * ms
		start := time.Now()
		_, err := client.Do(get(t, t.Context()))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 900*ms, time.Since(start))
		assert.Equal(t, 500, level(e))
	})
}

// Request.Cancel is deprecated and still obeyed, in the delay too.
func TestRequestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		req := get(t, t.Context())
		//lint:ignore SA1019 that is what is tested
		req.Cancel = stop
		time.AfterFunc(20*ms, func() { close(stop) })
		e := newEngine(t)
		start := time.Now()
		_, err := newTransport(t, e, httpretry.WithBase(statuses(503))).RoundTrip(req)
		require.ErrorIs(t, err, engine.ErrCancelled)
		assert.ErrorContains(t, err, "Cancel channel was closed")
		assert.Equal(t, 20*ms, time.Since(start))
		assert.Equal(t, 500, level(e))

		_, err = newTransport(t, e, httpretry.WithBase(statuses(503))).RoundTrip(req)
		require.ErrorIs(t, err, engine.ErrCancelled, "it was closed before")
	})
}

// Peer fault 74: a success whose body is cut has been returned by the time that
// it shows; whoever reads it inside Do retries that too.
func TestCutSuccess(t *testing.T) {
	read := func(body io.Reader, n *int) error {
		return engine.Run(t.Context(), newEngine(t, engine.WithClock(noSleep{})), func(context.Context) error {
			*n++
			_, err := io.ReadAll(body)
			return err
		})
	}
	n := 0
	require.ErrorIs(t, read(failingReader{io.ErrUnexpectedEOF}, &n), engine.ErrMaxAttempts)
	assert.Equal(t, 3, n)
	n = 0
	require.Error(t, read(failingReader{errors.New("invalid character")}, &n))
	assert.Equal(t, 1, n)
}

// R2.1, R3.3: an answer that is clearly not retryable is the caller's, also if the caller
// has left meanwhile: nothing was given up for it.
func TestFinalAnswerToACallerWhoLeft(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := answers(func(int) *http.Response { cancel(); return response(404, "none", "Content-Type", "text/html") })
	resp, err := newTransport(t, newEngine(t), httpretry.WithBase(b)).RoundTrip(get(t, ctx))
	require.NoError(t, err)
	assert.Equal(t, 404, resp.StatusCode)
	assert.Equal(t, "none", readAll(t, resp))
}

// A Cancel channel that is never closed is watched no longer than the delay
// lasts: a bubble does not end while a goroutine is left in it.
func TestCancelChannelIsNotWatchedForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		req := get(t, context.Background())
		//lint:ignore SA1019 that is what is tested
		req.Cancel = make(chan struct{})
		resp, err := newTransport(t, newEngine(t), httpretry.WithBase(statuses(503, 200))).RoundTrip(req)
		require.NoError(t, err)
		assert.Equal(t, 200, resp.StatusCode)
	})
}
