package fasthttpretry_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/fasthttpretry"
	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// A door is a way into the engine: it makes one call, with whatever retries the
// engine grants. A new one is a line in doors.
type door struct {
	name string
	call func(t *testing.T, ctx context.Context, e *engine.Engine, f *fault, url string)
}

var doors = []door{{"Do", throughDo}, {"net/http", throughHTTP}, {"fasthttp", throughFasthttp}}

// Peer fault 130: one table for all doors. The same fault has the same class, the
// same delay and the same price, and ends for the same reason, whichever door a
// call goes through; and as many requests arrive.
func TestDoorsAgree(t *testing.T) {
	for _, f := range append(faults(), oddFaults()...) {
		t.Run(f.name, func(t *testing.T) {
			for _, d := range doors {
				if f.differs[d.name] != "" {
					continue
				}
				t.Run(d.name, func(t *testing.T) { f.through(t, d) })
			}
		})
	}
}

func (f *fault) through(t *testing.T, d door) {
	ctx := t.Context()
	if f.bound > 0 {
		bounded, stop := context.WithTimeout(ctx, f.bound)
		defer stop()
		ctx = bounded
	}
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	clock := &leap{leave: func() {
		if f.hang {
			leave()
		}
	}}
	var ev events
	e := newEngine(t, append([]engine.Option{engine.WithClock(clock), ev.observer()}, f.engine...)...)
	w := f.serve(t)

	d.call(t, ctx, e, f, w.url)

	var retries []retry
	for _, r := range ev.retries {
		retries = append(retries, retry{r.Class, r.Delay, r.Cost})
	}
	assert.Equal(t, f.retries, retries)
	if f.stop == none {
		assert.Empty(t, ev.stops)
		require.Len(t, ev.success, 1)
		assert.Equal(t, max(f.hits, 1), ev.success[0].Attempts)
	} else {
		require.Len(t, ev.stops, 1)
		assert.Empty(t, ev.success)
		assert.Equal(t, f.stop.String(), ev.stops[0].Reason.String())
		assert.Equal(t, f.class, ev.stops[0].Class)
	}
	assert.Equal(t, f.left, level(e))
	assert.Equal(t, f.hits, w.count())
}

func (f *fault) serve(t *testing.T) *wire {
	if f.script == nil {
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		require.NoError(t, err)
		w := &wire{url: "http://" + ln.Addr().String()}
		require.NoError(t, ln.Close())
		return w
	}
	return serveWire(t, func(n int, conn net.Conn, _ *http.Request) bool {
		return f.script[min(n, len(f.script))-1](conn)
	})
}

func (f *fault) verb() string {
	if f.method == "" {
		return http.MethodGet
	}
	return f.method
}

// leap is a clock on which waits are over at once.
type leap struct {
	mu    sync.Mutex
	ahead time.Duration
	leave func() // called in each wait
}

func (c *leap) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *leap) Sleep(_ context.Context, d time.Duration, _ <-chan struct{}) {
	c.mu.Lock()
	c.ahead += d
	c.mu.Unlock()
	c.leave()
}

// throughFasthttp is the door of this package.
func throughFasthttp(t *testing.T, ctx context.Context, e *engine.Engine, f *fault, url string) {
	var opts []fasthttpretry.Option
	if f.attempt > 0 {
		opts = append(opts, fasthttpretry.WithAttemptTimeout(f.attempt))
	}
	if f.retryIn {
		opts = append(opts, fasthttpretry.WithStandardRetryAfter())
	}
	req, resp := request(t, f.verb(), url)
	if f.key {
		req.Header.Set("Idempotency-Key", "1")
	}
	_, err := newClient(t, e, once(t), opts...).DoContext(ctx, req, resp)
	if f.stop == none {
		require.NoError(t, err)
		assert.Equal(t, "hello", string(resp.Body()))
	}
}

func throughHTTP(t *testing.T, ctx context.Context, e *engine.Engine, f *fault, url string) {
	opts := []httpretry.Option{httpretry.WithBase(oneShot(t))}
	if f.attempt > 0 {
		opts = append(opts, httpretry.WithAttemptTimeout(f.attempt))
	}
	if f.retryIn {
		opts = append(opts, httpretry.WithStandardRetryAfter())
	}
	resp, err := httpretry.Client(e, opts...).Do(f.request(t, ctx, url))
	if f.stop == none {
		require.NoError(t, err)
	}
	if err == nil {
		body, _ := io.ReadAll(resp.Body)
		require.NoError(t, resp.Body.Close())
		if f.stop == none {
			assert.Equal(t, "hello", string(body))
		}
	}
}

// throughDo is what a user of engine.Do writes: an answer that is a failure
// becomes an error that says so.
func throughDo(t *testing.T, ctx context.Context, e *engine.Engine, f *fault, url string) {
	client := &http.Client{Transport: oneShot(t)}
	body, err := engine.Do(ctx, e, func(ctx context.Context) (string, error) {
		if f.attempt > 0 {
			bounded, stop := context.WithTimeout(ctx, f.attempt)
			defer stop()
			ctx = bounded
		}
		resp, err := client.Do(f.request(t, ctx, url))
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if resp.StatusCode >= 400 {
			return "", answerOf(f, resp, body)
		}
		return string(body), err
	})
	if f.stop == none {
		require.NoError(t, err)
		assert.Equal(t, "hello", body)
	}
}

func (f *fault) request(t *testing.T, ctx context.Context, url string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, f.verb(), url, nil)
	require.NoError(t, err)
	if f.key {
		req.Header.Set("Idempotency-Key", "1")
	}
	return req
}

// oneShot is a transport that has no old connection to be wrong about.
func oneShot(t *testing.T) http.RoundTripper {
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// failedAnswer is an answer as an error.
type failedAnswer struct {
	status int
	code   string
	after  time.Duration
}

func answerOf(f *fault, resp *http.Response, body []byte) error {
	a := &failedAnswer{status: resp.StatusCode, code: resp.Header.Get("X-Amzn-Errortype")}
	kind := resp.Header.Get("Content-Type")
	if a.code == "" && resp.Header.Get("Content-Encoding") == "" && !strings.HasPrefix(kind, "text/plain") {
		for _, code := range []string{"ThrottlingException", "SlowDown", "RequestTimeout", "Odd"} {
			if strings.Contains(string(body), code) {
				a.code = code
			}
		}
	}
	a.after = engine.ParseRetryAfter(resp.Header.Get("X-Amz-Retry-After"))
	if a.after == 0 && f.retryIn {
		if at, err := http.ParseTime(resp.Header.Get("Retry-After")); err == nil {
			from, err := http.ParseTime(resp.Header.Get("Date"))
			if err != nil {
				from = time.Now()
			}
			a.after = at.Sub(from)
		} else {
			a.after = 1000 * engine.ParseRetryAfter(resp.Header.Get("Retry-After"))
		}
	}
	return a
}

func (a *failedAnswer) Error() string             { return fmt.Sprintf("status %d %s", a.status, a.code) }
func (a *failedAnswer) HTTPStatusCode() int       { return a.status }
func (a *failedAnswer) ErrorCode() string         { return a.code }
func (a *failedAnswer) RetryAfter() time.Duration { return a.after }
