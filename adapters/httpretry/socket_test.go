package httpretry_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/http/httputil"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// One test each, on sockets, for what a gateway meets. GOAWAY and REFUSED_STREAM
// are in http2_test.go, dead and reset connections in wire_test.go too.

// upstream counts the requests that arrive, from 1.
func upstream(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) (url string, arrivals *atomic.Int32) {
	arrivals = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer(int(arrivals.Inc()), w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, arrivals
}

// direct returns a client with connections of its own and waits that take no time.
func direct(t *testing.T, opts ...httpretry.Option) (*http.Client, *engine.Engine) {
	inner := &http.Transport{}
	t.Cleanup(inner.CloseIdleConnections)
	e := newEngine(t, engine.WithClock(noSleep{}))
	return httpretry.Client(e, append([]httpretry.Option{httpretry.WithBase(inner)}, opts...)...), e
}

// gateway is a reverse proxy on a Transport.
func gateway(t *testing.T, upstream string, transport http.RoundTripper) string {
	to, err := url.Parse(upstream)
	require.NoError(t, err)
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport: transport,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			w.WriteHeader(http.StatusBadGateway)
		},
	})
	t.Cleanup(server.Close)
	return server.URL
}

// everything is all options that change how attempts are made.
func everything() []httpretry.Option {
	return []httpretry.Option{
		httpretry.WithHedge(time.Minute), httpretry.WithAttemptTimeout(time.Minute, time.Hour), httpretry.WithRetryMark(), httpretry.WithAWSHeaders(),
	}
}

// A POST that failed on the way back is not sent again, nor one that was answered.
func TestSocketPost(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter){
		"503":   func(w http.ResponseWriter) { w.WriteHeader(503) },
		"reset": func(w http.ResponseWriter) { cutOff(w, true) },
		"end":   func(w http.ResponseWriter) { cutOff(w, false) },
	} {
		for _, opts := range [][]httpretry.Option{nil, everything()} {
			to, arrivals := upstream(t, func(_ int, w http.ResponseWriter, _ *http.Request) { answer(w) })
			client, e := direct(t, opts...)
			resp, err := client.Post(to, "text/plain", strings.NewReader("an order"))
			if name == "503" {
				require.NoError(t, err)
				assert.Equal(t, 503, resp.StatusCode)
				readAll(t, resp)
			} else {
				require.ErrorIs(t, err, engine.ErrNotReplayable, name)
			}
			assert.EqualValues(t, 1, arrivals.Load(), name)
			assert.Equal(t, 500, level(e), name)
		}
	}
}

// cutOff ends a connection, by a reset or in order.
func cutOff(w http.ResponseWriter, reset bool) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if reset {
		_ = conn.(*net.TCPConn).SetLinger(0)
	}
	_ = conn.Close()
}

// An upgrade through a gateway: what one side ends to write, the other ends to
// read, with every option on, and the connection lives after the attempt's
// time-out has been forgotten.
func TestSocketUpgrade(t *testing.T) {
	for _, opts := range [][]httpretry.Option{nil, everything(), {httpretry.WithAttemptTimeout(time.Minute)}} {
		to, arrivals := upstream(t, func(_ int, w http.ResponseWriter, r *http.Request) {
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			_ = rw.Flush()
			text, _ := io.ReadAll(rw) // until the other side has ended
			_, _ = rw.WriteString("echo " + string(text))
			_ = rw.Flush()
		})
		client, _ := direct(t, opts...)
		conn, err := net.Dial("tcp", strings.TrimPrefix(gateway(t, to, client.Transport), "http://"))
		require.NoError(t, err)
		_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: service.test\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		require.NoError(t, err)
		r := bufio.NewReader(conn)
		resp, err := http.ReadResponse(r, nil)
		require.NoError(t, err)
		require.Equal(t, 101, resp.StatusCode)
		_, err = io.WriteString(conn, "hello")
		require.NoError(t, err)
		require.NoError(t, conn.(*net.TCPConn).CloseWrite())
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		assert.Equal(t, "echo hello", string(text))
		assert.EqualValues(t, 1, arrivals.Load())
		require.NoError(t, conn.Close())
	}
}

// CONNECT is passed on, and what comes back is passed back: it is never sent twice.
func TestSocketConnect(t *testing.T) {
	to, arrivals := upstream(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, http.MethodConnect, r.Method)
		w.WriteHeader(503)
	})
	client, e := direct(t, everything()...)
	req, err := http.NewRequest(http.MethodConnect, to, nil)
	require.NoError(t, err)
	resp, err := client.Transport.RoundTrip(req)
	require.NoError(t, err)
	assert.Equal(t, 503, resp.StatusCode)
	readAll(t, resp)
	assert.EqualValues(t, 1, arrivals.Load())
	assert.Zero(t, e.Stats().Stops)
}

// A success whose body is read by half, and one that the server cuts: both were
// returned, so neither is sent again; what is not read does not hold the next
// call up.
func TestSocketHalfABody(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcdef"), 64<<10) // 1 MiB
	for _, opts := range [][]httpretry.Option{nil, everything()} {
		to, arrivals := upstream(t, func(_ int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(big)))
			if r.URL.Path == "/cut" {
				_, _ = w.Write(big[:1000])
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			_, _ = w.Write(big)
		})
		client, e := direct(t, opts...)
		for range 3 {
			resp, err := client.Get(to)
			require.NoError(t, err)
			half := make([]byte, len(big)/2)
			_, err = io.ReadFull(resp.Body, half)
			require.NoError(t, err)
			assert.True(t, bytes.Equal(big[:len(half)], half))
			require.NoError(t, resp.Body.Close())
		}
		resp, err := client.Get(to + "/cut")
		require.NoError(t, err)
		n, err := io.Copy(io.Discard, resp.Body)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		assert.EqualValues(t, 1000, n)
		_ = resp.Body.Close()
		assert.EqualValues(t, 4, arrivals.Load())
		assert.Zero(t, e.Stats().TransientRetries)
	}
}

// Peer fault 122: a body of 64 KiB is kept and sent again, one byte more is sent
// whole but once, and says why; both as they came, without a length.
func TestSocketBodyLimit(t *testing.T) {
	for size, attempts := range map[int]int{64 << 10: 2, 64<<10 + 1: 1} {
		text := strings.Repeat("x", size)
		to, arrivals := upstream(t, func(n int, w http.ResponseWriter, r *http.Request) {
			got, err := io.ReadAll(r.Body)
			assert.NoError(t, err)
			assert.True(t, string(got) == text, "%d of %d bytes", len(got), size)
			assert.Equal(t, []string{"chunked"}, r.TransferEncoding)
			if n == 1 {
				w.WriteHeader(503)
			}
		})
		client, e := direct(t)
		req, err := http.NewRequest(http.MethodPut, to, opaque(text))
		require.NoError(t, err)
		resp, err := client.Do(req)
		require.NoError(t, err)
		readAll(t, resp)
		assert.EqualValues(t, attempts, arrivals.Load(), size)
		r, ok := httpretry.ResultOf(resp)
		require.True(t, ok)
		if attempts == 1 {
			assert.Equal(t, 503, resp.StatusCode)
			assert.Equal(t, engine.ReasonNotReplayable, r.Reason)
			assert.EqualValues(t, 1, e.Stats().Stops[engine.ReasonNotReplayable])
			assert.Equal(t, 500, level(e))
		}
	}
}

// A client that is cancelled: the server learns of it, and hears of nothing else.
func TestSocketCancelled(t *testing.T) {
	for _, opts := range [][]httpretry.Option{nil, everything()} {
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := make(chan struct{})
		to, arrivals := upstream(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
			cancel(errShutdown)
			<-r.Context().Done()
			close(gone)
		})
		client, e := direct(t, opts...)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, to, nil)
		require.NoError(t, err)
		_, err = client.Do(req)
		require.ErrorIs(t, err, engine.ErrCancelled)
		require.ErrorIs(t, err, errShutdown)
		<-gone
		assert.EqualValues(t, 1, arrivals.Load())
		assert.Equal(t, 500, level(e))
	}
}

// Slow on either side: what the client has to say is sent as it comes, and what
// the server says is there as it comes; nothing waits for the end of the other.
func TestSocketSlow(t *testing.T) {
	const parts = 5
	for _, opts := range [][]httpretry.Option{nil, everything()} {
		to, arrivals := upstream(t, func(_ int, w http.ResponseWriter, r *http.Request) {
			rc := http.NewResponseController(w)
			_ = rc.EnableFullDuplex()
			w.WriteHeader(200)
			_ = rc.Flush()
			part := make([]byte, 4)
			for {
				if _, err := io.ReadFull(r.Body, part); err != nil {
					return
				}
				_, _ = w.Write(part)
				_ = rc.Flush()
			}
		})
		in, out := io.Pipe()
		client, _ := direct(t, opts...)
		req, err := http.NewRequest(http.MethodPut, to, in)
		require.NoError(t, err)
		resp, err := client.Do(req)
		require.NoError(t, err)
		got := make([]byte, 4)
		for i := range parts {
			text := fmt.Sprintf("%04d", i)
			_, err := io.WriteString(out, text)
			require.NoError(t, err)
			_, err = io.ReadFull(resp.Body, got)
			require.NoError(t, err)
			assert.Equal(t, text, string(got))
		}
		require.NoError(t, out.Close())
		assert.Empty(t, readAll(t, resp))
		assert.EqualValues(t, 1, arrivals.Load())
	}
}

// waiting is a clock on which a wait ends with its caller's context.
type waiting struct {
	noSleep
	begun chan struct{}
}

func (w *waiting) Sleep(ctx context.Context, _ time.Duration, _ <-chan struct{}) {
	w.begun <- struct{}{}
	<-ctx.Done()
}

// R6.3, peer fault 4: a gateway whose client leaves while it waits sends nothing
// more, and the tokens come back.
func TestSocketClientGoneWhileWaiting(t *testing.T) {
	to, arrivals := upstream(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	clock := &waiting{begun: make(chan struct{})}
	stopped := make(chan engine.StopEvent)
	e := newEngine(t, engine.WithClock(clock), engine.WithObserver(engine.Observer{Stop: func(ev engine.StopEvent) { stopped <- ev }}))
	inner := &http.Transport{}
	defer inner.CloseIdleConnections()
	address := strings.TrimPrefix(gateway(t, to, newTransport(t, e, httpretry.WithBase(inner))), "http://")
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: service.test\r\n\r\n")
	require.NoError(t, err)
	<-clock.begun
	assert.Equal(t, 500-14, level(e))
	require.NoError(t, conn.Close())
	ev := <-stopped
	assert.Equal(t, engine.ReasonCancelled, ev.Reason)
	assert.Equal(t, 1, ev.Attempts)
	assert.Equal(t, 500, level(e))
	assert.EqualValues(t, 1, arrivals.Load())
}

// Trailers of either side, over a retry: each attempt has the request's, the
// caller the last response's, once it has read the body.
func TestSocketTrailers(t *testing.T) {
	for _, opts := range [][]httpretry.Option{nil, everything()} {
		to, arrivals := upstream(t, func(n int, w http.ResponseWriter, r *http.Request) {
			text, _ := io.ReadAll(r.Body)
			assert.Equal(t, "text", string(text))
			assert.Equal(t, "of the request", r.Trailer.Get("Sum"))
			w.Header().Set("Trailer", "Sum")
			if n == 1 {
				w.WriteHeader(503)
			}
			_, _ = io.WriteString(w, "answer")
			w.Header().Set("Sum", fmt.Sprint("of answer ", n))
		})
		client, _ := direct(t, opts...)
		req, err := http.NewRequest(http.MethodPut, to, opaque("text"))
		require.NoError(t, err)
		req.Trailer = http.Header{"Sum": {"of the request"}}
		resp, err := client.Do(req)
		require.NoError(t, err)
		assert.Equal(t, http.Header{"Sum": nil}, resp.Trailer)
		assert.Equal(t, "answer", readAll(t, resp))
		assert.Equal(t, "of answer 2", resp.Trailer.Get("Sum"))
		assert.EqualValues(t, 2, arrivals.Load())
	}
}

// A body without a length, chunked on the wire, through a gateway and over a
// retry: whole both times; the answer is chunked too, and whole.
func TestSocketChunked(t *testing.T) {
	text := strings.Repeat("0123456789", 1000)
	to, arrivals := upstream(t, func(n int, w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, []string{"chunked"}, r.TransferEncoding)
		got, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.True(t, string(got) == text)
		if n == 1 {
			w.WriteHeader(503)
		}
		for range 3 {
			_, _ = io.WriteString(w, text)
			_ = http.NewResponseController(w).Flush()
		}
	})
	client, _ := direct(t, everything()...)
	req, err := http.NewRequest(http.MethodPut, gateway(t, to, client.Transport), opaque(text))
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	assert.Equal(t, 200, resp.StatusCode)
	assert.Equal(t, []string{"chunked"}, resp.TransferEncoding)
	assert.True(t, readAll(t, resp) == strings.Repeat(text, 3))
	assert.EqualValues(t, 2, arrivals.Load())
}

// untilRead tells when its first byte is wanted.
type untilRead struct {
	io.Reader
	read *atomic.Bool
}

func (u untilRead) Read(p []byte) (int, error) { u.read.Store(true); return u.Reader.Read(p) }

// Expect: 100-continue: who refuses before the body has not had a byte of it, and
// the next attempt asks again.
func TestSocketExpectContinue(t *testing.T) {
	for _, opts := range [][]httpretry.Option{nil, everything()} {
		var read atomic.Bool
		to, arrivals := upstream(t, func(n int, w http.ResponseWriter, r *http.Request) {
			assert.Equal(t, "100-continue", r.Header.Get("Expect"))
			assert.False(t, read.Load(), "nobody has asked for the body")
			if n < 3 {
				w.WriteHeader(503)
				return
			}
			text, err := io.ReadAll(r.Body) // says 100 Continue
			assert.NoError(t, err)
			assert.Equal(t, "text", string(text))
		})
		client, _ := direct(t, append(opts, httpretry.WithBase(&http.Transport{ExpectContinueTimeout: time.Hour}))...)
		var continues atomic.Int32
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { continues.Inc() }})
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, to, untilRead{strings.NewReader("text"), &read})
		require.NoError(t, err)
		req.Header.Set("Expect", "100-continue")
		resp, err := client.Do(req)
		require.NoError(t, err)
		readAll(t, resp)
		assert.Equal(t, 200, resp.StatusCode)
		assert.EqualValues(t, 3, arrivals.Load())
		assert.EqualValues(t, 1, continues.Load())
		client.CloseIdleConnections()
	}
}

// Peer fault 121: early hints of every attempt are passed on as they come, through
// a gateway, and the answer after them is the last one's.
func TestSocketEarlyHints(t *testing.T) {
	for _, opts := range [][]httpretry.Option{nil, everything()} {
		to, arrivals := upstream(t, func(n int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", fmt.Sprintf("</%d.css>; rel=preload", n))
			w.WriteHeader(http.StatusEarlyHints)
			if n == 1 {
				w.WriteHeader(503)
				return
			}
			_, _ = io.WriteString(w, "page")
		})
		client, _ := direct(t, opts...)
		var mu sync.Mutex
		var links []string
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			mu.Lock()
			defer mu.Unlock()
			links = append(links, fmt.Sprint(code, " ", h.Get("Link")))
			return nil
		}})
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, gateway(t, to, client.Transport), nil)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		assert.Equal(t, 200, resp.StatusCode)
		assert.Equal(t, "page", readAll(t, resp))
		mu.Lock()
		assert.Equal(t, []string{"103 </1.css>; rel=preload", "103 </2.css>; rel=preload"}, links)
		mu.Unlock()
		assert.EqualValues(t, 2, arrivals.Load())
	}
}

// Peer fault 119: a hedge that wins is read to its end, 512 KiB after RoundTrip has
// returned; the server learns that the loser is not wanted; and when all is over no
// connection is left.
func TestSocketHedge(t *testing.T) {
	t.Run("HTTP/1", func(t *testing.T) { socketHedge(t, 1) })
	t.Run("HTTP/2", func(t *testing.T) { socketHedge(t, 2) })
}

func socketHedge(t *testing.T, version int) {
	const calls = 20
	big := bytes.Repeat([]byte("0123456789abcdef"), 32<<10)
	var open, ended sync.WaitGroup
	var cancelled atomic.Int32
	entered := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Amz-Sdk-Request") == "attempt=1; max=3" { // it hangs
			entered <- struct{}{}
			<-r.Context().Done()
			cancelled.Inc()
			ended.Done()
			return
		}
		<-entered
		_, _ = w.Write(big)
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed, http.StateHijacked:
			open.Done()
		}
	}
	server.EnableHTTP2 = version == 2
	server.StartTLS()
	defer server.Close()
	e := newEngine(t)
	client := httpretry.Client(e, httpretry.WithBase(server.Client().Transport), httpretry.WithHedge(ms), httpretry.WithAWSHeaders())
	for range calls {
		ended.Add(1)
		resp, err := client.Get(server.URL)
		require.NoError(t, err)
		assert.Equal(t, version, resp.ProtoMajor)
		r, _ := httpretry.ResultOf(resp)
		assert.Equal(t, httpretry.Result{Attempts: 2, Hedges: 1, Succeeded: true}, r)
		ended.Wait() // the loser is gone before the winner is read
		assert.True(t, readAll(t, resp) == string(big))
	}
	assert.EqualValues(t, calls, cancelled.Load())
	assert.Equal(t, 500, level(e))
	client.CloseIdleConnections()
	open.Wait()
}

// A response that nothing is to be done about comes back byte for byte, with its
// headers and trailers, through every option.
func TestSocketUntouched(t *testing.T) {
	to, arrivals := upstream(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header()["X-Odd"] = []string{"a", "b"}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Trailer", "Sum")
		w.WriteHeader(503)
		_, _ = io.WriteString(w, `{"message":"busy"`+strings.Repeat(" ", 20000)+"}")
		w.Header().Set("Sum", "1")
	})
	client, _ := direct(t, everything()...)
	resp, err := http.Post(gateway(t, to, client.Transport), "text/plain", strings.NewReader("x"))
	require.NoError(t, err)
	assert.Equal(t, 503, resp.StatusCode)
	assert.Equal(t, []string{"a", "b"}, resp.Header["X-Odd"])
	assert.Equal(t, `{"message":"busy"`+strings.Repeat(" ", 20000)+"}", readAll(t, resp))
	assert.Equal(t, "1", resp.Trailer.Get("Sum"))
	assert.EqualValues(t, 1, arrivals.Load())
}

// net/http takes the body that is kept for leave to send again by itself. Where more
// was read than is kept it gets none, and says that instead of how the connection
// ended: to the engine it still is one that ended, with a body that is gone.
func TestConnectionEndsUnderALongBody(t *testing.T) {
	url, _ := serve(t, func(_, n int, _ *http.Request) string {
		if n > 1 {
			return ""
		}
		return wire200
	})
	inner := &http.Transport{}
	defer inner.CloseIdleConnections()
	e := newEngine(t, engine.WithClock(noSleep{}))
	transport := newTransport(t, e, httpretry.WithBase(inner), httpretry.WithBodyLimit(10))
	send := func(text string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, opaque(text))
		require.NoError(t, err)
		req.Header.Set("Idempotency-Key", "1")
		return transport.RoundTrip(req)
	}
	resp, err := send("text") // leaves a connection to die
	require.NoError(t, err)
	readAll(t, resp)
	_, err = send(strings.Repeat("x", 100))
	require.ErrorIs(t, err, engine.ErrNotReplayable)
	assert.EqualError(t, err, "reprise/engine: request not replayable after 1 attempt: "+
		"reprise/httpretry: the connection ended, or the server refused the request, before there was an answer "+
		"(reprise/httpretry: the request body has no GetBody and is longer than the 10 bytes that are kept (WithBodyLimit))")
	assert.Equal(t, 500, level(e))
}
