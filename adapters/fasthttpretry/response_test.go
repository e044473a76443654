package fasthttpretry_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// Peer fault 116: with one connection for all attempts none is in the way of the
// next, whether the answers are streamed, ignored or of HEAD.
func TestOneConnection(t *testing.T) {
	big := strings.Repeat("x", 512<<10)
	for _, row := range []struct {
		name   string
		stream bool
		method string
		noResp bool
		busy   script
	}{
		{"read whole", false, "GET", false, say(503, "busy")},
		{"read whole, big", false, "GET", false, say(503, big)},
		{"streamed", true, "GET", false, say(503, "busy")},
		{"streamed, big", true, "GET", false, say(503, big)},
		{"streamed in chunks", true, "GET", false, raw("HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbusy\r\n0\r\n\r\n", true)},
		{"HEAD", false, "HEAD", false, raw("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\n", true)},
		{"streamed HEAD", true, "HEAD", false, raw("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\n", true)},
		{"ignored", false, "GET", true, say(503, big)},
		{"streamed and ignored", true, "GET", true, say(503, "busy")},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := serveWire(t, func(n int, conn net.Conn, req *http.Request) bool {
				switch {
				case n%3 != 0:
					return row.busy(conn)
				case req.Method == "HEAD":
					return raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true)(conn)
				}
				return say(200, big)(conn)
			})
			c := &fasthttp.HostClient{Addr: w.addr, MaxConns: 1, MaxIdemponentCallAttempts: 1, StreamResponseBody: row.stream}
			t.Cleanup(c.CloseIdleConnections)
			ours := newClient(t, quick(t), c)
			for range 3 {
				req, resp := request(t, row.method, w.url)
				if row.noResp {
					require.NoError(t, ours.Do(req, nil))
					continue
				}
				r, err := ours.DoContext(t.Context(), req, resp)
				require.NoError(t, err)
				assert.Equal(t, 3, r.Attempts)
				if row.method == "HEAD" {
					assert.Empty(t, resp.Body())
					assert.Equal(t, 5, resp.Header.ContentLength())
					continue
				}
				if row.stream {
					body, err := io.ReadAll(resp.BodyStream())
					require.NoError(t, err)
					assert.Len(t, body, len(big))
					require.NoError(t, resp.CloseBodyStream())
				} else {
					assert.Len(t, resp.Body(), len(big))
				}
			}
			assert.Equal(t, 9, w.count())
			assert.LessOrEqual(t, c.ConnsCount(), 1)
		})
	}
}

// No connection is held in the delay, not by a streamed answer either.
func TestNoConnectionInTheDelay(t *testing.T) {
	for _, stream := range []bool{false, true} {
		w := serveWire(t, func(n int, conn net.Conn, _ *http.Request) bool {
			if n == 1 {
				return say(503, strings.Repeat("x", 512<<10))(conn)
			}
			return say(200, "")(conn)
		})
		c := &fasthttp.HostClient{Addr: w.addr, MaxIdemponentCallAttempts: 1, StreamResponseBody: stream}
		t.Cleanup(c.CloseIdleConnections)
		busy := -1
		clock := &leap{leave: func() { busy = c.ConnsCount() - c.IdleConnsCount() }}
		req, resp := get(t, w.url)
		require.NoError(t, newClient(t, newEngine(t, engine.WithClock(clock)), c).Do(req, resp))
		assert.Zero(t, busy)
	}
}

// The code of a failed answer is found in a stream whose length is known and
// small, which can then be read from its beginning; other streams are left alone.
func TestCodeInAStream(t *testing.T) {
	const throttled = `{"__type":"ThrottlingException"}`
	pad := strings.Repeat(" ", 8<<10)
	chunked := fmt.Sprintf("HTTP/1.1 400 No\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(throttled), throttled)
	for _, row := range []struct {
		name   string
		answer script
		body   string
		code   string
		class  classify.Class
		reason engine.Reason
	}{
		{"small", say(400, throttled, "Content-Type", json), throttled, "ThrottlingException", classify.Throttling, engine.ReasonMaxAttempts},
		{"empty", say(400, "", "Content-Type", json), "", "", classify.NonRetryable, engine.ReasonNonRetryable},
		{"long", say(400, throttled+pad, "Content-Type", json), throttled + pad, "", classify.NonRetryable, engine.ReasonNonRetryable},
		{"of unknown length", raw(chunked, true), throttled, "", classify.NonRetryable, engine.ReasonNonRetryable},
		{"another type", say(400, throttled, "Content-Type", "text/html"), throttled, "", classify.NonRetryable, engine.ReasonNonRetryable},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := serveWire(t, func(_ int, conn net.Conn, _ *http.Request) bool { return row.answer(conn) })
			c := once(t)
			c.StreamResponseBody = true
			req, resp := get(t, w.url)
			r, err := newClient(t, quick(t), c).DoContext(t.Context(), req, resp)
			require.NoError(t, err)
			assert.Equal(t, row.code, r.Code)
			assert.Equal(t, row.class, r.Class)
			assert.Equal(t, row.reason, r.Reason)
			require.True(t, resp.IsBodyStream())
			body, err := io.ReadAll(resp.BodyStream())
			require.NoError(t, err)
			assert.Equal(t, row.body, string(body))
			require.NoError(t, resp.CloseBodyStream())
		})
	}
	t.Run("cut", func(t *testing.T) {
		w := serveWire(t, func(n int, conn net.Conn, _ *http.Request) bool {
			return raw("HTTP/1.1 400 No\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{", false)(conn)
		})
		c := once(t)
		c.StreamResponseBody = true
		req, resp := get(t, w.url)
		_, err := newClient(t, quick(t), c).DoContext(t.Context(), req, resp)
		require.ErrorIs(t, err, engine.ErrMaxAttempts)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		assert.Equal(t, 3, w.count())
		assert.Zero(t, c.ConnsCount())
	})
}

// Header names count as they are, where the client leaves them so.
func TestNamesAsTheyAre(t *testing.T) {
	w := serveWire(t, func(_ int, conn net.Conn, _ *http.Request) bool {
		return say(503, "", "x-amz-RETRY-after", "1500", "x-amzn-errortype", "SlowDown")(conn)
	})
	for _, as := range []bool{false, true} {
		c := once(t)
		c.DisableHeaderNamesNormalizing = as
		var ev events
		req, resp := get(t, w.url)
		r, err := newClient(t, quick(t, ev.observer(), engine.WithMaxAttempts(2)), c).DoContext(t.Context(), req, resp)
		require.NoError(t, err)
		assert.Equal(t, "SlowDown", r.Code)
		require.Len(t, ev.retries, 1)
		assert.Equal(t, 1500*ms, ev.retries[0].Delay)
	}
}

// Peer faults 119 and 122, which have their like here: a body of any length that
// is in memory is sent again whole, and the answer is whole.
func TestBigBodies(t *testing.T) {
	for _, size := range []int{64 << 10, 64<<10 + 1, 1 << 20} {
		w := serveWire(t, func(n int, conn net.Conn, req *http.Request) bool {
			body, _ := io.ReadAll(req.Body)
			if n%2 == 1 {
				return say(503, "")(conn)
			}
			return say(200, string(body))(conn)
		})
		req, resp := request(t, "PUT", w.url)
		text := strings.Repeat("0123456789", size/10+1)[:size]
		req.SetBodyString(text)
		require.NoError(t, newClient(t, quick(t), once(t)).Do(req, resp))
		assert.Equal(t, text, string(resp.Body()))
	}
}

// Peer fault 121: interim answers are no attempts.
func TestInterimAnswers(t *testing.T) {
	w := serveWire(t, func(_ int, conn net.Conn, _ *http.Request) bool {
		raw("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", true)(conn)
		return say(200, "hello")(conn)
	})
	req, resp := get(t, w.url)
	r, err := newClient(t, quick(t), once(t)).DoContext(t.Context(), req, resp)
	require.NoError(t, err)
	assert.Equal(t, 1, r.Attempts)
	assert.Equal(t, 1, w.count())
	assert.Equal(t, "hello", string(resp.Body()))
}
