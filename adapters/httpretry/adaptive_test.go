package httpretry_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// throttledOnce returns an adaptive engine whose limiter a throttle has enabled,
// so that what comes next must wait for a token: 2 s at the lowest rate (R8.2).
func throttledOnce(t *testing.T, opts ...engine.Option) *engine.Engine {
	e := newEngine(t, append(opts, engine.WithMode(engine.Adaptive))...)
	_, err := newTransport(t, e, httpretry.WithBase(statuses(429))).RoundTrip(request(t, t.Context(), http.MethodPost, nil))
	require.NoError(t, err)
	return e
}

// R8.1: in adaptive mode a first attempt waits too.
func TestAdaptive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := throttledOnce(t)
		b := statuses(200)
		start := time.Now()
		resp, err := newTransport(t, e, httpretry.WithBase(b)).RoundTrip(request(t, t.Context(), http.MethodPut, opaque("text")))
		require.NoError(t, err)
		assert.Equal(t, 200, resp.StatusCode)
		assert.Equal(t, "text", b.sent[0].body)
		assert.InDelta(t, 2*time.Second, b.sent[0].at.Sub(start), float64(2*ms))
	})
}

// R8.3, peer fault 64: that this machine has no file left for a connection is no
// sample, that the server does not listen is one.
func TestLocalFailuresAreNoSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for errno, sample := range map[syscall.Errno]bool{syscall.EMFILE: false, syscall.ECONNREFUSED: true} {
			e := newEngine(t, engine.WithMode(engine.Adaptive), engine.WithMaxAttempts(1))
			b := failing(&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", errno)})
			for range 5 {
				_, err := newTransport(t, e, httpretry.WithBase(b)).RoundTrip(request(t, t.Context(), http.MethodGet, nil))
				require.ErrorIs(t, err, errno)
				<-time.After(time.Second)
			}
			assert.Equal(t, sample, e.Stats().Limiter.MeasuredRate > 0, "%v", errno)
		}
	})
}

// An attempt that the limiter does not let go in time is not sent; the error
// says how long it would have taken, and the body is closed.
func TestAdaptiveNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := throttledOnce(t)
		ctx, cancel := context.WithTimeout(t.Context(), 500*ms)
		defer cancel()
		stop := make(chan struct{})
		time.AfterFunc(100*ms, func() { close(stop) })
		for _, getBody := range []bool{false, true} {
			body := opaque("text")
			req := request(t, ctx, http.MethodPut, body)
			if getBody {
				req.GetBody = request(t, ctx, http.MethodPut, strings.NewReader("text")).GetBody
			}
			start := time.Now()
			b := statuses(200)
			resp, err := newTransport(t, e, httpretry.WithBase(b)).RoundTrip(req)
			require.Nil(t, resp)
			require.ErrorIs(t, err, engine.ErrDeadline)
			var failed *engine.Error
			require.ErrorAs(t, err, &failed)
			assert.Zero(t, failed.Attempts)
			assert.InDelta(t, 2*time.Second, failed.Wait, float64(2*ms))
			assert.Zero(t, time.Since(start))
			assert.Empty(t, b.sent)
			assert.Equal(t, 1, body.closed())
		}
		req := get(t, t.Context())
		//lint:ignore SA1019 that is what is tested
		req.Cancel = stop
		start := time.Now()
		_, err := newTransport(t, e, httpretry.WithBase(statuses(200))).RoundTrip(req)
		require.ErrorIs(t, err, engine.ErrCancelled)
		assert.Equal(t, 100*ms, time.Since(start))
	})
}

// A retry that was granted and that the limiter then holds back beyond the
// deadline: its response is gone, and stands in the error; its tokens are back.
func TestAdaptiveRetryNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, engine.WithMode(engine.Adaptive))
		ctx, cancel := context.WithTimeout(t.Context(), 1500*ms)
		defer cancel()
		resp, err := newTransport(t, e, httpretry.WithBase(statuses(429))).RoundTrip(get(t, ctx))
		require.Nil(t, resp)
		require.ErrorIs(t, err, engine.ErrDeadline)
		var answer *httpretry.ResponseError
		require.ErrorAs(t, err, &answer)
		assert.Equal(t, 429, answer.Status)
		assert.Equal(t, 500, level(e))
	})
}

// Attempts that are allowed in the middle of a decision do not let a request go
// that nobody looked at.
func TestReconfigureDuringTheDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, engine.WithMaxAttempts(1))
		ctx := &raisingContext{Context: t.Context()}
		ctx.raise = func() { assert.NoError(t, e.Reconfigure(engine.WithMaxAttempts(3))) }
		b := statuses(503)
		resp, err := newTransport(t, e, httpretry.WithBase(b)).RoundTrip(request(t, ctx, http.MethodPut, strings.NewReader("text")))
		require.NoError(t, err)
		assert.Len(t, b.sent, 1)
		r, ok := httpretry.ResultOf(resp)
		require.True(t, ok)
		assert.Equal(t, engine.ReasonNotReplayable, r.Reason)
		assert.ErrorContains(t, r.NotReplayable, "Reconfigure")
	})
}

// raisingContext calls raise when it is asked for its deadline.
type raisingContext struct {
	context.Context
	raise func()
}

func (c *raisingContext) Deadline() (time.Time, bool) {
	c.raise()
	return c.Context.Deadline()
}
