package fasthttpretry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/reprise-go/reprise/adapters/fasthttpretry"
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// Peer faults 17 and 44: how a call came to its end is told, and nobody waits
// after the last attempt.
func TestResult(t *testing.T) {
	for _, row := range []struct {
		name   string
		doer   *doer
		opts   []engine.Option
		method string
		want   fasthttpretry.Result
		status int // 0: an error
		waited time.Duration
	}{
		{"success", statuses(200), nil, "GET", fasthttpretry.Result{Attempts: 1, Succeeded: true}, 200, 0},
		{"after a retry", statuses(503, 204), nil, "GET", fasthttpretry.Result{Attempts: 2, Succeeded: true}, 204, 50*ms - near},
		{"a redirect", statuses(302), nil, "GET", fasthttpretry.Result{Attempts: 1, Succeeded: true}, 302, 0},
		{"not retryable", statuses(404), nil, "GET", fasthttpretry.Result{Attempts: 1}, 404, 0},
		{"attempts", statuses(503), nil, "GET", fasthttpretry.Result{Attempts: 3, Reason: engine.ReasonMaxAttempts, Class: classify.Transient}, 503, 150*ms - 2*near},
		{"quota", statuses(429), []engine.Option{engine.WithTokens(4)}, "GET", fasthttpretry.Result{Attempts: 1, Reason: engine.ReasonQuota, Class: classify.Throttling}, 429, 0},
		{"no answer", failing(fasthttp.ErrTimeout), nil, "GET", fasthttpretry.Result{Attempts: 3, Reason: engine.ReasonMaxAttempts, Class: classify.Transient}, 0, 150*ms - 2*near},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				req, resp := request(t, row.method, "http://service.test/")
				start := time.Now()
				r, err := newClient(t, newEngine(t, row.opts...), row.doer).DoContext(t.Context(), req, resp)
				assert.Equal(t, row.want, r)
				assert.Equal(t, row.waited, time.Since(start))
				assert.Len(t, row.doer.sent, r.Attempts, "128: attempts are sends")
				if row.status == 0 {
					require.ErrorIs(t, err, fasthttp.ErrTimeout)
					var e *engine.Error
					require.ErrorAs(t, err, &e)
					assert.True(t, e.Timeout())
				} else {
					require.NoError(t, err)
					assert.Equal(t, row.status, resp.StatusCode())
				}
			})
		})
	}
}

// Peer fault 115: a request that may not be sent twice says why, keeps its answer,
// and takes no tokens.
func TestNotReplayable(t *testing.T) {
	stream := func(req *fasthttp.Request) { req.SetBodyStream(strings.NewReader("text"), 4) }
	for _, row := range []struct {
		name   string
		method string
		set    func(*fasthttp.Request)
		opts   []fasthttpretry.Option
		doer   *doer
		why    string // "": it may
	}{
		{"POST", "POST", nil, nil, statuses(503), "POST is not idempotent"},
		{"PATCH", "PATCH", nil, nil, statuses(503), "PATCH is not idempotent"},
		{"POST with a key", "POST", func(req *fasthttp.Request) { req.Header.Set("idempotency-key", "1") }, nil, statuses(503), ""},
		{"POST with another key", "POST", func(req *fasthttp.Request) { req.Header.Set("X-Idempotency-Key", "1") }, nil, statuses(503), ""},
		{"any method", "POST", nil, []fasthttpretry.Option{fasthttpretry.WithAnyMethod()}, statuses(503), ""},
		{"PUT", "PUT", nil, nil, statuses(503), ""},
		{"a stream", "PUT", stream, nil, statuses(503), "the request's body is a stream"},
		{"a stream of any method", "PUT", stream, []fasthttpretry.Option{fasthttpretry.WithAnyMethod()}, statuses(503), "the request's body is a stream"},
		{"a POST without an answer", "POST", nil, nil, failing(io.EOF), "POST is not idempotent"},
		{"a POST that was not sent", "POST", nil, nil, failing(fasthttp.ErrDialTimeout), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			e := quick(t)
			req, resp := request(t, row.method, "http://service.test/")
			if row.set != nil {
				row.set(req)
			}
			r, err := newClient(t, e, row.doer, row.opts...).DoContext(t.Context(), req, resp)
			if row.why == "" {
				assert.Equal(t, engine.ReasonMaxAttempts, r.Reason)
				assert.Equal(t, 3, r.Attempts)
				return
			}
			assert.Equal(t, engine.ReasonNotReplayable, r.Reason)
			assert.ErrorContains(t, r.NotReplayable, row.why)
			assert.Equal(t, 500, level(e))
			assert.Len(t, row.doer.sent, 1)
			if err == nil {
				assert.Equal(t, 503, resp.StatusCode())
			} else {
				require.ErrorIs(t, err, engine.ErrNotReplayable)
				require.ErrorIs(t, err, io.EOF)
				assert.ErrorContains(t, err, row.why)
			}
		})
	}
}

// A stream is sent once: but if the connection could not be made nothing of it
// has been read.
func TestStreamedBody(t *testing.T) {
	w := serveWire(t, func(_ int, conn net.Conn, req *http.Request) bool {
		body, _ := io.ReadAll(req.Body)
		return say(200, string(body))(conn)
	})
	dials := 0
	beneath := &fasthttp.HostClient{Addr: w.addr, MaxIdemponentCallAttempts: 1, Dial: func(addr string) (net.Conn, error) {
		if dials++; dials == 1 {
			return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		}
		return fasthttp.Dial(addr)
	}}
	t.Cleanup(beneath.CloseIdleConnections)
	c := newClient(t, quick(t), beneath)
	req, resp := request(t, "POST", w.url)
	req.SetBodyStream(strings.NewReader("text"), 4)
	r, err := c.DoContext(t.Context(), req, resp)
	require.NoError(t, err)
	assert.Equal(t, 2, r.Attempts)
	assert.Equal(t, "text", string(resp.Body()))
}

// The same on the wire: what has been read of a stream is not sent again as an
// empty body.
func TestStreamedBodyOnce(t *testing.T) {
	w := serveWire(t, func(_ int, conn net.Conn, req *http.Request) bool {
		_, _ = io.Copy(io.Discard, req.Body)
		return say(503, "busy")(conn)
	})
	for n, beneath := range []fasthttpretry.Doer{once(t), &fasthttp.PipelineClient{Addr: w.addr, Logger: quiet{}}} {
		req, resp := request(t, "PUT", w.url)
		req.SetBodyStream(strings.NewReader("text"), 4)
		r, err := newClient(t, quick(t), beneath).DoContext(t.Context(), req, resp)
		require.NoError(t, err)
		assert.Equal(t, engine.ReasonNotReplayable, r.Reason)
		assert.Equal(t, n+1, w.count())
	}
}

// Nothing of a failed answer is left for a client that does not reset responses.
func TestResponseIsReset(t *testing.T) {
	d := &doer{answer: func(n int, resp *fasthttp.Response) error {
		assert.Empty(t, resp.Header.Peek("X-Old"))
		assert.Empty(t, resp.Body())
		assert.True(t, resp.SkipBody)
		if n == 1 {
			resp.SetStatusCode(503)
			resp.Header.Set("X-Old", "1")
			resp.SetBodyString("busy")
			return nil
		}
		return io.EOF
	}}
	req, resp := get(t, "http://service.test/")
	resp.SkipBody = true
	require.ErrorIs(t, newClient(t, quick(t), d).Do(req, resp), io.EOF)
	assert.Len(t, d.sent, 3)
}

// What the call does to a request, beside what fasthttp does to one that it sends
// once, is undone; every attempt sends the same; nothing of a failed answer is left
// in the next one.
func TestRequestStays(t *testing.T) {
	var got []string
	w := serveWire(t, func(n int, conn net.Conn, req *http.Request) bool {
		body, _ := io.ReadAll(req.Body)
		delete(req.Header, "Amz-Sdk-Request")
		got = append(got, fmt.Sprintf("%s %s %v %s", req.Method, req.RequestURI, req.Header, body))
		if n < 3 {
			return say(503, "busy", "X-Old", "1", "Content-Type", json)(conn)
		}
		return say(200, "hello")(conn)
	})
	for name, set := range map[string]func(*fasthttp.Request){
		"SetBody":        func(req *fasthttp.Request) { req.SetBodyString("text") },
		"SetBodyRaw":     func(req *fasthttp.Request) { req.SetBodyRaw([]byte("text")) },
		"KeepBodyBuffer": func(req *fasthttp.Request) { req.KeepBodyBuffer = true; req.SetBodyString("text") },
		"arguments":      func(req *fasthttp.Request) { req.PostArgs().Set("a", "b") },
	} {
		for client, beneath := range map[string]fasthttpretry.Doer{
			"Client": once(t), "PipelineClient": &fasthttp.PipelineClient{Addr: w.addr, Logger: quiet{}},
		} {
			t.Run(name+" by "+client, func(t *testing.T) {
				got, w.hits = nil, 0
				c := newClient(t, quick(t), beneath, fasthttpretry.WithAttemptTimeout(time.Minute), fasthttpretry.WithAWSHeaders())
				req, resp := request(t, "PUT", w.url+"/a?b=c")
				req.Header.Set("X-Own", "1")
				req.SetTimeout(time.Hour)
				set(req)
				keep, body := req.KeepBodyBuffer, string(req.Body())
				resp.Header.SetNoDefaultContentType(true)
				require.NoError(t, c.Do(req, resp))

				require.Len(t, got, 3)
				assert.Equal(t, got[0], got[1])
				assert.Equal(t, got[0], got[2])
				assert.Equal(t, time.Hour, req.GetTimeOut())
				assert.Equal(t, keep, req.KeepBodyBuffer)
				assert.Equal(t, body, string(req.Body()))
				assert.Empty(t, req.Header.Peek("Amz-Sdk-Request"))
				assert.Empty(t, req.Header.Peek("Amz-Sdk-Invocation-Id"))
				assert.Equal(t, "1", string(req.Header.Peek("X-Own")))
				assert.Equal(t, "hello", string(resp.Body()))
				assert.Empty(t, resp.Header.Peek("X-Old"))
				if client == "Client" { // the other does not keep it even if asked once
					assert.Empty(t, resp.Header.ContentType())
				}
			})
		}
	}
}

// R9: the attempt's number on every attempt, one id for all of them, another for
// the next call; an id of the caller's stays.
func TestAWSHeaders(t *testing.T) {
	d := statuses(503)
	c := newClient(t, quick(t), d, fasthttpretry.WithAWSHeaders())
	req, resp := get(t, "http://service.test/")
	require.NoError(t, c.Do(req, resp))
	require.NoError(t, c.Do(req, resp))
	ids := make(map[string]int)
	for i, sent := range d.sent {
		assert.Equal(t, fmt.Sprintf("attempt=%d; max=3", i%3+1), sent.header["Amz-Sdk-Request"])
		ids[sent.header["Amz-Sdk-Invocation-Id"]]++
	}
	assert.Len(t, ids, 2)
	req.Header.Set("amz-sdk-invocation-id", "own")
	require.NoError(t, c.Do(req, resp))
	assert.Equal(t, "own", d.sent[8].header["Amz-Sdk-Invocation-Id"])
	assert.Equal(t, "own", string(req.Header.Peek("amz-sdk-invocation-id")))
}

// An engine for each request, and New's for those without.
func TestEngineFor(t *testing.T) {
	own, other := quick(t), quick(t)
	c := newClient(t, other, statuses(500), fasthttpretry.WithEngineFor(func(req *fasthttp.Request) *engine.Engine {
		if string(req.Host()) == "own.test" {
			return own
		}
		return nil
	}))
	for _, host := range []string{"own.test", "other.test", "own.test"} {
		req, resp := get(t, "http://"+host+"/")
		require.NoError(t, c.Do(req, resp))
	}
	assert.Equal(t, 500-4*14, level(own))
	assert.Equal(t, 500-2*14, level(other))
}

// R7: a long poll waits its backoff before the quota's refusal is returned.
func TestLongPoll(t *testing.T) {
	target := func(req *fasthttp.Request) {
		req.Header.SetMethod("POST")
		req.Header.Set("X-Amz-Target", "AmazonSQS.ReceiveMessage")
	}
	for name, row := range map[string]struct {
		set    func(*fasthttp.Request)
		waited time.Duration
	}{
		"by its mark":     {fasthttpretry.LongPoll, 50*ms - near},
		"by its target":   {target, 50*ms - near},
		"no long poll":    {func(*fasthttp.Request) {}, 0},
		"another target":  {func(req *fasthttp.Request) { target(req); req.Header.Set("X-Amz-Target", "AmazonSQS.SendMessage") }, 0},
		"a mark, dropped": {func(req *fasthttp.Request) { fasthttpretry.LongPoll(req); req.ResetUserValues() }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				req, resp := get(t, "http://service.test/")
				row.set(req)
				start := time.Now()
				c := newClient(t, newEngine(t, engine.WithTokens(0)), statuses(500), fasthttpretry.WithAnyMethod())
				r, err := c.DoContext(t.Context(), req, resp)
				require.NoError(t, err)
				assert.Equal(t, engine.ReasonQuota, r.Reason)
				assert.Equal(t, row.waited, time.Since(start))
			})
		})
	}
}

// CONNECT is passed on without a look.
func TestConnect(t *testing.T) {
	d := statuses(503)
	e := quick(t)
	req, resp := request(t, "CONNECT", "http://service.test/")
	require.NoError(t, newClient(t, e, d).Do(req, resp))
	require.NoError(t, newClient(t, e, d).DoTimeout(req, resp, time.Minute))
	assert.Len(t, d.sent, 2)
	assert.Equal(t, 500, level(e))
}

// Peer fault 4: a caller who leaves in the delay gets its tokens back, an error
// that names both, and still has the last answer.
func TestCancelledInTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("left")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(10*ms, func() { cancel(why) })
		e := newEngine(t)
		req, resp := get(t, "http://service.test/")
		start := time.Now()
		r, err := newClient(t, e, statuses(429)).DoContext(ctx, req, resp)
		assert.Equal(t, 10*ms, time.Since(start))
		require.ErrorIs(t, err, engine.ErrCancelled)
		require.ErrorIs(t, err, why)
		var answer *fasthttpretry.ResponseError
		require.ErrorAs(t, err, &answer)
		assert.Equal(t, "reprise/fasthttpretry: the server answered 429 Too Many Requests", answer.Error())
		assert.Equal(t, classify.Throttling, classify.Default.Error(answer))
		assert.Equal(t, 429, resp.StatusCode())
		assert.Equal(t, engine.ReasonCancelled, r.Reason)
		assert.Equal(t, 1, r.Attempts)
		assert.Equal(t, 500, level(e))
	})
}
