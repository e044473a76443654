package httpretry_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// serve answers the requests of each connection, both counted from 1, with what
// answer says; "" closes the connection.
func serve(t *testing.T, answer func(conn, n int, req *http.Request) string) (url string, requests *atomic.Int32) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	requests = new(atomic.Int32)
	go func() {
		for conn := 1; ; conn++ {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				r := bufio.NewReader(c)
				for n := 1; ; n++ {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, req.Body)
					requests.Add(1)
					text := answer(conn, n, req)
					if text == "" {
						return
					}
					if _, err := io.WriteString(c, text); err != nil {
						return
					}
				}
			}()
		}
	}()
	return "http://" + listener.Addr().String(), requests
}

const (
	wire200 = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	wire503 = "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy"
)

// Peer fault 118: how often a server sees a request whose connection ends
// without an answer. On a fresh connection each send is an attempt of ours. On a
// kept one net/http mends a GET by itself, once, and leaves alone what may not
// be sent twice; so do we.
func TestDeadConnection(t *testing.T) {
	for _, row := range []struct {
		name   string
		method string
		warm   bool // the connection has served a request before
		hits   int32
		fails  bool
	}{
		{"GET on a fresh connection", "GET", false, 2, false},
		{"PUT on a fresh connection", "PUT", false, 2, false},
		{"POST on a fresh connection", "POST", false, 1, true},
		{"GET on a kept connection", "GET", true, 2, false},
		{"PUT on a kept connection", "PUT", true, 2, false},
		{"POST on a kept connection", "POST", true, 1, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			var warm, dropped atomic.Bool
			url, requests := serve(t, func(_, _ int, req *http.Request) string {
				if warm.Load() || !dropped.CompareAndSwap(false, true) {
					return wire200
				}
				return ""
			})
			inner := &http.Transport{}
			defer inner.CloseIdleConnections()
			e := newEngine(t, engine.WithClock(noSleep{}))
			client := httpretry.Client(e, httpretry.WithBase(inner))
			if row.warm {
				warm.Store(true)
				resp, err := client.Get(url)
				require.NoError(t, err)
				readAll(t, resp)
				warm.Store(false)
				requests.Store(0)
			}
			for _, body := range []func() io.Reader{
				func() io.Reader { return strings.NewReader("text") },
				func() io.Reader { return opaque("text") },
			} {
				dropped.Store(false)
				requests.Store(0)
				if row.method == "GET" {
					body = func() io.Reader { return nil }
				}
				req, err := http.NewRequest(row.method, url, body())
				require.NoError(t, err)
				resp, err := client.Do(req)
				assert.Equal(t, row.hits, requests.Load())
				if row.fails {
					require.Error(t, err)
				} else {
					require.NoError(t, err)
					assert.Equal(t, "ok", readAll(t, resp))
				}
				if row.warm { // the next round wants a kept connection too
					warm.Store(true)
					resp, err := client.Get(url)
					require.NoError(t, err)
					readAll(t, resp)
					warm.Store(false)
				}
			}
		})
	}
}

// Peer fault 67 on a socket: a reset between the lines of an answer's head.
func TestResetOverTCP(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	go func() {
		for n := 1; ; n++ {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(c))
			if n < 3 {
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
				_ = c.(*net.TCPConn).SetLinger(0)
			} else {
				_, _ = io.WriteString(c, wire200)
			}
			_ = c.Close()
		}
	}()
	var ev events
	inner := &http.Transport{DisableKeepAlives: true}
	resp, err := httpretry.Client(newEngine(t, engine.WithClock(noSleep{}), ev.observer()), httpretry.WithBase(inner)).Get("http://" + listener.Addr().String())
	require.NoError(t, err)
	assert.Equal(t, "ok", readAll(t, resp))
	assert.Len(t, ev.retries, 2)
}

// A refused connection proves that nothing was sent: a POST with a body of any
// length and no GetBody goes again, whole.
func TestRefusedOverTCP(t *testing.T) {
	url, requests := serve(t, func(_, _ int, req *http.Request) string { return wire200 })
	dials := 0
	inner := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if dials++; dials < 3 {
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	defer inner.CloseIdleConnections()
	body := opaque(strings.Repeat("x", 1<<20))
	req, err := http.NewRequest(http.MethodPost, url, body)
	require.NoError(t, err)
	resp, err := httpretry.Client(newEngine(t, engine.WithClock(noSleep{})), httpretry.WithBase(inner)).Do(req)
	require.NoError(t, err)
	assert.Equal(t, "ok", readAll(t, resp))
	assert.Equal(t, 3, dials)
	assert.EqualValues(t, 1, requests.Load())
}

// A server that answers before it has read the request: HTTP/1 then breaks the
// connection, HTTP/2 the stream, whose Close waits for the attempt's read to end.
// The next attempt has the whole body, of which the first had sent a part.
func TestEarlyAnswer(t *testing.T) {
	for _, version := range []int{1, 2} {
		text := strings.Repeat("0123456789", 5000)
		var hits atomic.Int32
		var last atomic.Pointer[string]
		produce := make(chan struct{})
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch hits.Add(1) {
			case 1, 2:
				_, _ = io.ReadFull(r.Body, make([]byte, 10))
				if r.ProtoMajor == 1 {
					w.Header().Set("Connection", "close") // or the server waits for the rest
				}
				w.WriteHeader(503)
				_, _ = io.WriteString(w, strings.Repeat("x", 100000)) // too much to be drained
				return
			case 3:
				close(produce)
			}
			got, _ := io.ReadAll(r.Body)
			s := string(got)
			last.Store(&s)
		}))
		server.EnableHTTP2 = version == 2
		server.StartTLS()
		in, out := io.Pipe()
		go func() {
			_, _ = io.WriteString(out, text[:100])
			<-produce // the first attempts are waiting for more until then
			_, _ = io.WriteString(out, text[100:])
			_ = out.Close()
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		e := newEngine(t, engine.WithClock(noSleep{}))
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, server.URL, in)
		require.NoError(t, err)
		resp, err := httpretry.Client(e, httpretry.WithBase(server.Client().Transport)).Do(req)
		require.NoError(t, err)
		assert.Equal(t, version, resp.ProtoMajor)
		assert.Equal(t, 200, resp.StatusCode)
		readAll(t, resp)
		if got := last.Load(); assert.NotNil(t, got) {
			assert.True(t, *got == text, "HTTP/%d: the last attempt sent %d of %d bytes", version, len(*got), len(text))
		}
		cancel()
		server.Close()
	}
}

// TLS that does not verify is not retried, and comes back as it was.
func TestCertificate(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	e := newEngine(t)
	_, err := newTransport(t, e, httpretry.WithBase(&http.Transport{})).RoundTrip(mustRequest(t, server.URL))
	var unverified *tls.CertificateVerificationError
	require.ErrorAs(t, err, &unverified)
	var wrapped *engine.Error
	assert.False(t, errors.As(err, &wrapped))
}

func mustRequest(t *testing.T, url string) *http.Request {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	return req
}

// When all calls are over and closed, so are their goroutines.
func TestNoGoroutineIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(503)
		_, _ = io.WriteString(w, `{"message":"`+strings.Repeat("x", 20000)+`"}`)
	}))
	inner := &http.Transport{}
	client := httpretry.Client(newEngine(t, engine.WithClock(noSleep{})), httpretry.WithBase(inner), httpretry.WithAttemptTimeout(time.Minute), httpretry.WithAWSHeaders())
	client.Timeout = time.Minute
	for range 20 {
		req, err := http.NewRequest(http.MethodPut, server.URL, opaque("text"))
		require.NoError(t, err)
		resp, err := client.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	}
	client.CloseIdleConnections()
	server.Close()
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), before)
}
