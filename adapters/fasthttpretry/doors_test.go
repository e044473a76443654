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
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// A door is a way into the engine: it makes one call, with whatever retries the
// engine grants. A new one is a line in doors.
type door struct {
	name string
	call func(t *testing.T, ctx context.Context, e *engine.Engine, f *fault, url string)
}

var doors = []door{{"Do", throughDo}, {"net/http", throughHTTP}, {"fasthttp", throughFasthttp}}

// A fault is what goes wrong on the wire, and what each door must make of it.
type fault struct {
	name    string
	script  []script // for one request after the other, then the last again; nil: nobody listens
	method  string   // "": GET
	key     bool     // with an Idempotency-Key
	attempt time.Duration
	bound   time.Duration // the caller's deadline
	hang    bool          // the caller leaves in the first wait
	retryIn bool          // Retry-After counts
	engine  []engine.Option

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

type script func(conn net.Conn) (keep bool)

// say answers with a status, headers (names and values in turn) and a body.
func say(status int, body string, header ...string) script {
	var s strings.Builder
	fmt.Fprintf(&s, "HTTP/1.1 %d %s\r\nContent-Length: %d\r\n", status, http.StatusText(status), len(body))
	for i := 0; i < len(header); i += 2 {
		fmt.Fprintf(&s, "%s: %s\r\n", header[i], header[i+1])
	}
	return raw(s.String()+"\r\n"+body, true)
}

func raw(text string, keep bool) script {
	return func(conn net.Conn) bool {
		_, err := io.WriteString(conn, text)
		return err == nil && keep
	}
}

func hangUp(net.Conn) bool { return false }

func reset(conn net.Conn) bool {
	_ = conn.(*net.TCPConn).SetLinger(0)
	return false
}

// silence reads until the other side is gone.
func silence(conn net.Conn) bool {
	_, _ = io.Copy(io.Discard, conn)
	return false
}

const (
	json = "application/json"
	none = engine.ReasonRetry // why a call that succeeded ended
)

func transient(delay time.Duration) retry {
	return retry{classify.Transient, max(delay, 0), 14}
}

func throttling(delay time.Duration) retry {
	return retry{classify.Throttling, delay, 5}
}

// onDo is why the rows about methods are not for Do.
var onDo = map[string]string{"Do": "its op must be safe to call again"}

// faults is the table. All delays are the ceilings of R4.2, less the next to
// nothing that a draw below 1 takes off.
func faults() []fault {
	ok := say(200, "hello")
	first, second, slow, slower := 50*ms-near, 100*ms-near, time.Second-near, 2*time.Second-near
	once := func(s script) []script { return []script{s, ok} }
	recovers := func(name string, s script, r retry) fault {
		return fault{name: name, script: once(s), retries: []retry{r}, stop: none, left: 500, hits: 2}
	}
	final := func(name string, s script) fault {
		return fault{name: name, script: []script{s}, stop: engine.ReasonNonRetryable, left: 500, hits: 1}
	}
	hint := func(name, value string, delay time.Duration) fault {
		return recovers("x-amz-retry-after "+name, say(503, "", "x-amz-retry-after", value), transient(delay))
	}
	standard := func(name, value string, delay time.Duration) fault {
		f := recovers("Retry-After "+name, say(503, "", "Retry-After", value), transient(delay))
		f.retryIn = true
		return f
	}
	with := func(f fault, change func(*fault)) fault {
		change(&f)
		return f
	}
	const throttled = `{"__type":"com.amazonaws.x#ThrottlingException","message":"slow"}`
	return []fault{
		{name: "nothing", script: []script{ok}, stop: none, left: 500, hits: 1},
		recovers("500", say(500, ""), transient(first)),
		recovers("502", say(502, ""), transient(first)),
		recovers("503", say(503, ""), transient(first)),
		recovers("504", say(504, ""), transient(first)),
		recovers("62: 429", say(429, ""), throttling(slow)),
		recovers("77: 400 with a throttling code in JSON", say(400, throttled, "Content-Type", json), throttling(slow)),
		recovers("77: 400 with a throttling code in XML", say(400, "<Error><Code>SlowDown</Code></Error>", "Content-Type", "text/xml"), throttling(slow)),
		recovers("77: 400 with a throttling code in a header", say(400, "", "X-Amzn-Errortype", "SlowDown:http://x/"), throttling(slow)),
		recovers("400 with a transient code", say(400, `{"code":"RequestTimeout"}`, "Content-Type", json), transient(first)),
		recovers("503 with a throttling code", say(503, throttled, "Content-Type", json), throttling(slow)),
		recovers("a code in a body without a type", say(400, throttled), throttling(slow)),
		final("400", say(400, "no")),
		final("400 with an unknown code", say(400, `{"code":"Odd"}`, "Content-Type", json)),
		final("a code in prose does not count", say(400, throttled, "Content-Type", "text/plain; charset=utf-8")),
		final("a code in a compressed body does not count", say(400, throttled, "Content-Type", json, "Content-Encoding", "br")),
		final("404", say(404, "")),
		final("501", say(501, "")),
		final("112: 413 with a hint", say(413, "", "x-amz-retry-after", "1500")),

		recovers("67: reset before the answer", reset, transient(first)),
		recovers("closed before the answer", hangUp, transient(first)),
		recovers("the head cut between its lines", raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", false), transient(first)),
		with(recovers("74: half a body, then cut", raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", false), transient(first)),
			func(f *fault) { f.differs = map[string]string{"net/http": "a success's body is the caller's to read"} }),
		with(recovers("74: cut between chunks", raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", false), transient(first)),
			func(f *fault) { f.differs = map[string]string{"net/http": "a success's body is the caller's to read"} }),
		recovers("half the body of a 503, then cut", raw("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 10\r\n\r\nhello", false), transient(first)),
		final("not HTTP at all", raw("SSH-2.0-x\r\n\r\n", false)),
		{name: "67: a refused dial", retries: []retry{transient(first), transient(second)}, stop: engine.ReasonMaxAttempts, class: classify.Transient, left: 472},

		with(recovers("95: an attempt that takes too long", silence, transient(first)), func(f *fault) { f.attempt = 40 * ms }),
		{name: "the caller's deadline in an attempt", script: []script{silence}, bound: 40 * ms, stop: engine.ReasonDeadline, class: classify.Transient, left: 500, hits: 1},
		{name: "88, 91: a delay beyond the deadline", script: []script{say(429, "", "x-amz-retry-after", "86400000")}, bound: 5 * time.Second,
			stop: engine.ReasonDeadline, class: classify.Throttling, left: 500, hits: 1},
		{name: "4, 92: cancelled in the wait", script: []script{say(503, "")}, hang: true, retries: []retry{transient(first)},
			stop: engine.ReasonCancelled, class: classify.Transient, left: 500, hits: 1},

		hint("0", "0", first),
		hint("1500", "1500", 1500*ms),
		hint("below the backoff", "10", first),
		hint("106: -1", "-1", first),
		hint("106: 1.5", "1.5", first),
		hint("106: soon", "soon", first),
		hint("106: nothing", "", first),
		hint("106: with blanks", " 1500 ", 1500*ms),
		hint("110: four years", "126230400000", first+5*time.Second),
		hint("107: too large for any integer", strings.Repeat("9", 400), first+5*time.Second),
		with(standard("is an option", "2", first), func(f *fault) { f.retryIn = false }),
		standard("2", "2", 2*time.Second),
		standard("-1", "-1", first),
		standard("1.5", "1.5", first),
		standard("in the past", "Fri, 31 Dec 1999 00:00:00 GMT", first),
		standard("110: four years", "126230400", first+5*time.Second),
		with(standard("by the server's clock", "Sat, 01 Jan 2000 00:00:03 GMT", 3*time.Second),
			func(f *fault) {
				f.script[0] = say(503, "", "Retry-After", "Sat, 01 Jan 2000 00:00:03 GMT", "Date", "Sat, 01 Jan 2000 00:00:00 GMT")
			}),

		{name: "an empty quota", script: []script{say(500, "")}, engine: []engine.Option{engine.WithTokens(13)},
			stop: engine.ReasonQuota, class: classify.Transient, left: 13, hits: 1},
		{name: "attempts used up", script: []script{say(500, "")}, retries: []retry{transient(first), transient(second)},
			stop: engine.ReasonMaxAttempts, class: classify.Transient, left: 472, hits: 3},
		{name: "attempts used up by throttling", script: []script{say(429, "")}, retries: []retry{throttling(slow), throttling(slower)},
			stop: engine.ReasonMaxAttempts, class: classify.Throttling, left: 490, hits: 3},
		{name: "R6.4: a retry that ends for good", script: []script{say(500, ""), say(404, "")}, retries: []retry{transient(first)},
			stop: engine.ReasonNonRetryable, left: 486, hits: 2},
		{name: "one attempt", script: []script{say(500, "")}, engine: []engine.Option{engine.WithMaxAttempts(1)},
			stop: engine.ReasonMaxAttempts, class: classify.Transient, left: 500, hits: 1},
		with(recovers("adaptive mode", say(429, ""), throttling(slow)), func(f *fault) { f.engine = []engine.Option{engine.WithMode(engine.Adaptive)} }),
		with(recovers("legacy mode", say(500, ""), retry{classify.Transient, slow, 0}), func(f *fault) { f.engine = []engine.Option{engine.WithMode(engine.Legacy)} }),

		{name: "115: POST", method: "POST", script: []script{say(503, "")}, stop: engine.ReasonNotReplayable, class: classify.Transient, left: 500, hits: 1, differs: onDo},
		{name: "POST, cut off", method: "POST", script: []script{reset}, stop: engine.ReasonNotReplayable, class: classify.Transient, left: 500, hits: 1, differs: onDo},
		with(recovers("POST with a key", say(503, ""), transient(first)), func(f *fault) { f.method, f.key = "POST", true }),
		with(recovers("PUT", say(503, ""), transient(first)), func(f *fault) { f.method = "PUT" }),
		{name: "POST that nobody listens to", method: "POST", retries: []retry{transient(first), transient(second)}, stop: engine.ReasonMaxAttempts, class: classify.Transient, left: 472},
	}
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
