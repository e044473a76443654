package fasthttpretry_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/reprise-go/reprise/adapters/fasthttpretry"
	"github.com/reprise-go/reprise/engine"
)

// arrived is a request as the upstream got it.
type arrived struct {
	line   string
	host   string
	header http.Header
	body   string

	trailer http.Header
}

// upstream answers from scripts, one for each request and then the last, and
// notes what comes.
func upstream(t *testing.T, got *[]arrived, scripts ...script) *wire {
	return serveWire(t, func(n int, conn net.Conn, req *http.Request) bool {
		body, _ := io.ReadAll(req.Body)
		*got = append(*got, arrived{req.Method + " " + req.RequestURI, req.Host, req.Header, string(body), req.Trailer})
		return scripts[min(n, len(scripts))-1](conn)
	})
}

// serveProxy serves a proxy on 127.0.0.1 and returns its address.
func serveProxy(t *testing.T, handler fasthttp.RequestHandler, change ...func(*fasthttp.Server)) string {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	server := &fasthttp.Server{Handler: handler, Logger: quiet{}}
	for _, f := range change {
		f(server)
	}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(ln) }()
	t.Cleanup(func() { _ = ln.Close(); <-served })
	return ln.Addr().String()
}

func newProxy(t *testing.T, e *engine.Engine, url string, timeout time.Duration, opts ...fasthttpretry.Option) fasthttp.RequestHandler {
	t.Helper()
	beneath := once(t)
	beneath.DisablePathNormalizing = true
	handler, err := fasthttpretry.NewProxy(newClient(t, e, beneath, opts...), url, timeout)
	require.NoError(t, err)
	return handler
}

// ask sends text as it stands and reads one answer.
func ask(t *testing.T, addr, method, text string) (*http.Response, string) {
	t.Helper()
	conn, err := net.Dial("tcp4", addr)
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, text)
	require.NoError(t, err)
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, &http.Request{Method: method})
	require.NoError(t, err)
	if resp.StatusCode == http.StatusContinue {
		resp, err = http.ReadResponse(r, &http.Request{Method: method})
		require.NoError(t, err)
	}
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(body)
}

func TestNewProxyRefuses(t *testing.T) {
	c := newClient(t, quick(t), once(t))
	for _, bad := range []string{"", "127.0.0.1:80", "ftp://x/", "http://", "http://u:p@x/", "http://x/?a", "http://x/#a", "http://x:a/", "%"} {
		_, err := fasthttpretry.NewProxy(c, bad, 0)
		assert.ErrorContains(t, err, "want a URL such as", bad)
	}
	_, err := fasthttpretry.NewProxy(c, "http://x", -1)
	assert.ErrorContains(t, err, "want 0 (none) or more")
	for _, c := range []*fasthttpretry.Client{nil, {}} {
		_, err = fasthttpretry.NewProxy(c, "http://x", 0)
		assert.ErrorContains(t, err, "needs a *Client made by New")
	}
}

// What the upstream gets: the request, but for what is for one hop and for what
// says where it came from.
func TestProxyRequest(t *testing.T) {
	var got []arrived
	w := upstream(t, &got, say(503, ""), say(200, "hello", "X-Up", "1", "Connection", "close, X-Hop", "X-Hop", "1", "Keep-Alive", "timeout=5", "Upgrade", "x"))
	e := quick(t)
	addr := serveProxy(t, newProxy(t, e, w.url+"/base/", time.Minute))
	resp, body := ask(t, addr, "PUT", "PUT /a%2Fb?c=d%20e&f HTTP/1.1\r\nHost: public.test\r\nContent-Length: 4\r\n"+
		"Connection: keep-alive, X-Mine, X-Forwarded-For\r\nX-Mine: 1\r\nKeep-Alive: 1\r\nTE: trailers\r\nUpgrade: websocket\r\nProxy-Authorization: x\r\nProxy-Connection: x\r\n"+
		"Forwarded: for=1.2.3.4\r\nX-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Host: evil.test\r\nX-Forwarded-Proto: https\r\n"+
		"Expect: 100-continue\r\nCookie: a=b\r\nX-Kept: 1\r\nContent-Type: text/x\r\nUser-Agent: mine\r\n\r\ntext")
	assert.Equal(t, "hello", body)
	require.Len(t, got, 2)
	assert.Equal(t, got[0], got[1])
	assert.Equal(t, "PUT /base/a%2Fb?c=d%20e&f", got[0].line)
	assert.Equal(t, strings.TrimPrefix(w.url, "http://"), got[0].host)
	assert.Equal(t, "text", got[0].body)
	assert.Equal(t, http.Header{
		"Content-Length": {"4"}, "Content-Type": {"text/x"}, "User-Agent": {"mine"}, "Cookie": {"a=b"}, "X-Kept": {"1"},
		"X-Forwarded-For": {"127.0.0.1"}, "X-Forwarded-Host": {"public.test"}, "X-Forwarded-Proto": {"http"},
	}, got[0].header)
	assert.Equal(t, "1", resp.Header.Get("X-Up"))
	for _, name := range []string{"X-Hop", "Keep-Alive", "Upgrade", "Connection"} {
		assert.Empty(t, resp.Header.Get(name), name)
	}
	assert.Equal(t, 500, level(e))
}

// A trailer of the answer passes too.
func TestProxyTrailer(t *testing.T) {
	w := serveWire(t, func(_ int, conn net.Conn, _ *http.Request) bool {
		return raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Last\r\n\r\n5\r\nhello\r\n0\r\nX-Last: 1\r\n\r\n", true)(conn)
	})
	resp, body := ask(t, serveProxy(t, newProxy(t, quick(t), w.url, 0)), "GET", "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	assert.Equal(t, "hello", body)
	assert.Equal(t, http.Header{"X-Last": {"1"}}, resp.Trailer)
	assert.Empty(t, resp.Header.Get("X-Last"))
}

// Where a request goes is not the request's to say.
func TestNoOpenProxy(t *testing.T) {
	var got, stolen []arrived
	w := upstream(t, &got, say(200, "hello"))
	other := upstream(t, &stolen, say(200, "stolen"))
	addr := serveProxy(t, newProxy(t, quick(t), w.url, 0))
	based := serveProxy(t, newProxy(t, quick(t), w.url+"/base", 0))
	for _, row := range []struct {
		addr, line, host string
		status           int
		path             string
	}{
		{addr, "GET / HTTP/1.1", other.addr, 200, "/"},
		{addr, "GET " + other.url + "/x HTTP/1.1", other.addr, 200, "/x"},
		{addr, "GET " + other.url + " HTTP/1.1", "public.test", 200, "/"},
		{addr, "GET //" + other.addr + "/x HTTP/1.1", "public.test", 200, ""},
		{addr, "GET /%2F" + other.addr + "/x HTTP/1.1", "public.test", 200, ""},
		{addr, "GET x/y HTTP/1.1", "public.test", 400, ""},
		{addr, "CONNECT " + other.addr + " HTTP/1.1", other.addr, 405, ""},
		{based, "GET /x HTTP/1.1", "public.test", 200, "/base/x"},
		{based, "GET /../secret HTTP/1.1", "public.test", 200, "/base/secret"},
		{based, "GET /%2e%2e/secret HTTP/1.1", "public.test", 200, "/base/secret"},
		{based, "GET /a/../../../secret HTTP/1.1", "public.test", 200, "/base/secret"},
	} {
		got = nil
		resp, _ := ask(t, row.addr, "GET", row.line+"\r\nHost: "+row.host+"\r\n\r\n")
		if row.path == "/base/secret" { // either is right: it stays below, or it is refused
			if resp.StatusCode == 400 {
				continue
			}
		}
		assert.Equal(t, row.status, resp.StatusCode, row.line)
		if row.path != "" && assert.Len(t, got, 1, row.line) {
			assert.Equal(t, "GET "+row.path, got[0].line, row.line)
		}
		for _, a := range got {
			assert.Equal(t, w.addr, a.host, row.line)
		}
	}
	assert.Empty(t, stolen)
}

// What two servers could read differently is refused, or goes on framed anew: a
// connection header cannot take the framing away, and a trailer does not turn into
// a header that the upstream believes.
func TestSmuggling(t *testing.T) {
	var got []arrived
	w := upstream(t, &got, say(200, "hello"))
	addr := serveProxy(t, newProxy(t, quick(t), w.url, 0))
	for _, text := range []string{
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\ntextGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, x\r\n\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: x\r\nContent-Length: 4\r\n\r\ntext",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length : 4\r\n\r\ntext",
		"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
	} {
		resp, _ := ask(t, addr, "POST", text)
		assert.GreaterOrEqual(t, resp.StatusCode, 400, text)
	}
	assert.Empty(t, got)
	for _, text := range []string{
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n4\r\ntext\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nConnection: Content-Length, Host\r\nContent-Length: 4\r\n\r\ntext",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: Transfer-Encoding\r\nTrailer: X-Last\r\n\r\n4\r\ntext\r\n0\r\nX-Last: 1\r\n\r\n",
	} {
		got = nil
		resp, body := ask(t, addr, "POST", text)
		assert.Equal(t, 200, resp.StatusCode, text)
		assert.Equal(t, "hello", body)
		require.Len(t, got, 1)
		assert.Equal(t, "text", got[0].body)
		assert.Equal(t, w.addr, got[0].host)
		if strings.Contains(text, "Trailer") {
			assert.Equal(t, http.Header{"X-Last": {"1"}}, got[0].trailer)
		} else {
			assert.Equal(t, []string{"4"}, got[0].header["Content-Length"])
		}
		for _, name := range []string{"Transfer-Encoding", "X-Last"} {
			assert.Empty(t, got[0].header.Get(name), name)
		}
	}
}

// What comes back where the upstream answers, and where it does not (peer faults
// 8 and 133).
func TestProxyAnswers(t *testing.T) {
	refused := func(t *testing.T) string {
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, ln.Close())
		return "http://" + ln.Addr().String()
	}
	served := func(s script) func(*testing.T) string {
		return func(t *testing.T) string {
			return serveWire(t, func(_ int, conn net.Conn, _ *http.Request) bool { return s(conn) }).url
		}
	}
	for _, row := range []struct {
		name    string
		url     func(*testing.T) string
		engine  []engine.Option
		timeout time.Duration
		opts    []fasthttpretry.Option
		method  string
		status  int
		body    string
	}{
		{"success", served(say(200, "hello")), nil, 0, nil, "GET", 200, "hello"},
		{"its own failure", served(say(503, "busy, said the upstream")), nil, 0, nil, "GET", 503, "busy, said the upstream"},
		{"its own failure, quota empty", served(say(503, "busy, said the upstream")), []engine.Option{engine.WithTokens(0)}, 0, nil, "GET", 503, "busy, said the upstream"},
		{"its own failure, not replayable", served(say(500, "x")), nil, 0, nil, "POST", 500, "x"},
		{"its own 429, no time to wait", served(say(429, "later", "x-amz-retry-after", "90000")), nil, 5 * time.Second, nil, "GET", 429, "later"},
		{"HEAD", served(raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true)), nil, 0, nil, "HEAD", 200, ""},
		{"nobody listens", refused, nil, 0, nil, "GET", 502, "the upstream could not be asked"},
		{"it hangs up", served(hangUp), nil, 0, nil, "GET", 502, "the upstream could not be asked"},
		{"no HTTP", served(raw("SSH-2.0\r\n\r\n", false)), nil, 0, nil, "GET", 502, "the upstream could not be asked"},
		{"it changes the protocol", served(raw("HTTP/1.1 101 Go\r\n\r\n", true)), nil, 0, nil, "GET", 502, "the upstream changed the protocol"},
		{"too slow", served(silence), nil, 30 * ms, nil, "GET", 504, "the upstream took too long"},
		{"every attempt too slow", served(silence), nil, 0, []fasthttpretry.Option{fasthttpretry.WithAttemptTimeout(10 * ms)}, "GET", 504, "the upstream took too long"},
	} {
		t.Run(row.name, func(t *testing.T) {
			addr := serveProxy(t, newProxy(t, quick(t, row.engine...), row.url(t), row.timeout, row.opts...))
			resp, body := ask(t, addr, row.method, row.method+" / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
			assert.Equal(t, row.status, resp.StatusCode)
			assert.Equal(t, row.body, body)
			if row.method == "HEAD" {
				assert.Equal(t, int64(5), resp.ContentLength)
			}
		})
	}
}

// A refusal of the limiter has no answer of the upstream's: it is 429, with the
// time after which to come again.
func TestProxyLimiter(t *testing.T) {
	w := serveWire(t, func(_ int, conn net.Conn, _ *http.Request) bool { return say(429, "slow down")(conn) })
	e := newEngine(t, engine.WithMode(engine.Adaptive), engine.WithMaxAttempts(1))
	addr := serveProxy(t, newProxy(t, e, w.url, 200*ms))
	for n := 1; ; n++ {
		require.Less(t, n, 50)
		resp, body := ask(t, addr, "GET", "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		require.Equal(t, 429, resp.StatusCode)
		if body != "slow down" {
			assert.Regexp(t, `^[1-9][0-9]?$`, resp.Header.Get("Retry-After"))
			assert.Less(t, w.count(), n)
			return
		}
	}
}

// The client beneath is out of connections: that is 503, and nothing is sent
// again.
func TestProxyNoConnection(t *testing.T) {
	w := serveWire(t, func(_ int, conn net.Conn, _ *http.Request) bool { return silence(conn) })
	beneath := once(t)
	beneath.MaxConnsPerHost = 1
	e := quick(t)
	handler, err := fasthttpretry.NewProxy(newClient(t, e, beneath), w.url, time.Second)
	require.NoError(t, err)
	addr := serveProxy(t, handler)
	first := make(chan int)
	go func() {
		resp, _ := ask(t, addr, "GET", "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		first <- resp.StatusCode
	}()
	require.Eventually(t, func() bool { return w.count() == 1 }, 5*time.Second, ms)
	resp, _ := ask(t, addr, "GET", "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	assert.Equal(t, 503, resp.StatusCode)
	assert.Equal(t, 504, <-first)
	assert.Equal(t, 500, level(e))
}

// Peer fault 133: a body that the server streams is sent once, and the first
// answer is the one.
func TestProxyStreams(t *testing.T) {
	var got []arrived
	w := upstream(t, &got, say(503, "busy"))
	beneath := once(t)
	beneath.StreamResponseBody = true
	e := quick(t)
	handler, err := fasthttpretry.NewProxy(newClient(t, e, beneath), w.url, time.Minute)
	require.NoError(t, err)
	addr := serveProxy(t, handler, func(s *fasthttp.Server) { s.StreamRequestBody = true; s.MaxRequestBodySize = 1 << 10 })
	text := strings.Repeat("x", 100<<10)
	for _, framed := range []string{
		fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(text), text),
		fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(text), text),
	} {
		got = nil
		resp, body := ask(t, addr, "PUT", "PUT / HTTP/1.1\r\nHost: x\r\n"+framed)
		assert.Equal(t, 503, resp.StatusCode)
		assert.Equal(t, "busy", body)
		require.Len(t, got, 1)
		assert.Equal(t, text, got[0].body)
	}
	assert.Equal(t, 500, level(e))
}

// Behind a pipeline nothing of the server's own memory is sent.
func TestProxyOverAPipeline(t *testing.T) {
	var got []arrived
	w := upstream(t, &got, say(503, ""), say(200, "hello"))
	handler, err := fasthttpretry.NewProxy(newClient(t, quick(t), &fasthttp.PipelineClient{Addr: w.addr, Logger: quiet{}}), w.url, time.Minute)
	require.NoError(t, err)
	resp, body := ask(t, serveProxy(t, handler), "PUT", "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\ntext")
	assert.Equal(t, 200, resp.StatusCode)
	assert.Equal(t, "hello", body)
	require.Len(t, got, 2)
	assert.Equal(t, "text", got[1].body)
}

// A pipeline may still be sending when the handler has answered 504: what it
// sends must not be the memory into which the server reads the next request.
func TestProxyOverAPipelineOutOfTime(t *testing.T) {
	const size = 8 << 20 // more than sockets hold
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	next, letters := make(chan struct{}), make(chan int, 1)
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		<-next
		_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		req, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil { // time was up before anything was sent
			letters <- 0
			return
		}
		body, _ := io.ReadAll(req.Body)
		letters <- min(strings.Count(string(body), "a"), 1) + min(strings.Count(string(body), "b"), 1)
	}()
	e := newEngine(t, engine.WithMaxAttempts(1))
	handler, err := fasthttpretry.NewProxy(newClient(t, e, &fasthttp.PipelineClient{Addr: ln.Addr().String(), Logger: quiet{}}), "http://service.test", 300*ms)
	require.NoError(t, err)
	addr := serveProxy(t, handler, func(s *fasthttp.Server) { s.MaxRequestBodySize = 2 * size })
	conn, err := net.Dial("tcp4", addr)
	require.NoError(t, err)
	defer conn.Close()
	r := bufio.NewReader(conn)
	for _, letter := range []string{"a", "b"} {
		_, err := fmt.Fprintf(conn, "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", size, strings.Repeat(letter, size))
		require.NoError(t, err)
		resp, err := http.ReadResponse(r, nil)
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, resp.Body)
		assert.Equal(t, 504, resp.StatusCode)
	}
	close(next)
	assert.Less(t, <-letters, 2, "a body is one request's")
}

// The shutdown of the server ends the waits of its calls.
func TestProxyShutdown(t *testing.T) {
	w := serveWire(t, func(_ int, conn net.Conn, _ *http.Request) bool {
		return say(503, "busy", "x-amz-retry-after", "5000")(conn)
	})
	granted := make(chan struct{}, 1)
	e := newEngine(t, engine.WithObserver(engine.Observer{Retry: func(engine.RetryEvent) { granted <- struct{}{} }}))
	var server *fasthttp.Server
	addr := serveProxy(t, newProxy(t, e, w.url, 0), func(s *fasthttp.Server) { server = s })
	go func() {
		<-granted
		_ = server.Shutdown()
	}()
	start := time.Now()
	resp, body := ask(t, addr, "GET", "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	assert.Less(t, time.Since(start), 4*time.Second)
	assert.Equal(t, 503, resp.StatusCode)
	assert.Equal(t, "busy", body)
	assert.Equal(t, 500, level(e))
}
