package httpretry_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

const throttled = `{"__type":"ns#ThrottlingException","message":"slow down"}`

// once makes one attempt and no more, so that what the attempt means is all that
// there is to see.
func once(t *testing.T, rt http.RoundTripper, req *http.Request, opts ...httpretry.Option) (*http.Response, engine.StopEvent, error) {
	var ev events
	e := newEngine(t, engine.WithMaxAttempts(1), ev.observer())
	resp, err := newTransport(t, e, append(opts, httpretry.WithBase(rt))...).RoundTrip(req)
	require.Len(t, ev.stops, 1)
	return resp, ev.stops[0], err
}

// Which bodies are looked at, and that they are handed on whole.
func TestPeek(t *testing.T) {
	long := `{"message":"` + strings.Repeat("x", 20000) + `","code":"SlowDown"}`
	for _, row := range []struct {
		name   string
		status int
		kind   string
		body   string
		class  classify.Class
	}{
		{"JSON", 400, "application/x-amz-json-1.0", throttled, classify.Throttling},
		{"a JSON dialect", 400, "Application/Problem+JSON; charset=utf-8", throttled, classify.Throttling},
		{"no type", 400, "", throttled, classify.Throttling},
		{"XML", 503, "text/xml", "<Error><Code>SlowDown</Code></Error>", classify.Throttling},
		{"HTML is not", 400, "text/html", throttled, classify.NonRetryable},
		{"the code of a 5xx counts", 501, "application/json", throttled, classify.Throttling},
		{"a 404 with a transient code", 404, "application/json", `{"code":"InternalError"}`, classify.Transient},
		{"a code beyond the first 8 KiB is not found", 400, "application/json", long, classify.NonRetryable},
		{"and the status decides", 500, "application/json", long, classify.Transient},
		{"an unknown code of a 500", 500, "application/json", `{"code":"Odd"}`, classify.Transient},
		{"an unknown code of a 429", 429, "application/json", `{"code":"Odd"}`, classify.Throttling},
		{"an HTML page of a 503", 503, "text/html", "<h1>busy</h1>", classify.Transient},
		{"empty", 503, "application/json", "", classify.Transient},
	} {
		for _, declared := range []bool{true, false} {
			resp := response(row.status, row.body, "Content-Type", row.kind)
			if row.kind == "" {
				resp.Header.Del("Content-Type")
			}
			if !declared {
				resp.ContentLength = -1
			}
			body := resp.Body.(*trackedBody)
			resp, stop, err := once(t, answers(func(int) *http.Response { return resp }), get(t, t.Context()))
			require.NoError(t, err)
			assert.Equal(t, row.class, stop.Class, row.name)
			assert.Zero(t, body.closed(), row.name)
			assert.True(t, readAll(t, resp) == row.body, row.name)
			assert.Equal(t, 1, body.closed(), row.name)
			_, err = resp.Body.Read(make([]byte, 1))
			if row.body != "" && !strings.Contains(row.kind, "html") {
				assert.ErrorIs(t, err, http.ErrBodyReadAfterClose, row.name)
			}
		}
	}
}

// The header wins over the body, which then is not touched.
func TestCodeHeader(t *testing.T) {
	for _, row := range []struct {
		header string
		class  classify.Class
		code   string
	}{
		{"ThrottlingException", classify.Throttling, "ThrottlingException"},
		{"ThrottlingException:http://internal.amazon.com/coral/com.amazon.coral.availability/", classify.Throttling, "ThrottlingException"},
		{"aws.protocoltests.restjson#ThrottlingException:http://x/", classify.Throttling, "ThrottlingException"},
		{" ThrottlingException ", classify.Throttling, "ThrottlingException"},
		{"ValidationException", classify.NonRetryable, "ValidationException"},
		{"", classify.Transient, "InternalError"},
		{":http://x/", classify.Transient, "InternalError"},
	} {
		resp := response(400, `{"code":"InternalError"}`, "X-Amzn-Errortype", row.header, "Content-Type", "application/json")
		resp, stop, err := once(t, answers(func(int) *http.Response { return resp }), get(t, t.Context()))
		require.NoError(t, err)
		assert.Equal(t, row.class, stop.Class, row.header)
		r, ok := httpretry.ResultOf(resp)
		if row.class != classify.NonRetryable {
			require.True(t, ok)
			assert.Equal(t, row.code, r.Code)
		}
		assert.Equal(t, `{"code":"InternalError"}`, readAll(t, resp))
	}
}

// What is compressed still is not looked at.
func TestNoPeekOfEncodedBody(t *testing.T) {
	resp := response(400, throttled, "Content-Type", "application/json", "Content-Encoding", "br")
	body := resp.Body
	resp, stop, err := once(t, answers(func(int) *http.Response { return resp }), get(t, t.Context()))
	require.NoError(t, err)
	assert.Same(t, body, resp.Body)
	assert.Equal(t, classify.NonRetryable, stop.Class)
}

// A success is not looked at, whatever it holds.
func TestNoPeekOfSuccess(t *testing.T) {
	for _, status := range []int{200, 206, 301, 304} {
		resp := response(status, throttled, "Content-Type", "application/json", "X-Amzn-Errortype", "ThrottlingException")
		body := resp.Body
		e := newEngine(t)
		resp, err := newTransport(t, e, httpretry.WithBase(answers(func(int) *http.Response { return resp }))).RoundTrip(get(t, t.Context()))
		require.NoError(t, err)
		assert.Same(t, body, resp.Body)
		assert.Zero(t, e.Stats().Stops)
		_, ok := httpretry.ResultOf(resp)
		assert.False(t, ok)
	}
}

// The body ends for its reader as it ended for us, with what came before; a cut
// answer counts by its status, and by its code if that had come.
func TestPeekOfACutBody(t *testing.T) {
	cut := errors.New("cut")
	for _, row := range []struct {
		body  string
		class classify.Class
	}{
		{`{"__ty`, classify.Transient},
		{throttled[:len(throttled)-5], classify.Throttling},
	} {
		resp := response(500, "", "Content-Type", "application/json")
		resp.ContentLength = 100
		resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(row.body), &endOnce{err: cut}))
		resp, stop, err := once(t, answers(func(int) *http.Response { return resp }), get(t, t.Context()))
		require.NoError(t, err)
		assert.Equal(t, row.class, stop.Class)
		text, err := io.ReadAll(resp.Body)
		assert.Equal(t, row.body, string(text))
		assert.Equal(t, cut, err)
	}
}

// endOnce fails with err, and differently when asked again.
type endOnce struct{ err error }

func (r *endOnce) Read([]byte) (int, error) {
	err := r.err
	r.err = errors.New("asked again after its end")
	return 0, err
}

// A body that does not come delays the call by a second, not for ever; what has
// come counts, and the rest is still there when it comes.
func TestPeekOfASlowBody(t *testing.T) {
	for _, before := range []string{"", throttled[:50]} {
		synctest.Test(t, func(t *testing.T) {
			in, out := io.Pipe()
			go func() { _, _ = io.WriteString(out, before) }()
			resp := response(503, "", "Content-Type", "application/json")
			resp.ContentLength, resp.Body = -1, in
			start := time.Now()
			resp, stop, err := once(t, answers(func(int) *http.Response { return resp }), get(t, t.Context()))
			require.NoError(t, err)
			assert.Equal(t, time.Second, time.Since(start))
			want := classify.Transient
			if before != "" {
				want = classify.Throttling
			}
			assert.Equal(t, want, stop.Class)
			go func() { _, _ = io.WriteString(out, throttled[len(before):52]) }()
			text := make([]byte, 52)
			_, err = io.ReadFull(resp.Body, text) // what is there is not held back for what is not
			require.NoError(t, err)
			go func() {
				_, _ = io.WriteString(out, throttled[52:])
				_ = out.Close()
			}()
			assert.Equal(t, throttled, string(text)+readAll(t, resp))
		})
	}
}

// What net/http finds behind a body is the caller's to see when the caller's own
// Read has met the end, and not while the peek still reads: until then nobody
// else touches the response.
func TestPeekLeavesTheTrailer(t *testing.T) {
	for _, end := range []int{4, 52, len(throttled)} { // within the patience, after it, and beyond the limit
		synctest.Test(t, func(t *testing.T) {
			in, out := io.Pipe()
			resp := response(400, "", "Content-Type", "application/json")
			resp.ContentLength, resp.Trailer = -1, http.Header{"X-Sum": nil}
			resp.Body = &trailing{ReadCloser: in, resp: resp}
			go func() {
				_, _ = io.WriteString(out, throttled[:end])
				if end == 52 {
					<-time.After(2 * time.Second)
				}
				if end == len(throttled) {
					_, _ = io.WriteString(out, strings.Repeat(" ", 10000))
				}
				_ = out.Close()
			}()
			got, _, err := once(t, answers(func(int) *http.Response { return resp }), get(t, t.Context()))
			require.NoError(t, err)
			<-time.After(3 * time.Second)
			synctest.Wait()
			assert.Equal(t, http.Header{"X-Sum": nil}, got.Trailer)
			assert.Equal(t, throttled[:end], strings.TrimSpace(readAll(t, got)))
			assert.Equal(t, http.Header{"X-Sum": {"7"}, "X-More": {"8"}}, got.Trailer)
		})
	}
}

// trailing fills in the trailer at its end, as net/http's bodies do.
type trailing struct {
	io.ReadCloser
	resp *http.Response
}

func (b *trailing) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.resp.Trailer["X-Sum"] = []string{"7"}
		b.resp.Trailer["X-More"] = []string{"8"}
	}
	return n, err
}

// Closing a body whose server has gone silent returns at once and leaves no
// goroutine behind (synctest would say so).
func TestCloseOfASlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		defer out.Close()
		resp := response(503, "", "Content-Type", "application/json")
		resp.ContentLength, resp.Body = -1, in
		resp, _, err := once(t, answers(func(int) *http.Response { return resp }), get(t, t.Context()))
		require.NoError(t, err)
		start := time.Now()
		require.NoError(t, resp.Body.Close())
		assert.Zero(t, time.Since(start))
	})
}

// The caller's cancellation ends the wait for a slow body, whether the reader
// learns of it, as net/http's does, or not. R3.6: that a 400 had shown no code by
// then does not make it an answer.
func TestCancelDuringPeek(t *testing.T) {
	for _, status := range []int{400, 503} {
		for _, told := range []bool{false, true} {
			cancelDuringPeek(t, status, told)
			cancelDuringPeek(t, status, told, httpretry.WithHedge(time.Hour))
		}
	}
}

func cancelDuringPeek(t *testing.T, status int, told bool, opts ...httpretry.Option) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		defer out.Close()
		resp := response(status, "", "Content-Type", "application/json")
		resp.ContentLength, resp.Body = -1, in
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(300*ms, func() {
			cancel()
			if told {
				_ = out.CloseWithError(context.Canceled)
			}
		})
		start := time.Now()
		var ev events
		b := answers(func(int) *http.Response { return resp })
		got, err := newTransport(t, newEngine(t, ev.observer()), append(opts, httpretry.WithBase(b))...).RoundTrip(get(t, ctx))
		assert.Nil(t, got)
		assert.Equal(t, 300*ms, time.Since(start))
		assert.ErrorIs(t, err, context.Canceled)
		assert.ErrorIs(t, err, engine.ErrCancelled)
		require.Len(t, ev.stops, 1)
		assert.Equal(t, engine.ReasonCancelled, ev.stops[0].Reason)
		var response *httpretry.ResponseError
		require.ErrorAs(t, err, &response)
		assert.Equal(t, status, response.Status)
		_, err = in.Read(make([]byte, 1))
		assert.ErrorIs(t, err, io.ErrClosedPipe)
	})
}

// A source that returns nothing and no error for ever is left alone.
func TestPeekOfAStuckBody(t *testing.T) {
	resp := response(503, "", "Content-Type", "application/json")
	var source emptyReader
	resp.ContentLength, resp.Body = -1, io.NopCloser(&source)
	_, stop, err := once(t, answers(func(int) *http.Response { return resp }), get(t, t.Context()))
	require.NoError(t, err)
	assert.Equal(t, classify.Transient, stop.Class)
	assert.Equal(t, 100, source.reads)
}

type emptyReader struct{ reads int }

func (r *emptyReader) Read([]byte) (int, error) { r.reads++; return 0, nil }

// On the wire: lengths, chunks, and compression that net/http takes off or
// leaves.
func TestPeekOverHTTP(t *testing.T) {
	long := `{"__type":"SlowDown","message":"` + strings.Repeat("0123456789", 10000) + `"}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/gzip" {
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(400)
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, long)
			_ = z.Close()
			return
		}
		w.WriteHeader(400)
		if r.Method != http.MethodHead {
			_, _ = io.WriteString(w, long[:100])
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, long[100:])
		}
	}))
	defer server.Close()
	for _, row := range []struct {
		method, path, accept string
		class                classify.Class
	}{
		{"GET", "/", "", classify.Throttling},
		{"GET", "/gzip", "", classify.Throttling},
		{"GET", "/gzip", "gzip", classify.NonRetryable},
		{"HEAD", "/", "", classify.NonRetryable},
	} {
		req, err := http.NewRequest(row.method, server.URL+row.path, nil)
		require.NoError(t, err)
		if row.accept != "" {
			req.Header.Set("Accept-Encoding", row.accept)
		}
		resp, stop, err := once(t, http.DefaultTransport, req)
		require.NoError(t, err)
		assert.Equal(t, row.class, stop.Class, row)
		text := readAll(t, resp)
		if row.accept == "gzip" {
			z, err := gzip.NewReader(strings.NewReader(text))
			require.NoError(t, err)
			plain, err := io.ReadAll(z)
			require.NoError(t, err)
			text = string(plain)
		}
		if row.method == "GET" {
			assert.True(t, text == long, row)
		}
	}
}
