package fasthttpretry_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"

	"github.com/reprise-go/reprise/adapters/fasthttpretry"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

const (
	ms = time.Millisecond
	// near is what a draw as near to 1 as there is takes off a ceiling.
	near = time.Nanosecond
)

// newEngine's delays are their ceilings, less near.
func newEngine(tb testing.TB, opts ...engine.Option) *engine.Engine {
	tb.Helper()
	e, err := engine.New(append([]engine.Option{engine.WithSource(fastbackoff.Fixed(1))}, opts...)...)
	require.NoError(tb, err)
	return e
}

// quick is newEngine without waits.
func quick(tb testing.TB, opts ...engine.Option) *engine.Engine {
	return newEngine(tb, append(opts, engine.WithClock(noSleep{}))...)
}

func newClient(tb testing.TB, e *engine.Engine, beneath fasthttpretry.Doer, opts ...fasthttpretry.Option) *fasthttpretry.Client {
	tb.Helper()
	c, err := fasthttpretry.New(e, beneath, opts...)
	require.NoError(tb, err)
	return c
}

func level(e *engine.Engine) int { return e.Stats().QuotaLevel }

// noSleep is a clock whose waits take no time.
type noSleep struct{}

func (noSleep) Now() time.Time                                        { return time.Now() }
func (noSleep) Sleep(context.Context, time.Duration, <-chan struct{}) {}

// sent is an attempt as it came to the doer.
type sent struct {
	at       time.Time
	deadline time.Time // zero: none
	body     string
	header   map[string]string
}

// doer answers in place of a network, and notes what came.
type doer struct {
	answer func(n int, resp *fasthttp.Response) error // n from 1
	mu     sync.Mutex
	sent   []sent
}

func (d *doer) Do(req *fasthttp.Request, resp *fasthttp.Response) error {
	return d.DoDeadline(req, resp, time.Time{})
}

func (d *doer) DoTimeout(req *fasthttp.Request, resp *fasthttp.Response, t time.Duration) error {
	return d.DoDeadline(req, resp, time.Now().Add(t))
}

func (d *doer) DoDeadline(req *fasthttp.Request, resp *fasthttp.Response, deadline time.Time) error {
	header := make(map[string]string)
	for k, v := range req.Header.All() {
		header[string(k)] = string(v)
	}
	d.mu.Lock()
	d.sent = append(d.sent, sent{time.Now(), deadline, string(req.Body()), header})
	n := len(d.sent)
	d.mu.Unlock()
	return d.answer(n, resp)
}

// statuses answers with one status after the other, then with the last.
func statuses(list ...int) *doer {
	return &doer{answer: func(n int, resp *fasthttp.Response) error {
		resp.SetStatusCode(list[min(n, len(list))-1])
		return nil
	}}
}

// failing fails always with err.
func failing(err error) *doer {
	return &doer{answer: func(int, *fasthttp.Response) error { return err }}
}

// get returns a request and a response that live as long as the test.
func get(tb testing.TB, url string) (*fasthttp.Request, *fasthttp.Response) {
	return request(tb, fasthttp.MethodGet, url)
}

func request(tb testing.TB, method, url string) (*fasthttp.Request, *fasthttp.Response) {
	tb.Helper()
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	tb.Cleanup(func() { fasthttp.ReleaseRequest(req); fasthttp.ReleaseResponse(resp) })
	req.Header.SetMethod(method)
	req.SetRequestURI(url)
	return req, resp
}

// inMemory serves handler over a listener without sockets and returns a client
// for it.
func inMemory(tb testing.TB, handler fasthttp.RequestHandler) *fasthttp.HostClient {
	tb.Helper()
	ln := fasthttputil.NewInmemoryListener()
	server := &fasthttp.Server{Handler: handler}
	go func() { _ = server.Serve(ln) }()
	client := &fasthttp.HostClient{
		Addr:                      "service.test",
		MaxIdemponentCallAttempts: 1,
		Dial:                      func(string) (net.Conn, error) { return ln.Dial() },
	}
	tb.Cleanup(func() {
		client.CloseIdleConnections()
		_ = ln.Close()
	})
	return client
}

// wire is a server that does with connections as it is told, on 127.0.0.1.
type wire struct {
	url  string // without a slash at the end
	addr string
	mu   sync.Mutex
	hits int
}

// serveWire calls script for each request that has been read, with its number
// from 1; the connection is kept for another one if script says so.
func serveWire(tb testing.TB, script func(n int, conn net.Conn, req *http.Request) (keep bool)) *wire {
	tb.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(tb, err)
	w := &wire{url: "http://" + ln.Addr().String(), addr: ln.Addr().String()}
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	running.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
				r := bufio.NewReader(conn)
				for {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					if !script(w.hit(), conn, req) {
						return
					}
				}
			})
		}
	})
	tb.Cleanup(func() {
		stop()
		_ = ln.Close()
		running.Wait()
	})
	return w
}

func (w *wire) hit() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hits++
	return w.hits
}

func (w *wire) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hits
}

// once is fasthttp's client with its own retries off.
func once(tb testing.TB) *fasthttp.Client {
	c := &fasthttp.Client{MaxIdemponentCallAttempts: 1}
	tb.Cleanup(c.CloseIdleConnections)
	return c
}

// events notes what the engine decided.
type events struct {
	mu      sync.Mutex
	retries []engine.RetryEvent
	stops   []engine.StopEvent
	success []engine.SuccessEvent
}

func (ev *events) observer() engine.Option {
	return engine.WithObserver(engine.Observer{
		Retry:   func(e engine.RetryEvent) { ev.mu.Lock(); ev.retries = append(ev.retries, e); ev.mu.Unlock() },
		Stop:    func(e engine.StopEvent) { ev.mu.Lock(); ev.stops = append(ev.stops, e); ev.mu.Unlock() },
		Success: func(e engine.SuccessEvent) { ev.mu.Lock(); ev.success = append(ev.success, e); ev.mu.Unlock() },
	})
}
