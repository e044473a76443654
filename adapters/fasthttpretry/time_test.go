package fasthttpretry_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/reprise-go/reprise/adapters/fasthttpretry"
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// stuck takes until its deadline, and then times out; without one it takes a
// minute and answers.
func stuck() *doer {
	d := &doer{}
	d.answer = func(n int, resp *fasthttp.Response) error {
		end := d.sent[n-1].deadline
		if end.IsZero() {
			<-time.After(time.Minute)
			return nil
		}
		<-time.After(time.Until(end))
		return fasthttp.ErrTimeout
	}
	return d
}

// Peer faults 89, 95 and 97: what bounds a call, and what bounds an attempt.
func TestBounds(t *testing.T) {
	attempt := fasthttpretry.WithAttemptTimeout(time.Second)
	type call func(ctx context.Context, c *fasthttpretry.Client, req *fasthttp.Request, resp *fasthttp.Response) error
	do := func(_ context.Context, c *fasthttpretry.Client, req *fasthttp.Request, resp *fasthttp.Response) error {
		return c.Do(req, resp)
	}
	timeout := func(d time.Duration) call {
		return func(_ context.Context, c *fasthttpretry.Client, req *fasthttp.Request, resp *fasthttp.Response) error {
			return c.DoTimeout(req, resp, d)
		}
	}
	deadline := func(d time.Duration) call {
		return func(_ context.Context, c *fasthttpretry.Client, req *fasthttp.Request, resp *fasthttp.Response) error {
			return c.DoDeadline(req, resp, time.Now().Add(d))
		}
	}
	byContext := func(d time.Duration) call {
		return func(ctx context.Context, c *fasthttpretry.Client, req *fasthttp.Request, resp *fasthttp.Response) error {
			ctx, stop := context.WithTimeout(ctx, d)
			defer stop()
			_, err := c.DoContext(ctx, req, resp)
			return err
		}
	}
	own := func(d time.Duration) call {
		return func(_ context.Context, c *fasthttpretry.Client, req *fasthttp.Request, resp *fasthttp.Response) error {
			req.SetTimeout(d)
			err := c.Do(req, resp)
			assert.Equal(t, d, req.GetTimeOut())
			return err
		}
	}
	const second = time.Second
	for _, row := range []struct {
		name     string
		opts     []fasthttpretry.Option
		call     call
		attempts int
		took     time.Duration
		reason   error // nil: success
		left     int
	}{
		{"none", nil, do, 1, time.Minute, nil, 500},
		{"an attempt's", []fasthttpretry.Option{attempt}, do, 3, 3*second + 150*ms - 2*near, engine.ErrMaxAttempts, 472},
		{"DoTimeout", nil, timeout(2 * second), 1, 2 * second, engine.ErrDeadline, 500},
		{"DoDeadline", nil, deadline(2 * second), 1, 2 * second, engine.ErrDeadline, 500},
		{"a context's", nil, byContext(2 * second), 1, 2 * second, engine.ErrDeadline, 500},
		{"the request's own", nil, own(2 * second), 1, 2 * second, engine.ErrDeadline, 500},
		{"an attempt's in the call's", []fasthttpretry.Option{attempt}, timeout(1500 * ms), 2, 1500 * ms, engine.ErrDeadline, 486},
		{"an attempt's in a context's", []fasthttpretry.Option{attempt}, byContext(1500 * ms), 2, 1500 * ms, engine.ErrDeadline, 486},
		{"91: no time for the delay", []fasthttpretry.Option{attempt}, timeout(1040 * ms), 1, second, engine.ErrDeadline, 500},
		{"the call's in the attempt's", []fasthttpretry.Option{attempt}, timeout(500 * ms), 1, 500 * ms, engine.ErrDeadline, 500},
		{"none left", nil, timeout(0), 0, 0, fasthttp.ErrTimeout, 500},
		{"below none", nil, timeout(-1), 0, 0, fasthttp.ErrTimeout, 500},
		{"gone by", nil, deadline(-1), 0, 0, fasthttp.ErrTimeout, 500},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, d := newEngine(t), stuck()
				req, resp := get(t, "http://service.test/")
				start := time.Now()
				err := row.call(t.Context(), newClient(t, e, d, row.opts...), req, resp)
				assert.Equal(t, row.took, time.Since(start))
				assert.Len(t, d.sent, row.attempts)
				assert.Equal(t, row.left, level(e))
				require.ErrorIs(t, err, row.reason)
				if row.reason == nil {
					return
				}
				require.ErrorIs(t, err, fasthttp.ErrTimeout)
				assert.Zero(t, req.GetTimeOut()%second, "as it was")
			})
		})
	}
}

// Peer faults 88 and 91: a delay that does not end before the deadline is not
// begun; the answer comes back at once and whole, so the caller can see when the
// server wants it back.
func TestHintBeyondTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t)
		d := &doer{answer: func(_ int, resp *fasthttp.Response) error {
			resp.SetStatusCode(429)
			resp.Header.Set("Retry-After", "86400")
			resp.SetBodyString("try tomorrow")
			return nil
		}}
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		req, resp := get(t, "http://service.test/")
		start := time.Now()
		r, err := newClient(t, e, d, fasthttpretry.WithStandardRetryAfter()).DoContext(ctx, req, resp)
		require.NoError(t, err)
		assert.Zero(t, time.Since(start))
		assert.Equal(t, "86400", string(resp.Header.Peek("Retry-After")))
		assert.Equal(t, "try tomorrow", string(resp.Body()))
		assert.Equal(t, fasthttpretry.Result{Attempts: 1, Reason: engine.ReasonDeadline, Class: classify.Throttling}, r)
		assert.Equal(t, 500, level(e))
	})
}

// Peer fault 109: the server's delay is a floor; jitter only adds.
func TestHintIsAFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := engine.New(engine.WithQuota(engine.Quota{Capacity: 1 << 20}))
		require.NoError(t, err)
		for range 500 {
			d := statuses(429, 200)
			status := d.answer
			d.answer = func(n int, resp *fasthttp.Response) error {
				resp.Header.Set("X-Amz-Retry-After", "700")
				return status(n, resp)
			}
			req, resp := get(t, "http://service.test/")
			start := time.Now()
			require.NoError(t, newClient(t, e, d).Do(req, resp))
			require.GreaterOrEqual(t, time.Since(start), 700*ms)
			require.Less(t, time.Since(start), time.Second)
		}
	})
}

// Adaptive mode: where the limiter lets nothing be sent before the deadline, that
// shows at once, with how long it would have been.
func TestLimiterRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, engine.WithMode(engine.Adaptive), engine.WithMaxAttempts(1))
		d := statuses(429)
		c := newClient(t, e, d)
		req, resp := get(t, "http://service.test/")
		for range 3 {
			require.NoError(t, c.Do(req, resp))
		}
		sent := len(d.sent)
		start := time.Now()
		ctx, stop := context.WithTimeout(t.Context(), 100*ms)
		defer stop()
		r, err := c.DoContext(ctx, req, resp)
		assert.Zero(t, time.Since(start))
		assert.Len(t, d.sent, sent)
		var refused *engine.Error
		require.ErrorAs(t, err, &refused)
		assert.Positive(t, refused.Wait)
		assert.Equal(t, fasthttpretry.Result{Reason: engine.ReasonDeadline, Wait: refused.Wait}, r)
		assert.Zero(t, refused.Attempts)
	})
}

// A retry that was granted and that the limiter then does not let go in time: the
// answer is the call's, whole, streamed or not. A caller who leaves gets none.
func TestLimiterRefusesRetry(t *testing.T) {
	for name, row := range map[string]struct{ streamed, leaves bool }{
		"in memory": {}, "streamed": {streamed: true}, "the caller leaves": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEngine(t, engine.WithMode(engine.Adaptive))
				closed := 0
				d := &doer{answer: func(_ int, resp *fasthttp.Response) error {
					resp.SetStatusCode(503)
					resp.Header.Set("X-Amzn-Errortype", "SlowDown")
					if row.streamed {
						resp.SetBodyStream(&closing{strings.NewReader("busy"), &closed}, -1)
					} else {
						resp.SetBodyString("busy")
					}
					return nil
				}}
				ctx, stop := context.WithTimeout(t.Context(), 1500*ms)
				defer stop()
				if row.leaves {
					time.AfterFunc(10*ms, stop)
				}
				req, resp := get(t, "http://service.test/")
				r, err := newClient(t, e, d).DoContext(ctx, req, resp)
				assert.Len(t, d.sent, 1)
				assert.Equal(t, 1, r.Attempts)
				assert.Equal(t, 503, resp.StatusCode())
				assert.Equal(t, 500, level(e))
				if row.leaves {
					require.ErrorIs(t, err, engine.ErrCancelled)
					assert.Equal(t, 1, closed)
					return
				}
				require.NoError(t, err)
				assert.Equal(t, engine.ReasonDeadline, r.Reason)
				assert.Positive(t, r.Wait)
				assert.Zero(t, closed)
				assert.Equal(t, "busy", string(resp.Body()))
			})
		})
	}
}

// closing is a stream that counts how often it is closed.
type closing struct {
	io.Reader
	closed *int
}

func (c *closing) Close() error { *c.closed++; return nil }

// A real connection: the attempt's time-out ends an attempt on a server that says
// nothing, and one that stops in the middle of a body.
func TestAttemptTimeoutOnTheWire(t *testing.T) {
	for name, first := range map[string]script{
		"nothing":     silence,
		"half a head": func(conn net.Conn) bool { raw("HTTP/1.1 200 OK\r\n", true)(conn); return silence(conn) },
		"half a body": func(conn net.Conn) bool {
			raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhe", true)(conn)
			return silence(conn)
		},
		"half an error": func(conn net.Conn) bool {
			raw("HTTP/1.1 503 Busy\r\nContent-Length: 9\r\n\r\nhe", true)(conn)
			return silence(conn)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := serveWire(t, func(n int, conn net.Conn, _ *http.Request) bool {
				if n == 1 {
					return first(conn)
				}
				return say(200, "hello")(conn)
			})
			req, resp := get(t, w.url)
			r, err := newClient(t, quick(t, engine.WithMaxAttempts(10)), once(t), fasthttpretry.WithAttemptTimeout(50*ms)).DoContext(t.Context(), req, resp)
			require.NoError(t, err)
			assert.GreaterOrEqual(t, r.Attempts, 2) // more if the machine is slow
			assert.Equal(t, "hello", string(resp.Body()))
		})
	}
}
