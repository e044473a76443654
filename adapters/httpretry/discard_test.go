package httpretry_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// Peer fault 116: what is retried is drained and closed, so that one connection
// serves all attempts; what is returned is left alone.
func TestConnectionReuse(t *testing.T) {
	for _, mode := range []engine.Mode{engine.Standard, engine.Adaptive} {
		t.Run(mode.String(), func(t *testing.T) { connectionReuse(t, mode) })
	}
}

func connectionReuse(t *testing.T, mode engine.Mode) {
	known := throttled
	if mode == engine.Adaptive {
		known = `{"code":"Other"}` // nothing that the limiter would wait for
	}
	for _, row := range []struct{ kind, body string }{
		{"text/html", strings.Repeat("x", 30000)},
		{"application/json", known},
		{"application/json", `{"message":"` + strings.Repeat("x", 30000) + `"}`},
		{"", ""},
	} {
		var hits, connections atomic.Int32
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", row.kind)
			if hits.Add(1) < 3 {
				w.WriteHeader(503)
			}
			_, _ = io.WriteString(w, row.body)
		}))
		server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				connections.Add(1)
			}
		}
		server.Start()
		inner := &http.Transport{MaxConnsPerHost: 1}
		e := newEngine(t, engine.WithClock(noSleep{}), engine.WithMode(mode))
		resp, err := httpretry.Client(e, httpretry.WithBase(inner)).Get(server.URL)
		require.NoError(t, err)
		assert.Equal(t, 200, resp.StatusCode)
		assert.True(t, readAll(t, resp) == row.body)
		assert.EqualValues(t, 3, hits.Load())
		assert.EqualValues(t, 1, connections.Load(), "body of %d bytes, %s", len(row.body), row.kind)
		inner.CloseIdleConnections()
		server.Close()
	}
}

// The failed response is let go before the delay: nothing is held meanwhile.
func TestClosedBeforeTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := response(503, "<h1>busy</h1>", "Content-Type", "text/html")
		body := failed.Body.(*trackedBody)
		resp, err := newTransport(t, newEngine(t), httpretry.WithBase(answers(func(n int) *http.Response {
			if n > 1 {
				return response(200, "")
			}
			time.AfterFunc(ms, func() {
				assert.Equal(t, 1, body.closed())
				left, _ := io.ReadAll(body.Reader)
				assert.Empty(t, left)
			})
			return failed
		}))).RoundTrip(get(t, t.Context()))
		require.NoError(t, err)
		assert.Equal(t, 200, resp.StatusCode)
		assert.Equal(t, 1, body.closed())
	})
}

// Draining is bounded: in bytes, and in time whatever the server does.
func TestDiscardIsBounded(t *testing.T) {
	endless := func(read *atomic.Int64) io.Reader {
		return readerFunc(func(p []byte) (int, error) { read.Add(int64(len(p))); return len(p), nil })
	}
	for _, kind := range []string{"text/html", "application/json"} {
		synctest.Test(t, func(t *testing.T) {
			var read atomic.Int64
			failed := response(503, "", "Content-Type", kind)
			failed.ContentLength, failed.Body = -1, io.NopCloser(endless(&read))
			start := time.Now()
			b := answers(func(n int) *http.Response {
				if n == 1 {
					return failed
				}
				return response(200, "")
			})
			_, err := newTransport(t, newEngine(t), httpretry.WithBase(b)).RoundTrip(get(t, t.Context()))
			require.NoError(t, err)
			assert.LessOrEqual(t, read.Load(), int64(64<<10+8<<10))
			assert.Equal(t, 50*ms-near, time.Since(start))
		})
		synctest.Test(t, func(t *testing.T) {
			in, out := io.Pipe() // nobody writes
			defer out.Close()
			failed := response(503, "", "Content-Type", kind)
			failed.ContentLength, failed.Body = -1, in
			start := time.Now()
			b := answers(func(n int) *http.Response {
				if n == 1 {
					return failed
				}
				return response(200, "")
			})
			_, err := newTransport(t, newEngine(t), httpretry.WithBase(b)).RoundTrip(get(t, t.Context()))
			require.NoError(t, err)
			assert.Equal(t, time.Second+50*ms-near, time.Since(start))
			_, err = in.Read(make([]byte, 1))
			assert.ErrorIs(t, err, io.ErrClosedPipe)
		})
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A body that says that it is longer than what is drained is not read at all.
func TestHugeBodyIsNotDrained(t *testing.T) {
	var read atomic.Int64
	failed := response(503, "", "Content-Type", "text/html")
	failed.ContentLength = 1 << 30
	failed.Body = io.NopCloser(readerFunc(func(p []byte) (int, error) { read.Add(1); return len(p), nil }))
	b := answers(func(n int) *http.Response {
		if n == 1 {
			return failed
		}
		return response(200, "")
	})
	_, err := newTransport(t, newEngine(t, engine.WithClock(noSleep{})), httpretry.WithBase(b)).RoundTrip(get(t, t.Context()))
	require.NoError(t, err)
	assert.Zero(t, read.Load())
}

// A server that stalls in the middle of a failed response's body: net/http lets
// the body be closed while it is read, so the call goes on after bounded time.
func TestStalledServer(t *testing.T) {
	for _, kind := range []string{"text/html", "application/json"} {
		synctest.Test(t, func(t *testing.T) {
			dials := 0
			inner := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
				dials++
				answer := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
				if dials == 1 {
					answer = "HTTP/1.1 503 Busy\r\nContent-Length: 100\r\nContent-Type: " + kind + "\r\n\r\n{"
				}
				client, server := net.Pipe()
				go func() {
					_, err := http.ReadRequest(bufio.NewReader(server))
					assert.NoError(t, err)
					_, _ = io.WriteString(server, answer)
					_, _ = server.Read(make([]byte, 1)) // until the client closes
					_ = server.Close()
				}()
				return client, nil
			}}
			start := time.Now()
			resp, err := newTransport(t, newEngine(t), httpretry.WithBase(inner)).RoundTrip(get(t, t.Context()))
			require.NoError(t, err)
			assert.Equal(t, "ok", readAll(t, resp))
			assert.Equal(t, 2, dials)
			assert.Equal(t, time.Second+50*ms-near, time.Since(start))
			inner.CloseIdleConnections()
		})
	}
}
