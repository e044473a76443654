package httpretry_test

import (
	"context"
	"io"
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
	"github.com/reprise-go/reprise/classify"
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

// A retry that was granted and that the limiter then does not let go before the
// deadline: the answer comes back whole, whatever it is; its tokens are back too.
func TestAdaptiveRetryNotSent(t *testing.T) {
	for _, row := range []struct {
		name, kind, text string
		length           int64 // as the server says, if not that of the text
		slow             bool  // the limiter has not begun when the answer comes
	}{
		{name: "a code", kind: "application/json", text: throttled},
		{name: "a page", kind: "text/html", text: "<h1>busy</h1>"},
		{name: "a page without a length", kind: "text/html", text: strings.Repeat("x", 10_000), length: -1},
		{name: "XML without a length", kind: "text/xml", text: "<a>" + strings.Repeat("x", 20_000), length: -1},
		{name: "a long one", kind: "application/json", text: strings.Repeat("x", 60_000)},
		{name: "a longer one", kind: "text/html", text: strings.Repeat("x", 100_000)},
		{name: "nothing", kind: "text/html"},
		{name: "a limiter that begins in the delay", kind: "text/html", text: "busy", slow: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEngine(t, engine.WithMode(engine.Adaptive))
				answer := response(503, row.text, "Content-Type", row.kind, "X-Own", "yes", "X-Amzn-Errortype", "SlowDown")
				if row.slow {
					answer.Header.Del("X-Amzn-Errortype")
					time.AfterFunc(10*ms, func() {
						_, err := newTransport(t, e, httpretry.WithBase(statuses(429))).RoundTrip(request(t, t.Context(), http.MethodPost, nil))
						assert.NoError(t, err)
					})
				}
				if row.length != 0 {
					answer.ContentLength = row.length
				}
				body := answer.Body.(*trackedBody)
				b := answers(func(int) *http.Response { return answer })
				ctx, cancel := context.WithTimeout(t.Context(), 1500*ms)
				defer cancel()
				resp, err := newTransport(t, e, httpretry.WithBase(b), httpretry.WithAttemptTimeout(time.Second)).RoundTrip(get(t, ctx))
				require.NoError(t, err)
				assert.Len(t, b.sent, 1)
				assert.Equal(t, 503, resp.StatusCode)
				assert.Equal(t, "yes", resp.Header.Get("X-Own"))
				r, ok := httpretry.ResultOf(resp)
				require.True(t, ok)
				assert.Equal(t, engine.ReasonDeadline, r.Reason)
				assert.Positive(t, r.Wait)
				assert.Equal(t, 1, r.Attempts)
				assert.True(t, r.Class == classify.Throttling != row.slow)
				assert.True(t, readAll(t, resp) == row.text)
				assert.Equal(t, 1, body.closed())
				assert.Equal(t, 500, level(e))
				assert.EqualValues(t, 1, e.Stats().UnsentRetries)
				assert.EqualValues(t, 1, e.Stats().Stops[engine.ReasonDeadline])
			})
		})
	}
}

// In adaptive mode too, a caller who leaves in the wait gets no answer to read, and
// an answer whose retry goes is closed, after its connection could be used again
// if it is not too long.
func TestAdaptiveLetsGo(t *testing.T) {
	for name, row := range map[string]struct {
		text  string
		leave time.Duration
		left  int
	}{
		"retried":           {"<h1>busy</h1>", 0, 0},
		"retried, long":     {strings.Repeat("x", 100_000), 0, 100_000},
		"the caller leaves": {"<h1>busy</h1>", 500 * ms, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEngine(t, engine.WithMode(engine.Adaptive))
				answer := response(429, row.text, "Content-Type", "text/html")
				body := answer.Body.(*trackedBody)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if row.leave > 0 {
					time.AfterFunc(row.leave, cancel)
				}
				resp, err := newTransport(t, e, httpretry.WithBase(answers(func(n int) *http.Response {
					if n > 1 {
						return response(200, "")
					}
					return answer
				}))).RoundTrip(get(t, ctx))
				if row.leave > 0 {
					require.ErrorIs(t, err, engine.ErrCancelled)
					var gone *httpretry.ResponseError
					require.ErrorAs(t, err, &gone)
					assert.Equal(t, 429, gone.Status)
				} else {
					require.NoError(t, err)
					assert.Equal(t, 200, resp.StatusCode)
				}
				synctest.Wait()
				assert.Equal(t, 1, body.closed())
				left, _ := io.ReadAll(body.Reader)
				assert.Len(t, left, row.left)
			})
		})
	}
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
