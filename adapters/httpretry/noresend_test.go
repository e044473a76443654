package httpretry_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// pipes is what serve is, over pipes: for time that a test makes go by.
func pipes(hits *atomic.Int32, answer func(conn, n int) string) *http.Transport {
	var conns atomic.Int32
	return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		conn := int(conns.Inc())
		go func() {
			defer there.Close()
			in := bufio.NewReader(there)
			for n := 1; ; n++ {
				req, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, req.Body)
				hits.Inc()
				text := answer(conn, n)
				if text == "" {
					return
				}
				_, _ = io.WriteString(there, text)
			}
		}()
		return here, nil
	}}
}

// Peer fault 118: every connection dies under its second request. What arrives is
// what the engine has granted, and nothing beside it.
func TestNoResend(t *testing.T) {
	for _, row := range []struct {
		method, body, key string
		empty             bool  // the body is a reader of nothing, and so has a GetBody
		bare              int32 // arrivals that no attempt stands for, without NoResend
		fails             bool
	}{
		{method: "GET", bare: 1},
		{method: "GET", empty: true, bare: 1},
		{method: "HEAD", empty: true, bare: 1},
		{method: "OPTIONS", empty: true, bare: 1},
		{method: "DELETE", empty: true, key: "1", bare: 1},
		{method: "GET", body: "text", bare: 1},
		{method: "HEAD", bare: 1},
		{method: "OPTIONS", bare: 1},
		{method: "DELETE"},
		{method: "DELETE", key: "1", bare: 1},
		{method: "PROPFIND", key: "1", bare: 1},
		{method: "SEARCH", key: "1", empty: true, bare: 1},
		{method: "PUT", body: "text"},
		{method: "POST", body: "text", key: "1", bare: 1},
		{method: "POST", body: "text", fails: true},
	} {
		url, requests := serve(t, func(_, n int, req *http.Request) string {
			switch {
			case n > 1:
				return ""
			case req.Method == http.MethodHead:
				return strings.TrimSuffix(wire200, "ok")
			}
			return wire200
		})
		for _, whole := range []bool{false, true} {
			inner := &http.Transport{}
			var base http.RoundTripper = inner
			if whole {
				base = httpretry.NoResend(inner)
			}
			e := newEngine(t, engine.WithClock(noSleep{}))
			transport := newTransport(t, e, httpretry.WithBase(base))
			first, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
			require.NoError(t, err)
			resp, err := transport.RoundTrip(first) // leaves a connection to die
			require.NoError(t, err)
			readAll(t, resp)

			requests.Store(0)
			var body io.Reader
			if row.body != "" || row.empty {
				body = strings.NewReader(row.body)
			}
			req, err := http.NewRequestWithContext(t.Context(), row.method, url, body)
			require.NoError(t, err)
			require.Equal(t, row.empty, req.Body == http.NoBody && req.GetBody != nil)
			if row.key != "" {
				req.Header.Set("Idempotency-Key", row.key)
			}
			resp, err = transport.RoundTrip(req)
			if row.fails {
				require.ErrorIs(t, err, engine.ErrNotReplayable)
			} else {
				require.NoError(t, err)
				readAll(t, resp)
			}
			unpaid := requests.Load() - 1 - int32(e.Stats().TransientRetries)
			if whole {
				assert.Zero(t, unpaid, "%+v", row)
				assert.Equal(t, row.fails, e.Stats().TransientRetries == 0, "%+v", row)
			} else {
				assert.Equal(t, row.bare, unpaid, "%+v", row)
			}
			inner.CloseIdleConnections()
		}
	}
}

// A connection that was dialled for one request, which meanwhile got another, and so
// has carried nothing yet, counts as kept alive to net/http: a request on it is sent
// again if the server hangs up. That is how a server that is down sees more than
// what was paid for.
func TestNoResendOnAnUnusedConnection(t *testing.T) {
	for _, whole := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var hits atomic.Int32
			answer := make(chan struct{})
			inner := pipes(&hits, func(conn, n int) string {
				if conn == 1 && n == 1 {
					<-answer
				}
				if conn == 2 {
					return ""
				}
				return wire200
			})
			dial, second := inner.DialContext, make(chan struct{})
			dials := 0
			inner.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				if dials++; dials == 2 {
					<-second
				}
				return dial(ctx, network, address)
			}
			var base http.RoundTripper = inner
			if whole {
				base = httpretry.NoResend(inner)
			}
			send := func() {
				resp, err := base.RoundTrip(get(t, t.Context()))
				if assert.NoError(t, err) {
					readAll(t, resp)
				}
			}
			go send() // has the first connection
			synctest.Wait()
			go send() // asks for a second one
			synctest.Wait()
			close(answer) // and gets the first
			synctest.Wait()
			close(second) // which leaves the second unused
			synctest.Wait()
			require.EqualValues(t, 2, hits.Load())
			resp, err := base.RoundTrip(get(t, t.Context()))
			if whole {
				require.ErrorIs(t, err, io.EOF)
				assert.EqualValues(t, 2+1, hits.Load())
			} else {
				require.NoError(t, err)
				readAll(t, resp)
				assert.EqualValues(t, 2+2, hits.Load())
			}
			inner.CloseIdleConnections()
		})
	}
}

// A connection that was idle for a second or more may have been closed for that: what
// may arrive twice is sent once more at once, and only once; with no tokens taken.
func TestNoResendMendsWhatWasIdle(t *testing.T) {
	for _, row := range []struct {
		name, method string
		idle         time.Duration
		opaque       bool // no GetBody
		dead         int  // connections that die under their second request
		attempts     int  // 0: the call fails
	}{
		{"just idle enough", "GET", time.Second, false, 1, 1},
		{"not idle enough", "GET", time.Second - 1, false, 1, 2},
		{"PUT", "PUT", time.Minute, false, 1, 1},
		{"a body that the door keeps", "PUT", time.Minute, true, 1, 1},
		{"not idempotent", "POST", time.Minute, false, 1, 0},
		{"two dead ones", "GET", time.Minute, false, 2, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var hits atomic.Int32
				answer := make(chan struct{})
				inner := pipes(&hits, func(conn, n int) string {
					if n == 1 {
						<-answer
					}
					if conn <= row.dead && n == 2 {
						return ""
					}
					return wire200
				})
				defer inner.CloseIdleConnections()
				e := newEngine(t)
				transport := newTransport(t, e, httpretry.WithBase(httpretry.NoResend(inner)))
				for range row.dead {
					go func() {
						resp, err := transport.RoundTrip(get(t, t.Context()))
						if assert.NoError(t, err) {
							readAll(t, resp)
						}
					}()
				}
				synctest.Wait()
				close(answer)
				<-time.After(row.idle)
				hits.Store(0)
				var body io.Reader
				if row.opaque {
					body = opaque("text")
				} else if row.method != "GET" {
					body = strings.NewReader("text")
				}
				resp, err := transport.RoundTrip(request(t, t.Context(), row.method, body))
				assert.Equal(t, 500, level(e))
				if row.attempts == 0 {
					require.ErrorIs(t, err, engine.ErrNotReplayable)
					assert.EqualValues(t, 1, hits.Load())
					return
				}
				require.NoError(t, err)
				readAll(t, resp)
				assert.EqualValues(t, row.dead+1, hits.Load())
				assert.EqualValues(t, row.attempts-1, e.Stats().TransientRetries)
			})
		})
	}
}

// Only a dead connection is mended: no time-out, and nothing once as much as a byte
// of an answer was there.
func TestNoResendOfOtherFailures(t *testing.T) {
	for name, row := range map[string]struct {
		second string
		change func(*http.Transport)
		says   string
	}{
		"a time-out":                   {"silence", func(inner *http.Transport) { inner.ResponseHeaderTimeout = time.Second }, "timeout awaiting"},
		"half an answer":               {"HTTP/1.1 2", nil, "malformed"},
		"half of a field":              {"HTTP/1.1 200 OK\r\nA", nil, "malformed"},
		"half of a head":               {"HTTP/1.1 200 OK\r\nA: b\r\n", func(inner *http.Transport) { endWith(inner, io.EOF) }, "EOF"},
		"half of a head, then a reset": {"HTTP/1.1 200 OK\r\nA: b\r\n", func(inner *http.Transport) { endWith(inner, syscall.ECONNRESET) }, "reset"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var hits atomic.Int32
				over := make(chan struct{})
				defer close(over)
				inner := pipes(&hits, func(_, n int) string {
					if n == 1 {
						return wire200
					}
					if row.second == "silence" {
						<-over
						return ""
					}
					return row.second
				})
				dial := inner.DialContext
				inner.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
					c, err := dial(ctx, network, address)
					time.AfterFunc(time.Minute, func() { _ = c.Close() }) // what is half stays so
					return c, err
				}
				if row.change != nil {
					row.change(inner)
				}
				base := httpretry.NoResend(inner)
				resp, err := base.RoundTrip(get(t, t.Context()))
				require.NoError(t, err)
				readAll(t, resp)
				<-time.After(10 * time.Second)
				_, err = base.RoundTrip(get(t, t.Context()))
				require.ErrorContains(t, err, row.says)
				assert.EqualValues(t, 2, hits.Load())
				inner.CloseIdleConnections()
			})
		})
	}
}

// ending is a connection that ends with an error of its own.
type ending struct {
	net.Conn
	err error
}

func (e ending) Read(p []byte) (int, error) {
	n, err := e.Conn.Read(p)
	if err != nil {
		err = e.err
	}
	return n, err
}

// endWith makes the connections of inner end with err.
func endWith(inner *http.Transport, err error) {
	dial := inner.DialContext
	inner.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, failed := dial(ctx, network, address)
		return ending{c, err}, failed
	}
}

// Whatever word a dead connection ends with, it is mended; what is no such word is not.
func TestNoResendMendsHoweverItDied(t *testing.T) {
	for err, mends := range map[error]bool{io.EOF: true, syscall.ECONNRESET: true, net.ErrClosed: true, errOdd: false} {
		synctest.Test(t, func(t *testing.T) {
			var hits atomic.Int32
			inner := pipes(&hits, func(conn, n int) string {
				if conn == 1 && n == 2 {
					return ""
				}
				return wire200
			})
			endWith(inner, err)
			base := httpretry.NoResend(inner)
			resp, failed := base.RoundTrip(get(t, t.Context()))
			require.NoError(t, failed)
			readAll(t, resp)
			<-time.After(time.Minute)
			resp, failed = base.RoundTrip(get(t, t.Context()))
			if mends {
				require.NoError(t, failed, "%v", err)
				readAll(t, resp)
				assert.EqualValues(t, 3, hits.Load())
			} else {
				require.ErrorIs(t, failed, err)
				assert.EqualValues(t, 2, hits.Load())
			}
			inner.CloseIdleConnections()
		})
	}
}

// listen answers each request with a 204 and hangs up; wire is what came, byte for byte.
func listen(t *testing.T) (url string, wire <-chan string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	came := make(chan string, 1<<10) // a fault leaves some of them unread
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			var got bytes.Buffer
			if req, err := http.ReadRequest(bufio.NewReader(io.TeeReader(c, &got))); err == nil {
				_, _ = io.Copy(io.Discard, req.Body)
				came <- got.String()
				_, _ = io.WriteString(c, "HTTP/1.1 204 None\r\nConnection: close\r\n\r\n")
			}
			_ = c.Close()
		}
	}()
	return "http://" + listener.Addr().String(), came
}

// What is sent is what would have been sent, byte for byte, and what comes back
// belongs to the caller's request.
func TestNoResendChangesNothingElse(t *testing.T) {
	url, wire := listen(t)
	inner := &http.Transport{}
	base := httpretry.NoResend(inner)
	for _, method := range []string{"", "GET", "HEAD", "OPTIONS", "TRACE", "DELETE", "PUT", "POST", "PATCH", "PROPFIND"} {
		for _, text := range []string{"", "text"} {
			for _, key := range []string{"", "1"} {
				send := func(base http.RoundTripper) string {
					var body io.Reader
					if text != "" {
						body = strings.NewReader(text)
					}
					req, err := http.NewRequestWithContext(t.Context(), method, url, body)
					require.NoError(t, err)
					req.Method = method // NewRequest makes "" GET
					if key != "" {
						req.Header.Set("Idempotency-Key", key)
					}
					before := req.Body
					resp, err := base.RoundTrip(req)
					require.NoError(t, err)
					assert.Same(t, req, resp.Request)
					assert.Equal(t, before, req.Body)
					require.NoError(t, resp.Body.Close())
					return <-wire
				}
				assert.Equal(t, send(inner), send(base), "%s %q %q", method, text, key)
			}
		}
	}
}

// HTTP/2 tells which requests the server has not begun, so net/http goes on to send
// those again.
func TestNoResendLeavesHTTP2Alone(t *testing.T) {
	var streams atomic.Int32
	address := serveH2(t, func(_ int, stream uint32) []byte {
		if streams.Inc() == 1 {
			return frame(frameRSTStream, 0, stream, refusedStream)
		}
		return h2OK(stream)
	})
	inner := h2Transport(nil)
	base := httpretry.NoResend(inner)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	resp, err := base.RoundTrip(req)
	require.NoError(t, err)
	readAll(t, resp)
	assert.EqualValues(t, 2, streams.Load())
	base.(interface{ CloseIdleConnections() }).CloseIdleConnections()

	for name, row := range map[string]struct {
		base *http.Transport
		url  string
		same bool // the request is passed on as it is
	}{
		"https":                {&http.Transport{}, "https://service.test", true},
		"https without HTTP/2": {protocols(func(p *http.Protocols) { p.SetHTTP1(true) }), "https://service.test", false},
		"http":                 {&http.Transport{}, "http://service.test", false},
		"http with both":       {protocols(func(p *http.Protocols) { p.SetHTTP1(true); p.SetUnencryptedHTTP2(true) }), "http://service.test", false},
	} {
		var sent *http.Request
		row.base.Proxy = func(req *http.Request) (*url.URL, error) { sent = req; return nil, io.ErrUnexpectedEOF }
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, row.url, nil)
		require.NoError(t, err)
		_, err = httpretry.NoResend(row.base).RoundTrip(req)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		assert.Equal(t, row.same, sent.Body == nil, name)
	}
}

func protocols(set func(*http.Protocols)) *http.Transport {
	p := new(http.Protocols)
	set(p)
	return &http.Transport{Protocols: p}
}

func TestNoResendMisuse(t *testing.T) {
	assert.PanicsWithValue(t, "reprise/httpretry: NoResend(nil): want the RoundTripper that sends, such as http.DefaultTransport", func() {
		httpretry.NoResend(nil)
	})
	assert.PanicsWithValue(t, "reprise/httpretry: NoResend is given a *httpretry.Transport: want the transport beneath it", func() {
		httpretry.NoResend(newTransport(t, newEngine(t)))
	})
}
