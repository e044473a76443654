package upstreams_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/adapters/fasthttpretry"
	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// ask is a request of a test's.
type ask struct {
	method string // GET if empty
	url    string
	body   string
	call   string // X-Call; a number of its own if empty
	key    string // Idempotency-Key
}

// answer is what a caller gets.
type answer struct {
	status  int // 0 if there was no answer
	body    string
	bodyErr error // what the body ended with instead of its end
	header  func(name string) string
	err     error

	attempts int
	reason   engine.Reason
	class    classify.Class
}

// sender is a door that is open.
type sender func(ctx context.Context, a ask) answer

// door is a way from a caller to an upstream.
type door struct {
	name string
	// open makes a client of its own; attemptTimeout of zero is none.
	open func(t testing.TB, e *engine.Engine, attemptTimeout time.Duration) sender
	// mends says that the client beneath takes another connection by itself if
	// the one that it kept alive turns out to be dead, which is no attempt.
	mends bool
	// streams says that the answer is handed out before its body has been read.
	streams bool
}

var doors = []door{
	{"net-http", openHTTP, true, true},
	{"fasthttp", openFasthttp, false, false},
}

// steady are the doors whose requests are all paid for: beneath them nothing is sent
// again, however often an upstream hangs up on a connection that was kept alive.
var steady = []door{
	{"net-http", openSteady, false, true},
	{"fasthttp", openFasthttp, false, false},
}

// throughEach runs a test through each door.
func throughEach(t *testing.T, test func(t *testing.T, d door)) {
	for _, d := range doors {
		t.Run(d.name, func(t *testing.T) { test(t, d) })
	}
}

var calls atomic.Int64

func (a *ask) complete() {
	if a.method == "" {
		a.method = http.MethodGet
	}
	if a.call == "" {
		a.call = fmt.Sprint("call-", calls.Inc())
	}
}

func openHTTP(t testing.TB, e *engine.Engine, attemptTimeout time.Duration) sender {
	return openOver(t, e, attemptTimeout, transport(t))
}

func openSteady(t testing.TB, e *engine.Engine, attemptTimeout time.Duration) sender {
	base := transport(t)
	base.IdleConnTimeout = 900 * time.Millisecond // after a second NoResend takes another connection, unpaid
	return openOver(t, e, attemptTimeout, httpretry.NoResend(base))
}

func transport(t testing.TB) *http.Transport {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConnsPerHost = 64
	t.Cleanup(base.CloseIdleConnections)
	return base
}

func openOver(t testing.TB, e *engine.Engine, attemptTimeout time.Duration, base http.RoundTripper) sender {
	opts := []httpretry.Option{httpretry.WithBase(base)}
	if attemptTimeout > 0 {
		opts = append(opts, httpretry.WithAttemptTimeout(attemptTimeout))
	}
	return sendHTTP(t, httpretry.Client(e, opts...))
}

// sendHTTP sends through a client of net/http, with the door in it or elsewhere.
func sendHTTP(t testing.TB, client *http.Client) sender {
	return func(ctx context.Context, a ask) answer {
		a.complete()
		req, err := http.NewRequestWithContext(ctx, a.method, a.url, strings.NewReader(a.body))
		require.NoError(t, err)
		req.Header.Set("X-Call", a.call)
		if a.key != "" {
			req.Header.Set("Idempotency-Key", a.key)
		}
		resp, err := client.Do(req)
		if err != nil {
			return failed(err)
		}
		defer resp.Body.Close()
		body, bodyErr := io.ReadAll(resp.Body)
		got := answer{status: resp.StatusCode, body: string(body), bodyErr: bodyErr, header: resp.Header.Get, attempts: 1}
		if r, ok := httpretry.ResultOf(resp); ok {
			got.attempts, got.reason, got.class = r.Attempts, r.Reason, r.Class
		}
		return got
	}
}

func openFasthttp(t testing.TB, e *engine.Engine, attemptTimeout time.Duration) sender {
	beneath := &fasthttp.Client{MaxIdemponentCallAttempts: 1, MaxConnsPerHost: 4096}
	t.Cleanup(beneath.CloseIdleConnections)
	var opts []fasthttpretry.Option
	if attemptTimeout > 0 {
		opts = append(opts, fasthttpretry.WithAttemptTimeout(attemptTimeout))
	}
	client, err := fasthttpretry.New(e, beneath, opts...)
	require.NoError(t, err)
	return func(ctx context.Context, a ask) answer {
		a.complete()
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		defer fasthttp.ReleaseRequest(req)
		defer fasthttp.ReleaseResponse(resp)
		req.SetRequestURI(a.url)
		req.Header.SetMethod(a.method)
		req.SetBodyString(a.body)
		req.Header.Set("X-Call", a.call)
		if a.key != "" {
			req.Header.Set("Idempotency-Key", a.key)
		}
		r, err := client.DoContext(ctx, req, resp)
		got := answer{attempts: r.Attempts, reason: r.Reason, class: r.Class}
		if err != nil {
			got.err = err
			return got
		}
		header := make(map[string]string)
		for name, value := range resp.Header.All() {
			header[http.CanonicalHeaderKey(string(name))] = string(value)
		}
		got.status, got.body = resp.StatusCode(), string(resp.Body())
		got.header = func(name string) string { return header[http.CanonicalHeaderKey(name)] }
		return got
	}
}

// failed is the answer of a call that got none.
func failed(err error) answer {
	got := answer{err: err, attempts: 1}
	var e *engine.Error
	if errors.As(err, &e) {
		got.attempts, got.reason, got.class = e.Attempts, e.Reason, e.Class
	}
	return got
}

// watched is an engine whose delays take no time and are written down.
type watched struct {
	*engine.Engine
	mu      sync.Mutex
	delays  []time.Duration
	costs   []int
	onRetry func()
}

// watch makes one. Draws are half of the ceiling unless opts say otherwise.
func watch(t testing.TB, opts ...engine.Option) *watched {
	t.Helper()
	w := &watched{onRetry: func() {}}
	e, err := engine.New(append([]engine.Option{
		engine.WithSource(fastbackoff.Fixed(0.5)),
		engine.WithClock(leap{}),
		engine.WithObserver(engine.Observer{Retry: func(e engine.RetryEvent) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.delays, w.costs = append(w.delays, e.Delay), append(w.costs, e.Cost)
			w.onRetry()
		}}),
	}, opts...)...)
	require.NoError(t, err)
	w.Engine = e
	return w
}

func (w *watched) tokens() int { return w.Stats().QuotaLevel }

// leap is a clock whose sleeps are over at once.
type leap struct{}

func (leap) Now() time.Time                                        { return time.Now() }
func (leap) Sleep(context.Context, time.Duration, <-chan struct{}) {}
