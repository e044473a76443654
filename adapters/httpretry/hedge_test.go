package httpretry_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// step is what an attempt does: after a time, an answer or an error.
type step struct {
	after  time.Duration
	status int
	err    error
}

// steps plays one step for each attempt, the last one for all further; an attempt
// whose context ends fails with that. It notes the bodies it gave out and what
// became of the contexts.
type steps struct {
	list   []step
	mu     sync.Mutex
	sent   []sent
	bodies []*trackedBody
}

func (s *steps) RoundTrip(req *http.Request) (*http.Response, error) {
	var text []byte
	if req.Body != nil {
		text, _ = io.ReadAll(req.Body)
		_ = req.Body.Close()
	}
	s.mu.Lock()
	s.sent = append(s.sent, sent{time.Now(), req.Header.Clone(), string(text), req})
	n := len(s.sent)
	next := s.list[min(n, len(s.list))-1]
	s.mu.Unlock()
	select {
	case <-time.After(next.after):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	if next.err != nil {
		return nil, next.err
	}
	resp := response(next.status, string(rune('0'+n)))
	resp.Request = req
	s.mu.Lock()
	s.bodies = append(s.bodies, resp.Body.(*trackedBody))
	s.mu.Unlock()
	return resp, nil
}

// ended counts the attempts whose context is over, or is the caller's.
func (s *steps) ended(caller context.Context) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, attempt := range s.sent {
		if ctx := attempt.req.Context(); ctx.Err() != nil || ctx == caller {
			n++
		}
	}
	return n
}

// What comes of a hedge, by what the attempts do: which answer, when, for how many
// tokens. Peer fault 22: what the quota refuses is the hedge alone. R6: a hedge
// that wins gives its cost back, one that does not is spent.
func TestHedge(t *testing.T) {
	const delay = 10 * ms
	for _, row := range []struct {
		name   string
		steps  []step
		opts   []engine.Option
		status int
		err    error
		took   time.Duration
		sent   int
		tokens int
		result httpretry.Result // if it has one
	}{
		{name: "quick: no hedge", steps: []step{{5 * ms, 200, nil}},
			status: 200, took: 5 * ms, sent: 1, tokens: 101},
		{name: "slow: the hedge wins", steps: []step{{time.Hour, 200, nil}, {5 * ms, 200, nil}},
			status: 200, took: 15 * ms, sent: 2, tokens: 100, result: httpretry.Result{Attempts: 2, Hedges: 1, Succeeded: true}},
		{name: "slow: the first wins all the same", steps: []step{{20 * ms, 200, nil}, {time.Hour, 200, nil}},
			status: 200, took: 20 * ms, sent: 2, tokens: 101 - 14, result: httpretry.Result{Attempts: 2, Hedges: 1, Succeeded: true}},
		{name: "22: no tokens, no hedge, and the first goes on", steps: []step{{50 * ms, 200, nil}}, opts: []engine.Option{engine.WithTokens(13)},
			status: 200, took: 50 * ms, sent: 1, tokens: 14},
		{name: "one attempt, no hedge", steps: []step{{50 * ms, 200, nil}}, opts: []engine.Option{engine.WithMaxAttempts(1)},
			status: 200, took: 50 * ms, sent: 1, tokens: 101},
		{name: "a quick failure is retried as ever", steps: []step{{5 * ms, 503, nil}, {5 * ms, 200, nil}},
			status: 200, took: 5*ms + 50*ms - near + 5*ms, sent: 2, tokens: 100, result: httpretry.Result{Attempts: 2, Succeeded: true}},
		{name: "the first fails, the hedge is awaited", steps: []step{{12 * ms, 503, nil}, {time.Minute, 200, nil}},
			status: 200, took: delay + time.Minute, sent: 2, tokens: 100, result: httpretry.Result{Attempts: 2, Hedges: 1, Succeeded: true}},
		{name: "the hedge fails, the first is awaited", steps: []step{{time.Minute, 200, nil}, {ms, 0, dialRefused}},
			status: 200, took: time.Minute, sent: 2, tokens: 101 - 14, result: httpretry.Result{Attempts: 2, Hedges: 1, Succeeded: true}},
		{name: "both fail, then the retry", steps: []step{{20 * ms, 503, nil}, {20 * ms, 503, nil}, {0, 200, nil}},
			status: 200, took: 30*ms + 100*ms - near, sent: 3, tokens: 100 - 14, result: httpretry.Result{Attempts: 3, Hedges: 1, Succeeded: true}},
		{name: "the retry is hedged too", steps: []step{{5 * ms, 503, nil}, {time.Hour, 200, nil}, {5 * ms, 200, nil}},
			status: 200, took: 5*ms + 50*ms - near + 15*ms, sent: 3, tokens: 100 - 14, result: httpretry.Result{Attempts: 3, Hedges: 1, Succeeded: true}},
		{name: "both fail, and that was all", steps: []step{{20 * ms, 503, nil}, {20 * ms, 502, nil}}, opts: []engine.Option{engine.WithMaxAttempts(2)},
			status: 502, took: 30 * ms, sent: 2, tokens: 100 - 14, result: httpretry.Result{Attempts: 2, Hedges: 1, Reason: engine.ReasonMaxAttempts, Class: 1}},
		{name: "an answer that is final settles it", steps: []step{{time.Hour, 200, nil}, {ms, 404, nil}},
			status: 404, took: 11 * ms, sent: 2, tokens: 100 - 14, result: httpretry.Result{Attempts: 2, Hedges: 1}},
		{name: "an error that is final settles it", steps: []step{{time.Hour, 200, nil}, {ms, 0, errOdd}},
			err: errOdd, took: 11 * ms, sent: 2, tokens: 100 - 14},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEngine(t, append([]engine.Option{engine.WithTokens(100)}, row.opts...)...)
				s := &steps{list: row.steps}
				ctx := t.Context()
				start := time.Now()
				resp, err := newTransport(t, e, httpretry.WithBase(s), httpretry.WithHedge(delay)).RoundTrip(get(t, ctx))
				assert.Equal(t, row.took, time.Since(start))
				if row.err != nil {
					require.ErrorIs(t, err, row.err)
				} else {
					require.NoError(t, err)
					assert.Equal(t, row.status, resp.StatusCode)
					r, _ := httpretry.ResultOf(resp)
					assert.Equal(t, row.result, r)
					assert.NoError(t, resp.Request.Context().Err(), "the caller's context, not the attempt's")
					<-time.After(time.Minute) // the reader takes its time
					readAll(t, resp)
				}
				synctest.Wait()
				assert.Len(t, s.sent, row.sent)
				assert.Equal(t, row.sent, s.ended(ctx), "no attempt's context outlives it")
				for _, body := range s.bodies {
					assert.NotZero(t, body.closed())
				}
				assert.Equal(t, row.tokens, level(e))
				assert.EqualValues(t, row.result.Hedges, e.Stats().Hedges-hedgesOf(row.err))
			})
		})
	}
}

var errOdd = errors.New("odd")

// hedgesOf is 1 where a call that ended in an error had a hedge.
func hedgesOf(err error) uint64 {
	if err != nil {
		return 1
	}
	return 0
}

// What must not be sent twice at once is not: what is not idempotent, what cannot
// be sent again, what takes long on purpose or hands its connection over, and what
// a layer above retries.
func TestWhatIsNotHedged(t *testing.T) {
	set := func(name, value string) func(*http.Request) *http.Request {
		return func(req *http.Request) *http.Request { req.Header.Set(name, value); return req }
	}
	same := func(req *http.Request) *http.Request { return req }
	noBody := func() io.Reader { return nil }
	for _, row := range []struct {
		name   string
		method string
		body   func() io.Reader
		change func(*http.Request) *http.Request
		hedged bool
	}{
		{"GET", "GET", noBody, same, true},
		{"PUT with GetBody", "PUT", func() io.Reader { return strings.NewReader("text") }, same, true},
		{"POST with a key", "POST", noBody, set("Idempotency-Key", "1"), true},
		{"POST", "POST", noBody, same, false},
		{"PUT without GetBody", "PUT", func() io.Reader { return opaque("text") }, same, false},
		{"PUT whose GetBody fails", "PUT", func() io.Reader { return strings.NewReader("text") }, func(req *http.Request) *http.Request {
			req.GetBody = func() (io.ReadCloser, error) { return nil, errOdd }
			return req
		}, false},
		{"PUT whose GetBody returns nothing", "PUT", func() io.Reader { return strings.NewReader("text") }, func(req *http.Request) *http.Request {
			req.GetBody = func() (io.ReadCloser, error) { return nil, nil }
			return req
		}, false},
		{"an upgrade", "GET", noBody, set("Upgrade", "websocket"), false},
		{"a long poll", "GET", noBody, func(req *http.Request) *http.Request { return req.WithContext(httpretry.LongPoll(req.Context())) }, false},
		{"a long poll by its name", "GET", noBody, set("X-Amz-Target", "AmazonSQS.ReceiveMessage"), false},
		{"retried above", "GET", noBody, func(req *http.Request) *http.Request { return req.WithContext(httpretry.RetryMark(req.Context(), 1)) }, false},
		{"CONNECT", "CONNECT", noBody, same, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			e, s := newEngine(t), &steps{list: []step{{time.Minute, 200, nil}, {ms, 200, nil}}}
			resp, err := newTransport(t, e, httpretry.WithBase(s), httpretry.WithHedge(ms)).
				RoundTrip(row.change(request(t, t.Context(), row.method, row.body())))
			require.NoError(t, err)
			readAll(t, resp)
			if !row.hedged {
				assert.Len(t, s.sent, 1, row.name)
				assert.Zero(t, e.Stats().Hedges)
				return
			}
			require.Len(t, s.sent, 2, row.name)
			assert.Equal(t, s.sent[0].body, s.sent[1].body)
		})
	}
}

// Each attempt, hedges included, has its number, its time-out and headers that
// nobody else writes to: a base that breaks the rule against that harms itself.
func TestHedgesAttemptIsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &steps{list: []step{{time.Hour, 200, nil}}}
		rude := roundTripper(func(req *http.Request) (*http.Response, error) {
			for range 100 {
				req.Header.Set("Authorization", "x")
				req.URL.Path += "x"
				runtime.Gosched()
			}
			return s.RoundTrip(req)
		})
		var ev events
		e := newEngine(t, engine.WithMaxAttempts(2), ev.observer())
		req := get(t, t.Context())
		start := time.Now()
		_, err := newTransport(t, e, httpretry.WithBase(rude), httpretry.WithHedge(10*ms), httpretry.WithAWSHeaders(), httpretry.WithRetryMark(),
			httpretry.WithAttemptTimeout(time.Second, 3*time.Second)).RoundTrip(req)
		require.ErrorIs(t, err, engine.ErrMaxAttempts)
		assert.ErrorContains(t, err, "no response within 3s", "the hedge is the second attempt")
		assert.Equal(t, 10*ms+3*time.Second, time.Since(start))
		require.Len(t, s.sent, 2)
		for i, want := range []string{"attempt=1; max=2", "attempt=2; max=2"} {
			assert.Equal(t, want, s.sent[i].header.Get("Amz-Sdk-Request"))
			assert.Equal(t, want[8:9], s.sent[i].header.Get(httpretry.RetryMarkHeader))
		}
		assert.Equal(t, s.sent[0].header["Amz-Sdk-Invocation-Id"], s.sent[1].header["Amz-Sdk-Invocation-Id"])
		assert.Empty(t, req.Header)
		assert.Equal(t, "/path", req.URL.Path)
		assert.Equal(t, 2, ev.stops[0].Attempts, "peer fault 128: what is counted is what was sent")
		assert.Len(t, ev.hedges, 1)
	})
}

// A caller who leaves ends both attempts; what was sent keeps its cost.
func TestHedgeAndACallerWhoLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(20*ms, func() { cancel(errShutdown) })
		e, s := newEngine(t), &steps{list: []step{{time.Hour, 200, nil}}}
		start := time.Now()
		_, err := newTransport(t, e, httpretry.WithBase(s), httpretry.WithHedge(10*ms)).RoundTrip(get(t, ctx))
		require.ErrorIs(t, err, engine.ErrCancelled)
		require.ErrorIs(t, err, errShutdown)
		assert.Equal(t, 20*ms, time.Since(start))
		assert.Len(t, s.sent, 2)
		assert.Equal(t, 500-14, level(e))
	})
}

// A loser whose base does not look at its context does not hold the winner up;
// what it brings later is closed.
func TestHedgeOverADeafBase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := response(200, "late")
		body := late.Body.(*trackedBody)
		var n atomic.Int32
		b := roundTripper(func(req *http.Request) (*http.Response, error) {
			if n.Inc() == 1 {
				<-time.After(time.Hour)
				return late, nil
			}
			return response(200, "hedge"), nil
		})
		start := time.Now()
		resp, err := newTransport(t, newEngine(t), httpretry.WithBase(b), httpretry.WithHedge(10*ms)).RoundTrip(get(t, t.Context()))
		require.NoError(t, err)
		assert.Equal(t, 10*ms, time.Since(start))
		assert.Equal(t, "hedge", readAll(t, resp))
		<-time.After(2 * time.Hour)
		assert.NotZero(t, body.closed())
	})
}

// A base that panics or ends the goroutine does so to the caller, as without
// hedges; the other attempt is cancelled.
func TestHedgePanic(t *testing.T) {
	for _, abort := range []func(){func() { panic(http.ErrAbortHandler) }, runtime.Goexit} {
		synctest.Test(t, func(t *testing.T) {
			s := &steps{list: []step{{time.Hour, 200, nil}}}
			var n atomic.Int32
			b := roundTripper(func(req *http.Request) (*http.Response, error) {
				if n.Inc() == 2 {
					abort()
				}
				return s.RoundTrip(req)
			})
			transport := newTransport(t, newEngine(t), httpretry.WithBase(b), httpretry.WithHedge(10*ms))
			ended := make(chan any)
			go func() {
				returned := false
				defer func() { ended <- recover(); assert.False(t, returned) }()
				_, _ = transport.RoundTrip(get(t, t.Context()))
				returned = true
			}()
			if got := <-ended; got != nil {
				assert.Equal(t, http.ErrAbortHandler, got)
			}
			synctest.Wait()
			assert.Equal(t, 1, s.ended(t.Context()))
		})
	}
}

// In adaptive mode the limiter's leave is needed for a hedge, and it does not
// wait for it (R8.1).
func TestHedgeInAdaptiveMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, engine.WithMode(engine.Adaptive))
		c := e.Begin()
		c.Admit()
		c.Fail(engine.Outcome{Class: 2}) // throttled: half a request a second from now on
		c.Abandon()
		s := &steps{list: []step{{time.Second, 200, nil}}}
		transport := newTransport(t, e, httpretry.WithBase(s), httpretry.WithHedge(10*ms))
		resp, err := transport.RoundTrip(get(t, t.Context()))
		require.NoError(t, err)
		readAll(t, resp)
		assert.Len(t, s.sent, 1)
		assert.Zero(t, e.Stats().Hedges)
	})
}

// When everything is slow, hedges die out: the load is 15/14 of what it was, and
// not twice that.
func TestHedgesDieOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls = 3000
		e, s := newEngine(t), &steps{list: []step{{time.Second, 200, nil}}}
		transport := newTransport(t, e, httpretry.WithBase(s), httpretry.WithHedge(10*ms))
		for range calls {
			resp, err := transport.RoundTrip(get(t, t.Context()))
			require.NoError(t, err)
			readAll(t, resp)
		}
		hedges := len(s.sent) - calls
		assert.LessOrEqual(t, hedges, 500/14+calls/14+1)
		assert.Greater(t, hedges, calls/14)
	})
}
