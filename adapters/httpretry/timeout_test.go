package httpretry_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// blackHole never answers; a RoundTripper then reports what became of the
// context, which is either its error or its cause.
func blackHole(report func(context.Context) error) *base {
	return &base{answer: func(_ int, req *http.Request) (*http.Response, error) {
		<-req.Context().Done()
		return nil, report(req.Context())
	}}
}

// Peer fault 95: an attempt's own time-out is transient while the caller lives,
// and each attempt has a fresh one. Peer fault 131: three attempts of a second
// against a black hole are over in less than four.
func TestAttemptTimeout(t *testing.T) {
	for _, report := range []func(context.Context) error{context.Context.Err, context.Cause} {
		synctest.Test(t, func(t *testing.T) {
			var ev events
			e, b := newEngine(t, ev.observer()), blackHole(report)
			start := time.Now()
			_, err := httpretry.Client(e, httpretry.WithBase(b), httpretry.WithAttemptTimeout(time.Second)).Do(get(t, t.Context()))
			require.ErrorIs(t, err, engine.ErrMaxAttempts)
			var timeout net.Error
			require.ErrorAs(t, err, &timeout)
			assert.True(t, timeout.Timeout(), "also to those who ask http.Client's error")
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.NotErrorIs(t, err, context.Canceled)
			assert.ErrorContains(t, err, "no response within 1s")
			require.Len(t, b.sent, 3)
			assert.Equal(t, 3*time.Second+150*ms-2*near, time.Since(start))
			assert.Equal(t, classify.Transient, ev.stops[0].Class)
			assert.Equal(t, classify.Transient, classify.Default.Error(err))
		})
	}
}

// Time-outs that differ by attempt: short first, generous last; the last one holds
// for all further attempts.
func TestAttemptTimeoutByAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := blackHole(context.Context.Err)
		start := time.Now()
		_, err := newTransport(t, newEngine(t, engine.WithMaxAttempts(4)), httpretry.WithBase(b), httpretry.WithAttemptTimeout(100*ms, time.Second)).
			RoundTrip(get(t, t.Context()))
		require.ErrorIs(t, err, engine.ErrMaxAttempts)
		assert.ErrorContains(t, err, "no response within 1s")
		assert.Equal(t, (100+50)*ms+(1000+100)*ms+(1000+200)*ms+1000*ms-3*near, time.Since(start))
	})
}

// The fresh time-out is the setting or what the caller has left, if that is
// less; and the caller's end is no time-out of the attempt's (R3.6).
func TestAttemptTimeoutAndDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*ms)
		defer cancel()
		e, b := newEngine(t), blackHole(context.Context.Err)
		start := time.Now()
		_, err := newTransport(t, e, httpretry.WithBase(b), httpretry.WithAttemptTimeout(time.Second)).RoundTrip(get(t, ctx))
		require.ErrorIs(t, err, engine.ErrDeadline)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Len(t, b.sent, 2)
		assert.Equal(t, 1500*ms, time.Since(start))
		assert.Equal(t, 500-14, level(e), "the retry was sent and keeps its cost")
	})
}

// A POST that timed out may have been carried out: it is not sent again.
func TestAttemptTimeoutOfAPost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, b := newEngine(t), blackHole(context.Context.Err)
		_, err := newTransport(t, e, httpretry.WithBase(b), httpretry.WithAttemptTimeout(time.Second)).
			RoundTrip(request(t, t.Context(), http.MethodPost, nil))
		require.ErrorIs(t, err, engine.ErrNotReplayable)
		assert.ErrorContains(t, err, "POST is not idempotent")
		assert.Len(t, b.sent, 1)
		assert.Equal(t, 500, level(e))
	})
}

// Peer fault 119: the winner's context lives until its body has been read or
// closed, and not a moment longer.
func TestAttemptTimeoutLeavesTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, end := range []func(*http.Response){
			func(resp *http.Response) { _ = resp.Body.Close() },
			func(resp *http.Response) { _, _ = io.ReadAll(resp.Body) },
		} {
			var attempt context.Context
			b := &base{answer: func(_ int, req *http.Request) (*http.Response, error) {
				attempt = req.Context()
				return response(200, "text"), nil
			}}
			ctx := t.Context()
			resp, err := newTransport(t, newEngine(t), httpretry.WithBase(b), httpretry.WithAttemptTimeout(time.Second)).RoundTrip(get(t, ctx))
			require.NoError(t, err)
			assert.Equal(t, ctx, resp.Request.Context(), "the caller's, not the attempt's")
			<-time.After(time.Hour)
			assert.NoError(t, attempt.Err())
			end(resp)
			assert.Error(t, attempt.Err())
		}
	})
}

// A response without a body has nothing to keep the context for.
func TestAttemptTimeoutWithoutBody(t *testing.T) {
	for _, body := range []io.ReadCloser{nil, http.NoBody} {
		var attempt context.Context
		b := &base{answer: func(_ int, req *http.Request) (*http.Response, error) {
			attempt = req.Context()
			return &http.Response{StatusCode: 204, Body: body}, nil
		}}
		resp, err := newTransport(t, newEngine(t), httpretry.WithBase(b), httpretry.WithAttemptTimeout(time.Second)).RoundTrip(get(t, t.Context()))
		require.NoError(t, err)
		assert.Equal(t, body, resp.Body)
		assert.Error(t, attempt.Err())
	}
}

// An answer that came together with the time-out has lost its body.
func TestAttemptTimeoutWithAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := response(200, "text")
		body := late.Body.(*trackedBody)
		b := &base{answer: func(n int, req *http.Request) (*http.Response, error) {
			if n > 1 {
				return response(200, "second"), nil
			}
			<-req.Context().Done()
			return late, nil
		}}
		resp, err := newTransport(t, newEngine(t), httpretry.WithBase(b), httpretry.WithAttemptTimeout(time.Second)).RoundTrip(get(t, t.Context()))
		require.NoError(t, err)
		assert.Equal(t, "second", readAll(t, resp))
		assert.Equal(t, 1, body.closed())
	})
}

// A failure of its own that came before the time-out stays what it is.
func TestAttemptTimeoutKeepsOtherFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		odd := errors.New("odd")
		b := &base{answer: func(_ int, req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, odd
		}}
		_, err := newTransport(t, newEngine(t), httpretry.WithBase(b), httpretry.WithAttemptTimeout(time.Second)).RoundTrip(get(t, t.Context()))
		assert.Equal(t, odd, err)
	})
}

// The same on a socket, where a context that ended would cut the body.
func TestAttemptTimeoutOverHTTP(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcdef"), 32<<10) // 512 KiB
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(big)
	}))
	defer server.Close()
	resp, err := httpretry.Client(newEngine(t), httpretry.WithAttemptTimeout(time.Minute)).Get(server.URL)
	require.NoError(t, err)
	assert.True(t, readAll(t, resp) == string(big))
}

// Peer fault 119: the context of an attempt that has failed ends with it, whatever
// its failure was.
func TestAttemptTimeoutEndsTheLosersContext(t *testing.T) {
	for _, failure := range []error{errors.New("odd"), dialRefused} {
		var attempts []context.Context
		b := &base{answer: func(_ int, req *http.Request) (*http.Response, error) {
			attempts = append(attempts, req.Context())
			return nil, failure
		}}
		_, err := newTransport(t, newEngine(t, engine.WithClock(noSleep{})), httpretry.WithBase(b), httpretry.WithAttemptTimeout(time.Hour)).RoundTrip(get(t, t.Context()))
		require.ErrorIs(t, err, failure)
		for _, attempt := range attempts {
			assert.ErrorIs(t, attempt.Err(), context.Canceled)
		}
	}
}

// R3.6: a cancellation that is not the time-out's does not become one: neither
// the caller's nor somebody else's.
func TestCancellationIsNotTheAttemptTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(ms, cancel)
		transport := newTransport(t, newEngine(t), httpretry.WithBase(blackHole(context.Context.Err)), httpretry.WithAttemptTimeout(time.Hour))
		_, err := transport.RoundTrip(get(t, ctx))
		require.ErrorIs(t, err, engine.ErrCancelled)
		assert.NotErrorIs(t, err, context.DeadlineExceeded)

		b := failing(context.Canceled)
		_, err = newTransport(t, newEngine(t), httpretry.WithBase(b), httpretry.WithAttemptTimeout(time.Hour)).RoundTrip(get(t, t.Context()))
		assert.Equal(t, context.Canceled, err)
		assert.Len(t, b.sent, 1)
	})
}
