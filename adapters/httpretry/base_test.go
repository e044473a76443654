package httpretry_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/httpretry"
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

func newTransport(tb testing.TB, e *engine.Engine, opts ...httpretry.Option) *httpretry.Transport {
	tb.Helper()
	transport, err := httpretry.New(e, opts...)
	require.NoError(tb, err)
	return transport
}

func level(e *engine.Engine) int { return e.Stats().QuotaLevel }

// sent is a request as it came to the base.
type sent struct {
	at     time.Time
	header http.Header
	body   string
	req    *http.Request
}

// base answers in place of a network: it reads and closes the body, as a
// RoundTripper must, and notes what came.
type base struct {
	answer func(n int, req *http.Request) (*http.Response, error) // n from 1
	mu     sync.Mutex
	sent   []sent
}

func (b *base) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	b.mu.Lock()
	b.sent = append(b.sent, sent{time.Now(), req.Header.Clone(), string(body), req})
	n := len(b.sent)
	b.mu.Unlock()
	resp, err := b.answer(n, req)
	if resp != nil && resp.Request == nil {
		resp.Request = req
	}
	return resp, err
}

// statuses answers with one status after the other, then with the last.
func statuses(list ...int) *base {
	return answers(func(n int) *http.Response { return response(list[min(n, len(list))-1], "") })
}

func answers(f func(n int) *http.Response) *base {
	return &base{answer: func(n int, _ *http.Request) (*http.Response, error) { return f(n), nil }}
}

// failing fails always with err.
func failing(err error) *base {
	return &base{answer: func(int, *http.Request) (*http.Response, error) { return nil, err }}
}

// roundTripper is a base made of a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// noSleep is a clock whose waits take no time.
type noSleep struct{}

func (noSleep) Now() time.Time                                        { return time.Now() }
func (noSleep) Sleep(context.Context, time.Duration, <-chan struct{}) {}

// dialRefused proves that nothing was sent.
var dialRefused = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}

// response has a body that tells whether it was closed; header holds names and
// values in turn.
func response(status int, body string, header ...string) *http.Response {
	h := make(http.Header)
	for i := 0; i < len(header); i += 2 {
		h.Add(header[i], header[i+1])
	}
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h,
		ContentLength: int64(len(body)), Body: &trackedBody{Reader: strings.NewReader(body)},
	}
}

// trackedBody tells whether it was closed.
type trackedBody struct {
	io.Reader
	mu     sync.Mutex
	closes int
}

func (b *trackedBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closes++
	return nil
}

func (b *trackedBody) closed() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closes
}

func get(tb testing.TB, ctx context.Context) *http.Request {
	tb.Helper()
	return request(tb, ctx, http.MethodGet, nil)
}

func request(tb testing.TB, ctx context.Context, method string, body io.Reader) *http.Request {
	tb.Helper()
	req, err := http.NewRequestWithContext(ctx, method, "http://service.test/path", body)
	require.NoError(tb, err)
	return req
}

// opaque returns a body that http.NewRequest has no GetBody for.
func opaque(text string) *trackedBody {
	return &trackedBody{Reader: bytes.NewBufferString(text)}
}

func readAll(tb testing.TB, resp *http.Response) string {
	tb.Helper()
	text, err := io.ReadAll(resp.Body)
	require.NoError(tb, err)
	require.NoError(tb, resp.Body.Close())
	return string(text)
}

// events notes what the engine decided.
type events struct {
	mu      sync.Mutex
	retries []engine.RetryEvent
	stops   []engine.StopEvent
	success []engine.SuccessEvent
	hedges  []engine.HedgeEvent
}

func (ev *events) observer() engine.Option {
	return engine.WithObserver(engine.Observer{
		Retry:   func(e engine.RetryEvent) { ev.mu.Lock(); ev.retries = append(ev.retries, e); ev.mu.Unlock() },
		Stop:    func(e engine.StopEvent) { ev.mu.Lock(); ev.stops = append(ev.stops, e); ev.mu.Unlock() },
		Hedge:   func(e engine.HedgeEvent) { ev.mu.Lock(); ev.hedges = append(ev.hedges, e); ev.mu.Unlock() },
		Success: func(e engine.SuccessEvent) { ev.mu.Lock(); ev.success = append(ev.success, e); ev.mu.Unlock() },
	})
}
