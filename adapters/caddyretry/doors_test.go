package caddyretry_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/caddyretry"
	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// A door is a way into the engine: it makes one call, with whatever retries the
// engine grants, and returns the level of the quota. A new one is a line in doors.
type door struct {
	name string
	call func(t *testing.T, ctx context.Context, f *fault, addr string, opts []engine.Option) (left int)
}

var doors = []door{{"Do", throughDo}, {"net/http", throughHTTP}, {"Caddy", throughCaddy}}

// A fault is what goes wrong on the wire, and what each door must make of it.
type fault struct {
	name    string
	script  []script // for one request after the other, then the last again; nil: nobody listens
	method  string   // "": GET
	key     bool     // with an Idempotency-Key
	attempt time.Duration
	bound   time.Duration // the call's deadline
	hang    bool          // the caller leaves in the first wait
	retryIn bool          // Retry-After counts
	mode    engine.Mode
	most    int // attempts; 0: the default
	tokens  int // at the start; 0: all

	retries []retry
	stop    engine.Reason // ReasonRetry: the call succeeds
	class   classify.Class
	left    int // tokens
	hits    int // requests that arrived
	// differs says for a door why the row is not for it.
	differs map[string]string
}

// retry is a retry that was granted.
type retry struct {
	class classify.Class
	delay time.Duration
	cost  int
}

// Peer fault 130: one table for all doors. The same fault has the same class, the
// same delay and the same price, and ends for the same reason, whichever door a
// call goes through; and as many requests arrive.
func TestDoorsAgree(t *testing.T) {
	for _, f := range faults() {
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
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	clock := &leap{hang: f.hang, leave: func() {
		if f.hang {
			leave()
		}
	}}
	var ev events
	opts := []engine.Option{engine.WithSource(fastbackoff.Fixed(1)), engine.WithClock(clock), ev.observer()}
	if f.tokens > 0 {
		opts = append(opts, engine.WithTokens(f.tokens))
	}
	addr, hits := freeAddr(t), func() int { return 0 }
	if f.script != nil {
		w := serveWire(t, inTurn(f.script...))
		addr, hits = w.addr, w.hits
	}

	left := d.call(t, ctx, f, addr, opts)

	ev.mu.Lock()
	defer ev.mu.Unlock()
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
	assert.Equal(t, f.left, left)
	assert.Equal(t, f.hits, hits())
}

func (f *fault) verb() string {
	if f.method == "" {
		return http.MethodGet
	}
	return f.method
}

func (f *fault) request(t *testing.T, ctx context.Context, url string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, f.verb(), url, nil)
	require.NoError(t, err)
	if f.key {
		req.Header.Set("Idempotency-Key", "1")
	}
	return req
}

// engine is what Do and net/http are given.
func (f *fault) engine(t *testing.T, opts []engine.Option) *engine.Engine {
	opts = append(opts, engine.WithMode(f.mode))
	if f.most > 0 {
		opts = append(opts, engine.WithMaxAttempts(f.most))
	}
	e, err := engine.New(opts...)
	require.NoError(t, err)
	return e
}

// bounded is a context with the row's deadline, if it has one.
func (f *fault) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if f.bound > 0 {
		return context.WithTimeout(ctx, f.bound)
	}
	return context.WithCancel(ctx)
}

// throughCaddy is the door of this package, with a whole Caddy around it.
func throughCaddy(t *testing.T, ctx context.Context, f *fault, addr string, opts []engine.Option) int {
	caddyretry.SetEngineOptions(t, opts...)
	block := "mode " + f.mode.String() + "\n"
	if f.most > 0 {
		block += fmt.Sprintf("max_attempts %d\n", f.most)
	}
	if f.attempt > 0 {
		block += fmt.Sprintf("attempt_timeout %v\n", f.attempt)
	}
	if f.bound > 0 {
		block += fmt.Sprintf("timeout %v\n", f.bound)
	}
	if f.retryIn {
		block += "standard_retry_after\n"
	}
	s := serve(t, proxy(addr, block))
	resp, err := client(t).Do(f.request(t, ctx, s.url("/")))
	if f.hang {
		require.ErrorIs(t, err, context.Canceled)
		s.logged(`"status":499`) // and the call is over
		return engineOf(t, addr).Stats().QuotaLevel
	}
	require.NoError(t, err, "a proxy answers")
	body, _ := io.ReadAll(resp.Body)
	require.NoError(t, resp.Body.Close())
	if f.stop == none {
		assert.Equal(t, "hello", string(body))
	}
	return engineOf(t, addr).Stats().QuotaLevel
}

func throughHTTP(t *testing.T, ctx context.Context, f *fault, addr string, opts []engine.Option) int {
	ctx, stop := f.bounded(ctx)
	defer stop()
	door := []httpretry.Option{httpretry.WithBase(client(t).Transport)}
	if f.attempt > 0 {
		door = append(door, httpretry.WithAttemptTimeout(f.attempt))
	}
	if f.retryIn {
		door = append(door, httpretry.WithStandardRetryAfter())
	}
	e := f.engine(t, opts)
	resp, err := httpretry.Client(e, door...).Do(f.request(t, ctx, "http://"+addr+"/"))
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
	return e.Stats().QuotaLevel
}

// throughDo is what a user of engine.Do writes: an answer that is a failure
// becomes an error that says so.
func throughDo(t *testing.T, ctx context.Context, f *fault, addr string, opts []engine.Option) int {
	ctx, stop := f.bounded(ctx)
	defer stop()
	e, c := f.engine(t, opts), client(t)
	body, err := engine.Do(ctx, e, func(ctx context.Context) (string, error) {
		if f.attempt > 0 {
			bounded, stop := context.WithTimeout(ctx, f.attempt)
			defer stop()
			ctx = bounded
		}
		resp, err := c.Do(f.request(t, ctx, "http://"+addr+"/"))
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if resp.StatusCode >= 400 {
			return "", answerOf(f, resp, string(body))
		}
		return string(body), err
	})
	if f.stop == none {
		require.NoError(t, err)
		assert.Equal(t, "hello", body)
	}
	return e.Stats().QuotaLevel
}

// failedAnswer is an answer as an error.
type failedAnswer struct {
	status int
	code   string
	after  time.Duration
}

func answerOf(f *fault, resp *http.Response, body string) error {
	a := &failedAnswer{status: resp.StatusCode, code: resp.Header.Get("X-Amzn-Errortype")}
	if a.code == "" && resp.Header.Get("Content-Encoding") == "" && !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") {
		for _, code := range []string{"ThrottlingException", "SlowDown", "RequestTimeout", "Odd"} {
			if strings.Contains(body, code) {
				a.code = code
			}
		}
	}
	if a.after = engine.ParseRetryAfter(resp.Header.Get("X-Amz-Retry-After")); a.after == 0 && f.retryIn {
		a.after = 1000 * engine.ParseRetryAfter(resp.Header.Get("Retry-After"))
	}
	return a
}

func (a *failedAnswer) Error() string             { return fmt.Sprintf("status %d %s", a.status, a.code) }
func (a *failedAnswer) HTTPStatusCode() int       { return a.status }
func (a *failedAnswer) ErrorCode() string         { return a.code }
func (a *failedAnswer) RetryAfter() time.Duration { return a.after }
