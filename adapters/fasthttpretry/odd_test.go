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
	"github.com/reprise-go/reprise/engine"
)

// What cannot be called with is an error that says so, and no panic from the
// middle of fasthttp.
func TestNilArguments(t *testing.T) {
	d := statuses(200)
	for _, opts := range [][]fasthttpretry.Option{nil, {fasthttpretry.WithAWSHeaders()}} {
		c := newClient(t, quick(t), d, opts...)
		_, resp := get(t, "http://service.test/")
		for name, call := range map[string]func() error{
			"Do":         func() error { return c.Do(nil, resp) },
			"Do, twice":  func() error { return c.Do(nil, nil) },
			"DoTimeout":  func() error { return c.DoTimeout(nil, resp, time.Second) },
			"DoDeadline": func() error { return c.DoDeadline(nil, resp, time.Now().Add(time.Second)) },
			"DoContext":  func() error { _, err := c.DoContext(t.Context(), nil, resp); return err },
		} {
			assert.EqualError(t, call(), "reprise/fasthttpretry: the request is nil", name)
		}
		req, _ := get(t, "http://service.test/")
		var none context.Context
		_, err := c.DoContext(none, req, resp)
		assert.EqualError(t, err, "reprise/fasthttpretry: DoContext needs a context; this one is nil (context.Background() will do)")
	}
	assert.Empty(t, d.sent)
}

// Peer fault 128: attempts are sends. A context whose time was up before the call
// sends nothing, as DoDeadline does.
func TestDeadlineGoneBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, d := newEngine(t), stuck()
		ctx, stop := context.WithTimeout(t.Context(), 0)
		defer stop()
		req, resp := get(t, "http://service.test/")
		r, err := newClient(t, e, d).DoContext(ctx, req, resp)
		require.ErrorIs(t, err, fasthttp.ErrTimeout)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, fasthttpretry.Result{Reason: engine.ReasonDeadline}, r)
		assert.Empty(t, d.sent)
	})
}

// A caller that has been cancelled gets its one attempt, as in engine.Do, and no
// more: the handlers of a server that shuts down are such callers.
func TestCancelledBeforeTheCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for status, reason := range map[int]engine.Reason{200: 0, 503: engine.ReasonCancelled} {
		d := statuses(status)
		e := quick(t)
		req, resp := get(t, "http://service.test/")
		r, err := newClient(t, e, d).DoContext(ctx, req, resp)
		assert.Len(t, d.sent, 1)
		assert.Equal(t, status == 200, r.Succeeded)
		assert.Equal(t, 500, level(e))
		if status == 200 {
			require.NoError(t, err)
			continue
		}
		assert.Equal(t, reason, r.Reason)
		require.ErrorIs(t, err, context.Canceled)
	}
}

// R6.3: if the body of a failed answer panics when it is closed the granted retry
// is not sent, and its tokens come back.
func TestPanicBetweenAttempts(t *testing.T) {
	e := quick(t)
	d := &doer{answer: func(_ int, resp *fasthttp.Response) error {
		resp.SetStatusCode(503)
		resp.SetBodyStream(panicky{strings.NewReader("")}, 1<<20)
		return nil
	}}
	req, _ := get(t, "http://service.test/")
	resp := new(fasthttp.Response)
	assert.PanicsWithValue(t, "closed", func() { _ = newClient(t, e, d).Do(req, resp) })
	assert.Equal(t, 500, level(e))
	assert.Len(t, d.sent, 1)
}

type panicky struct{ io.Reader }

func (panicky) Close() error { panic("closed") }

// A header of the caller's own that an option writes to is the caller's again
// afterwards.
func TestOwnAttemptHeader(t *testing.T) {
	d := statuses(503)
	req, resp := get(t, "http://service.test/")
	req.Header.Set("Amz-Sdk-Request", "mine")
	req.Header.Set("Amz-Sdk-Invocation-Id", "own")
	require.NoError(t, newClient(t, quick(t), d, fasthttpretry.WithAWSHeaders()).Do(req, resp))
	assert.Equal(t, "attempt=3; max=3", d.sent[2].header["Amz-Sdk-Request"])
	assert.Equal(t, "own", d.sent[2].header["Amz-Sdk-Invocation-Id"])
	assert.Equal(t, "mine", string(req.Header.Peek("Amz-Sdk-Request")))
	assert.Equal(t, "own", string(req.Header.Peek("Amz-Sdk-Invocation-Id")))
}

// An idempotency key counts however a request that is left as it is writes it.
func TestIdempotencyKeyAsItIs(t *testing.T) {
	d := statuses(503)
	req, resp := request(t, "POST", "http://service.test/")
	req.Header.DisableNormalizing()
	req.Header.Set("idempotency-KEY", "1")
	require.NoError(t, newClient(t, quick(t), d).Do(req, resp))
	assert.Len(t, d.sent, 3)
}

// Who wants no response does not lose the connection over a short streamed one;
// fasthttp reads it to its end too.
func TestIgnoredStreamKeepsItsConnection(t *testing.T) {
	w := serveWire(t, func(_ int, conn net.Conn, _ *http.Request) bool { return say(200, "hello")(conn) })
	dials := 0
	beneath := &fasthttp.HostClient{Addr: w.addr, MaxIdemponentCallAttempts: 1, StreamResponseBody: true, Dial: func(addr string) (net.Conn, error) {
		dials++
		return fasthttp.Dial(addr)
	}}
	t.Cleanup(beneath.CloseIdleConnections)
	c := newClient(t, quick(t), beneath)
	for range 5 {
		req, _ := get(t, w.url)
		require.NoError(t, c.Do(req, nil))
	}
	assert.Equal(t, 1, dials)
}

// Peer fault 116's like: 204 and 304 have no body and are no failures, of HEAD
// neither; the connection goes on.
func TestAnswersWithoutABody(t *testing.T) {
	for _, stream := range []bool{false, true} {
		w := serveWire(t, func(n int, conn net.Conn, _ *http.Request) bool {
			if n%2 == 0 {
				return raw("HTTP/1.1 204 No Content\r\n\r\n", true)(conn)
			}
			return raw("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", true)(conn)
		})
		c := &fasthttp.HostClient{Addr: w.addr, MaxConns: 1, MaxIdemponentCallAttempts: 1, StreamResponseBody: stream}
		t.Cleanup(c.CloseIdleConnections)
		ours := newClient(t, quick(t), c)
		for _, method := range []string{"GET", "HEAD", "GET", "HEAD", "HEAD", "GET"} {
			req, resp := request(t, method, w.url)
			r, err := ours.DoContext(t.Context(), req, resp)
			require.NoError(t, err)
			assert.Equal(t, fasthttpretry.Result{Attempts: 1, Succeeded: true}, r)
			require.NoError(t, resp.CloseBodyStream())
		}
	}
}

// R3.3: a number below 100 is no status of HTTP, so its answer is no success and
// gives nothing to the quota (R6). fasthttp takes 0 for a status that nobody has
// set, and says 200.
func TestStatusBelow100(t *testing.T) {
	for text, row := range map[string]struct {
		status, tokens int
		result         fasthttpretry.Result
	}{
		"000": {200, 101, fasthttpretry.Result{Attempts: 1, Succeeded: true}},
		"001": {1, 100, fasthttpretry.Result{Attempts: 1, Reason: engine.ReasonNonRetryable}},
		"099": {99, 100, fasthttpretry.Result{Attempts: 1, Reason: engine.ReasonNonRetryable}},
	} {
		w := serveWire(t, func(_ int, conn net.Conn, _ *http.Request) bool {
			return raw("HTTP/1.1 "+text+" Odd\r\nContent-Length: 2\r\n\r\nok", true)(conn)
		})
		e := quick(t, engine.WithTokens(100))
		req, resp := get(t, w.url)
		r, err := newClient(t, e, once(t)).DoContext(t.Context(), req, resp)
		require.NoError(t, err, text)
		assert.Equal(t, row.result, r, text)
		assert.Equal(t, row.status, resp.StatusCode(), text)
		assert.Equal(t, row.tokens, level(e), text)
		assert.Equal(t, 1, w.count(), text)
	}
}
