package httpretry_test

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"sync"
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

func TestNewRefuses(t *testing.T) {
	e := newEngine(t)
	for want, build := range map[string]func() (*httpretry.Transport, error){
		"this one is nil":       func() (*httpretry.Transport, error) { return httpretry.New(nil) },
		"the zero Engine":       func() (*httpretry.Transport, error) { return httpretry.New(new(engine.Engine)) },
		"option 2 of 2 is nil":  func() (*httpretry.Transport, error) { return httpretry.New(e, httpretry.WithAnyMethod(), nil) },
		"WithBase(nil)":         func() (*httpretry.Transport, error) { return httpretry.New(e, httpretry.WithBase(nil)) },
		"retries multiply":      func() (*httpretry.Transport, error) { return httpretry.New(e, httpretry.WithBase(newTransport(t, e))) },
		"WithBodyLimit(-1)":     func() (*httpretry.Transport, error) { return httpretry.New(e, httpretry.WithBodyLimit(-1)) },
		"WithAttemptTimeout(0s": func() (*httpretry.Transport, error) { return httpretry.New(e, httpretry.WithAttemptTimeout(0)) },
		"WithAttemptTimeout(1s, -1ns)": func() (*httpretry.Transport, error) {
			return httpretry.New(e, httpretry.WithAttemptTimeout(time.Second, -1))
		},
		"WithHedge(0s)":         func() (*httpretry.Transport, error) { return httpretry.New(e, httpretry.WithHedge(0)) },
		"WithEngineFor(nil)":    func() (*httpretry.Transport, error) { return httpretry.New(e, httpretry.WithEngineFor(nil)) },
		"WithEngineByHost(nil)": func() (*httpretry.Transport, error) { return httpretry.New(e, httpretry.WithEngineByHost(nil)) },
	} {
		transport, err := build()
		assert.Nil(t, transport, want)
		assert.ErrorContains(t, err, "reprise/httpretry: ", want)
		assert.ErrorContains(t, err, want)
	}
	assert.PanicsWithValue(t, "reprise/httpretry: New needs an engine; this one is nil (engine.New makes one)", func() { httpretry.Client(nil) })
}

// A transport that nobody made fails requests and does not let one through
// without retries; the body is closed all the same.
func TestZeroTransport(t *testing.T) {
	for _, transport := range []*httpretry.Transport{nil, {}} {
		body := opaque("text")
		resp, err := transport.RoundTrip(request(t, t.Context(), http.MethodPut, body))
		assert.Nil(t, resp)
		assert.ErrorContains(t, err, "make one with New")
		assert.Equal(t, 1, body.closed())
		transport.CloseIdleConnections()
	}
}

// Which requests are sent twice, by the kind of failure. Peer fault 67: a
// refused dial is safe for any method, a reset on read is not.
func TestMethods(t *testing.T) {
	key := func(name string, values ...string) func(*http.Request) {
		return func(req *http.Request) { req.Header[name] = values }
	}
	for _, row := range []struct {
		method  string
		prepare func(*http.Request)
		again   bool
	}{
		{"GET", nil, true}, {"", nil, true}, {"HEAD", nil, true}, {"OPTIONS", nil, true},
		{"TRACE", nil, true}, {"PUT", nil, true}, {"DELETE", nil, true},
		{"POST", nil, false}, {"PATCH", nil, false}, {"get", nil, false}, {"LOCK", nil, false},
		{"POST", key("Idempotency-Key", "1"), true},
		{"POST", key("Idempotency-Key"), true},
		{"PATCH", key("X-Idempotency-Key", "1"), true},
	} {
		for _, any := range []bool{false, true} {
			make := func() *http.Request {
				req := request(t, t.Context(), row.method, nil)
				req.Method = row.method
				if row.prepare != nil {
					row.prepare(req)
				}
				return req
			}
			opts := []httpretry.Option{}
			if any {
				opts = append(opts, httpretry.WithAnyMethod())
			}
			attempts := 1
			if row.again || any {
				attempts = 3
			}

			e := newEngine(t, engine.WithClock(noSleep{}))
			b := statuses(503)
			resp, err := newTransport(t, e, append(opts, httpretry.WithBase(b))...).RoundTrip(make())
			require.NoError(t, err)
			assert.Len(t, b.sent, attempts, "%s answered 503", row.method)
			for i := range b.sent[1:] {
				assert.NotSame(t, b.sent[0].req, b.sent[i+1].req, "an attempt may still be busy with the first one")
			}
			r, _ := httpretry.ResultOf(resp)
			if attempts == 1 {
				assert.Equal(t, engine.ReasonNotReplayable, r.Reason)
				assert.ErrorContains(t, r.NotReplayable, row.method+" is not idempotent")
				assert.Equal(t, 500, level(e))
			}

			b = failing(syscall.ECONNRESET)
			_, err = newTransport(t, e, append(opts, httpretry.WithBase(b))...).RoundTrip(make())
			require.ErrorIs(t, err, syscall.ECONNRESET)
			assert.Len(t, b.sent, attempts, "%s was reset", row.method)

			b = failing(dialRefused)
			_, err = newTransport(t, e, append(opts, httpretry.WithBase(b))...).RoundTrip(make())
			require.ErrorIs(t, err, engine.ErrMaxAttempts)
			assert.Len(t, b.sent, 3, "%s was never sent", row.method)
		}
	}
}

// Peer fault 133: a gateway with a body that streams in passes the upstream's
// answer on, after one send.
func TestGateway(t *testing.T) {
	in, out := io.Pipe()
	go func() {
		for range 100 {
			_, _ = out.Write(make([]byte, 1000))
		}
		_ = out.Close()
	}()
	e, b := newEngine(t), answers(func(int) *http.Response { return response(503, "upstream is busy", "X-Upstream", "a") })
	resp, err := newTransport(t, e, httpretry.WithBase(b)).RoundTrip(request(t, t.Context(), http.MethodPost, in))
	require.NoError(t, err)
	assert.Equal(t, 503, resp.StatusCode)
	assert.Equal(t, "a", resp.Header.Get("X-Upstream"))
	assert.Equal(t, "upstream is busy", readAll(t, resp))
	require.Len(t, b.sent, 1)
	assert.Len(t, b.sent[0].body, 100000)
	assert.Equal(t, 500, level(e))
}

// The last answer comes back whole, however the call ended.
func TestLastAnswer(t *testing.T) {
	for reason, opts := range map[engine.Reason][]engine.Option{
		engine.ReasonMaxAttempts: nil,
		engine.ReasonQuota:       {engine.WithTokens(15)},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := answers(func(n int) *http.Response { return response(503, string(rune('0'+n))) })
			resp, err := newTransport(t, newEngine(t, opts...), httpretry.WithBase(b)).RoundTrip(get(t, t.Context()))
			require.NoError(t, err)
			assert.Equal(t, string(rune('0'+len(b.sent))), readAll(t, resp))
			r, ok := httpretry.ResultOf(resp)
			require.True(t, ok)
			assert.Equal(t, reason, r.Reason)
			assert.Equal(t, len(b.sent), r.Attempts)
			assert.False(t, r.Succeeded)
		})
	}
}

// A first failure that is not retryable is the base's own; a later one says how
// often was tried.
func TestUntouched(t *testing.T) {
	odd := errors.New("odd")
	_, err := newTransport(t, newEngine(t), httpretry.WithBase(failing(odd))).RoundTrip(get(t, t.Context()))
	assert.Equal(t, odd, err)

	answer := response(404, "none", "Content-Type", "text/html")
	body := answer.Body
	resp, err := newTransport(t, newEngine(t), httpretry.WithBase(answers(func(int) *http.Response { return answer }))).RoundTrip(get(t, t.Context()))
	require.NoError(t, err)
	assert.Same(t, answer, resp)
	assert.Same(t, body, resp.Body)
	_, ok := httpretry.ResultOf(resp)
	assert.False(t, ok)

	synctest.Test(t, func(t *testing.T) {
		b := &base{answer: func(n int, _ *http.Request) (*http.Response, error) {
			if n == 1 {
				return response(503, ""), nil
			}
			return nil, odd
		}}
		_, err := newTransport(t, newEngine(t), httpretry.WithBase(b)).RoundTrip(get(t, t.Context()))
		var failed *engine.Error
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, odd, failed.Err)
		assert.Equal(t, 2, failed.Attempts)
		assert.Equal(t, engine.ReasonNonRetryable, failed.Reason)

		resp, err := newTransport(t, newEngine(t), httpretry.WithBase(statuses(503, 404))).RoundTrip(get(t, t.Context()))
		require.NoError(t, err)
		r, ok := httpretry.ResultOf(resp)
		require.True(t, ok)
		assert.Equal(t, httpretry.Result{Attempts: 2}, r)
	})
}

// A result belongs to one response: a request made under the same context, or
// with the same request, has its own.
func TestResultIsNotInherited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := newTransport(t, newEngine(t), httpretry.WithBase(statuses(503, 200)))
		resp, err := transport.RoundTrip(get(t, t.Context()))
		require.NoError(t, err)
		r, ok := httpretry.ResultOf(resp)
		require.True(t, ok)
		assert.Equal(t, httpretry.Result{Attempts: 2, Succeeded: true}, r)
		again, err := transport.RoundTrip(resp.Request)
		require.NoError(t, err)
		_, ok = httpretry.ResultOf(again)
		assert.False(t, ok)
	})
	for _, resp := range []*http.Response{nil, {}, {Request: new(http.Request)}} {
		_, ok := httpretry.ResultOf(resp)
		assert.False(t, ok)
	}
}

// A base that breaks RoundTripper's contract is named, and its response closed.
func TestBrokenBase(t *testing.T) {
	_, err := newTransport(t, newEngine(t), httpretry.WithBase(answers(func(int) *http.Response { return nil }))).RoundTrip(get(t, t.Context()))
	assert.EqualError(t, err, "reprise/httpretry: the base RoundTripper, a *httpretry_test.base, returned neither a response nor an error")

	odd, both := errors.New("odd"), response(200, "text")
	body := both.Body.(*trackedBody)
	b := &base{answer: func(int, *http.Request) (*http.Response, error) { return both, odd }}
	resp, err := newTransport(t, newEngine(t), httpretry.WithBase(b)).RoundTrip(get(t, t.Context()))
	assert.Nil(t, resp)
	assert.Equal(t, odd, err)
	assert.Equal(t, 1, body.closed())

	synctest.Test(t, func(t *testing.T) { // without a Body, on each attempt
		b := answers(func(n int) *http.Response {
			return &http.Response{StatusCode: []int{503, 400, 200}[n-1], Header: http.Header{"X-Amzn-Errortype": {"SlowDown"}}}
		})
		resp, err := newTransport(t, newEngine(t), httpretry.WithBase(b)).RoundTrip(get(t, t.Context()))
		require.NoError(t, err)
		assert.Equal(t, 200, resp.StatusCode)
	})
}

// A base that panics ends the call; the panic goes on unchanged.
func TestPanic(t *testing.T) {
	b := roundTripper(func(*http.Request) (*http.Response, error) { panic("odd") })
	e := newEngine(t)
	assert.PanicsWithValue(t, "odd", func() { _, _ = newTransport(t, e, httpretry.WithBase(b)).RoundTrip(get(t, t.Context())) })
	assert.Equal(t, 500, level(e))
}

// Peer faults 121 and 128: a success is one hit, also with informational
// answers before it or a body that takes its time; what is counted is what was
// sent.
func TestHits(t *testing.T) {
	var hits atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		switch r.URL.Path {
		case "/103":
			w.Header().Set("Link", "</style.css>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(200)
		case "/102":
			w.WriteHeader(http.StatusProcessing)
			w.WriteHeader(200)
		case "/304":
			w.WriteHeader(http.StatusNotModified)
		case "/parts":
			for range 3 {
				_, _ = io.WriteString(w, "part")
				w.(http.Flusher).Flush()
			}
		}
	}))
	defer server.Close()
	e := newEngine(t)
	for _, path := range []string{"/", "/103", "/102", "/304", "/parts"} {
		hits.Store(0)
		var early []int
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
			early = append(early, code)
			return nil
		}})
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, nil)
		require.NoError(t, err)
		resp, err := httpretry.Client(e).Do(req)
		require.NoError(t, err)
		readAll(t, resp)
		assert.EqualValues(t, 1, hits.Load(), path)
		if path == "/103" || path == "/102" {
			assert.Len(t, early, 1, path)
		}
	}
	assert.Zero(t, e.Stats().TransientRetries)

	for attempts := 1; attempts <= 3; attempts++ {
		var ev events
		b := statuses([]int{503, 503, 200}[3-attempts:]...)
		resp, err := newTransport(t, newEngine(t, engine.WithClock(noSleep{}), ev.observer()), httpretry.WithBase(b)).RoundTrip(get(t, t.Context()))
		require.NoError(t, err)
		assert.Len(t, b.sent, attempts)
		assert.Equal(t, attempts, ev.success[0].Attempts)
		if r, ok := httpretry.ResultOf(resp); ok {
			assert.Equal(t, attempts, r.Attempts)
		}
	}
}

// 101 comes back as it is, its connection to read from and write to, also under
// a time-out for attempts.
func TestSwitchingProtocols(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = rw.Flush()
		line, _ := rw.ReadString('\n')
		_, _ = rw.WriteString("echo " + line)
		_ = rw.Flush()
	}))
	defer server.Close()
	for _, opts := range [][]httpretry.Option{nil, {httpretry.WithAttemptTimeout(time.Minute)}} {
		req, err := http.NewRequest(http.MethodGet, server.URL, nil)
		require.NoError(t, err)
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "echo")
		resp, err := newTransport(t, newEngine(t), opts...).RoundTrip(req)
		require.NoError(t, err)
		assert.Equal(t, http.StatusSwitchingProtocols, resp.StatusCode)
		conn, ok := resp.Body.(io.ReadWriteCloser)
		require.True(t, ok)
		_, err = io.WriteString(conn, "hello\n")
		require.NoError(t, err)
		line, err := bufio.NewReader(conn).ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, "echo hello\n", line)
		require.NoError(t, conn.Close())
	}
}

// CONNECT opens a tunnel: it is passed on, and what comes back is passed back.
func TestConnect(t *testing.T) {
	answer := response(503, "")
	b := answers(func(int) *http.Response { return answer })
	e := newEngine(t)
	req := request(t, t.Context(), http.MethodConnect, nil)
	resp, err := newTransport(t, e, httpretry.WithBase(b), httpretry.WithAWSHeaders(), httpretry.WithAttemptTimeout(time.Minute)).RoundTrip(req)
	require.NoError(t, err)
	assert.Same(t, answer, resp)
	assert.Same(t, req, b.sent[0].req)
	assert.Zero(t, e.Stats().Stops)
}

// A redirect is a success here and the client's to follow; each hop is a call.
func TestRedirect(t *testing.T) {
	b := &base{answer: func(n int, req *http.Request) (*http.Response, error) {
		switch {
		case req.URL.Path == "/path":
			return response(307, "", "Location", "/there"), nil
		case n == 2:
			return response(503, ""), nil
		}
		return response(200, "there"), nil
	}}
	resp, err := httpretry.Client(newEngine(t, engine.WithClock(noSleep{})), httpretry.WithBase(b)).Do(get(t, t.Context()))
	require.NoError(t, err)
	assert.Equal(t, "there", readAll(t, resp))
	assert.Len(t, b.sent, 3)
	r, ok := httpretry.ResultOf(resp)
	require.True(t, ok)
	assert.Equal(t, 2, r.Attempts)
}

type idleCloser struct {
	http.RoundTripper
	closed int
}

func (c *idleCloser) CloseIdleConnections() { c.closed++ }

func TestCloseIdleConnections(t *testing.T) {
	inner := &idleCloser{RoundTripper: statuses(200)}
	httpretry.Client(newEngine(t), httpretry.WithBase(inner)).CloseIdleConnections()
	assert.Equal(t, 1, inner.closed)
	httpretry.Client(newEngine(t), httpretry.WithBase(statuses(200))).CloseIdleConnections()
}

// Many goroutines, one Transport: every call has its own body and attempts, and
// the tokens add up.
func TestConcurrentCalls(t *testing.T) {
	const calls = 200
	e := newEngine(t, engine.WithClock(noSleep{}), engine.WithQuota(engine.Quota{Capacity: 1 << 20}))
	var failed sync.Map
	transport := newTransport(t, e, httpretry.WithAWSHeaders(), httpretry.WithAttemptTimeout(time.Minute), httpretry.WithBase(roundTripper(func(req *http.Request) (*http.Response, error) {
		text, err := io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, err
		}
		id := req.Header.Get("Amz-Sdk-Invocation-Id")
		if _, again := failed.LoadOrStore(id, true); !again {
			return response(503, throttled, "Content-Type", "application/json"), nil
		}
		return response(200, string(text)), nil
	})))
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			text := string(rune('a' + i%26))
			resp, err := transport.RoundTrip(request(t, t.Context(), http.MethodPut, opaque(text)))
			if assert.NoError(t, err) {
				got, _ := io.ReadAll(resp.Body)
				assert.Equal(t, text, string(got))
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, calls, e.Stats().Recoveries)
	assert.Equal(t, 1<<20, level(e))
}
