package proxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/cmd/reprise/internal/proxyconf"
	"github.com/reprise-go/reprise/engine"
)

// Only paths are served: nobody goes through here to somewhere else.
func TestNoOpenProxy(t *testing.T) {
	var hits atomic.Int32
	p := start(t, one(t, upstream(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })))
	for _, row := range []struct {
		request string
		status  int
	}{
		{"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n", 405},
		{"CONNECT /x HTTP/1.1\r\nHost: a\r\n\r\n", 405},
		{"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n", 400},
		{"GET https://127.0.0.1:22/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"GET ftp://example.com/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"GET example.com HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"GET / HTTP/1.1\r\n\r\n", 400},
		{"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
		{"GET / HTTP/1.1\r\nHost: a/b@c\r\n\r\n", 400},
	} {
		conn, in := raw(t, p.url)
		send(t, conn, row.request)
		resp, err := http.ReadResponse(in, nil)
		require.NoError(t, err, row.request)
		assert.Equal(t, row.status, resp.StatusCode, row.request)
	}
	assert.Zero(t, hits.Load())
	conn, in := raw(t, p.url)
	send(t, conn, "GET //example.com/x HTTP/1.1\r\nHost: a\r\n\r\n")
	resp, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	assert.Equal(t, 200, resp.StatusCode, "a path that begins with two slashes is a path")
	assert.EqualValues(t, 1, hits.Load())
}

// What two parsers could read in two ways is refused, or sent on in one way only:
// the upstream never sees the request that is hidden in a body.
func TestRequestSmuggling(t *testing.T) {
	var hiddenSeen sync.Map // by path
	p := start(t, one(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		hiddenSeen.Store(r.URL.Path, true)
		assert.False(t, len(r.TransferEncoding) > 0 && r.ContentLength >= 0, "both lengths")
		_, _ = io.Copy(io.Discard, r.Body)
	})))
	const hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n"
	chunked := "0\r\n\r\n" + hidden
	for i, row := range []struct {
		name, head, body string
		refused          bool // else what looks hidden is a request of its own
	}{
		{"two lengths", "Content-Length: 5\r\nContent-Length: 6\r\n", "abcde" + hidden, true},
		{"a list of lengths", "Content-Length: 5, 6\r\n", "abcde" + hidden, true},
		{"a length with a sign", "Content-Length: +5\r\n", "abcde" + hidden, true},
		{"a negative length", "Content-Length: -5\r\n", hidden, true},
		{"a length in hex", "Content-Length: 0x5\r\n", "abcde" + hidden, true},
		{"a length that overflows", "Content-Length: 18446744073709551621\r\n", "abcde" + hidden, true},
		{"an unknown encoding", "Transfer-Encoding: xchunked\r\n", chunked, true},
		{"two encodings", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", chunked, true},
		{"a list of encodings", "Transfer-Encoding: identity, chunked\r\n", chunked, true},
		{"an encoding with a blank before the colon", "Transfer-Encoding : chunked\r\nContent-Length: 4\r\n", chunked, true},
		{"a folded encoding", "X: y\r\n Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", hidden, false},
		{"a NUL in a header", "X: a\x00b\r\n", "", true},
		{"a bare CR in a header", "X: a\rTransfer-Encoding: chunked\r\n", "", true},
		{"a chunk length with a sign", "Transfer-Encoding: chunked\r\n", "+5\r\nabcde\r\n" + chunked, true},
		{"a chunk length in no hex", "Transfer-Encoding: chunked\r\n", "5x\r\nabcde\r\n" + chunked, true},
		{"a chunk with too much", "Transfer-Encoding: chunked\r\n", "2\r\nabcde\r\n" + chunked, true},
	} {
		path := fmt.Sprintf("/hidden/%d", i)
		conn, in := raw(t, p.url)
		send(t, conn, "POST /"+" HTTP/1.1\r\nHost: a\r\n"+row.head+"\r\n"+strings.ReplaceAll(row.body, "/hidden", path))
		resp, err := http.ReadResponse(in, &http.Request{Method: "POST"})
		require.NoError(t, err, row.name)
		if row.refused {
			assert.Contains(t, []int{400, 501, 502}, resp.StatusCode, row.name)
			assert.True(t, resp.Close, row.name+": the rest of the connection means nothing")
			_, err = io.Copy(io.Discard, in) // up to the end of the connection
			require.NoError(t, err, row.name)
			_, seen := hiddenSeen.Load(path)
			assert.False(t, seen, row.name)
		}
	}

	// RFC 9112 lets a server go by the encoding alone if both are there; then the
	// length must not go further, and what follows is a request of its own.
	conn, in := raw(t, p.url)
	send(t, conn, "POST /both HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
	resp, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	assert.Contains(t, []int{200, 400}, resp.StatusCode)
}

func TestHopByHopHeaders(t *testing.T) {
	seen := make(chan http.Header, 1)
	p := start(t, one(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header
		w.Header().Set("Connection", "X-Secret")
		w.Header().Set("X-Secret", "of the hop")
		w.Header().Set("Keep-Alive", "timeout=5")
		w.Header().Set("Proxy-Authenticate", "Basic")
		w.Header().Set("X-End", "to end")
	})))
	resp, _ := do(t, "GET", p.url+"/?a=1;b&c=%zz", "", "Connection: keep-alive, X-Hop, Idempotency-Key", "X-Hop: 1", "Idempotency-Key: 1",
		"Proxy-Authorization: Basic x", "Te: trailers, deflate", "Keep-Alive: 1", "Proxy-Connection: keep-alive", "X-End: 2")
	h := wait(t, "the request", seen)
	for _, name := range []string{"Connection", "X-Hop", "Idempotency-Key", "Proxy-Authorization", "Keep-Alive", "Proxy-Connection"} {
		assert.Empty(t, h.Values(name), name)
	}
	assert.Equal(t, []string{"trailers"}, h.Values("Te"))
	assert.Equal(t, "2", h.Get("X-End"))
	for _, name := range []string{"X-Secret", "Keep-Alive", "Proxy-Authenticate"} {
		assert.Empty(t, resp.Header.Values(name), name)
	}
	assert.Equal(t, "to end", resp.Header.Get("X-End"))
}

// The path and the query arrive as they were written.
func TestTargetIsUntouched(t *testing.T) {
	seen := make(chan string, 1)
	up := upstream(t, func(_ http.ResponseWriter, r *http.Request) { seen <- r.RequestURI })
	p := start(t, one(t, up))
	for _, target := range []string{"/", "/a%2Fb/../c//d/.", "/?a=1;b&c=%zz", "/%E2%82%AC?", "/-/healthy", "/-/engines"} {
		conn, _ := raw(t, p.url)
		send(t, conn, "GET "+target+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		assert.Equal(t, target, wait(t, "the request", seen))
	}
	p = start(t, one(t, up+"/base"))
	conn, _ := raw(t, p.url)
	send(t, conn, "GET /a%2Fb?c HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	assert.Equal(t, "/base/a%2Fb?c", wait(t, "the request", seen))
}

func TestForwardedHeaders(t *testing.T) {
	type told struct{ forwarded, from, host, proto, asked string }
	seen := make(chan told, 1)
	up := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		h := r.Header
		seen <- told{h.Get("Forwarded"), strings.Join(h.Values("X-Forwarded-For"), "|"), h.Get("X-Forwarded-Host"), h.Get("X-Forwarded-Proto"), r.Host}
	})
	claims := []string{"Host: shop.example", "Forwarded: for=1.2.3.4", "X-Forwarded-For: 1.2.3.4", "X-Forwarded-Host: evil.example", "X-Forwarded-Proto: https"}
	upHost := strings.TrimPrefix(up, "http://")

	do(t, "GET", start(t, one(t, up)).url, "", claims...)
	assert.Equal(t, told{"", "127.0.0.1", "shop.example", "http", upHost}, wait(t, "it", seen), "claims of a stranger are dropped")

	do(t, "GET", start(t, one(t, up), trusting("10.0.0.0/8", "127.0.0.0/8"), settings(func(s *proxyconf.Settings) { s.PassHost = true })).url, "", claims...)
	assert.Equal(t, told{"", "1.2.3.4, 127.0.0.1", "evil.example", "https", "shop.example"}, wait(t, "it", seen), "those of a trusted proxy are continued")
}

// Trailers, events and early hints come through, and Expect: 100-continue is
// answered only once the upstream wants the body.
func TestStreaming(t *testing.T) {
	goOn := make(chan struct{})
	p := start(t, one(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/trailers":
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Trailer", "X-Sum")
			_, _ = w.Write(body)
			w.Header().Set("X-Sum", r.Trailer.Get("X-Sum")+"!")
		case "/events":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: 1\n\n")
			_ = http.NewResponseController(w).Flush()
			<-goOn
		case "/length":
			w.Header().Set("Content-Length", "2")
			_, _ = io.WriteString(w, "1")
			_ = http.NewResponseController(w).Flush()
			<-goOn
			_, _ = io.WriteString(w, "2")
		case "/hints":
			w.Header().Set("Link", "</style.css>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(200)
		case "/expect":
			body, _ := io.ReadAll(r.Body)
			_, _ = w.Write(body)
		case "/unwanted":
			w.WriteHeader(http.StatusUnauthorized)
		}
	})))

	req, err := http.NewRequest("PUT", p.url+"/trailers", io.MultiReader(strings.NewReader("body")))
	require.NoError(t, err)
	req.Trailer = http.Header{"X-Sum": {"4"}}
	resp, err := client(t).Do(req)
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, "body", string(text))
	assert.Equal(t, "4!", resp.Trailer.Get("X-Sum"))

	for path, first := range map[string]string{"/events": "data: 1\n\n", "/length": "1"} {
		resp, err = client(t).Get(p.url + path)
		require.NoError(t, err)
		got := make([]byte, len(first))
		_, err = io.ReadFull(resp.Body, got)
		require.NoError(t, err)
		assert.Equal(t, first, string(got), "it is here before the answer is over")
		goOn <- struct{}{}
		require.NoError(t, resp.Body.Close())
	}

	conn, in := raw(t, p.url)
	send(t, conn, "GET /hints HTTP/1.1\r\nHost: a\r\n\r\n")
	status, err := textproto.NewReader(in).ReadLine()
	require.NoError(t, err)
	assert.Equal(t, "HTTP/1.1 103 Early Hints", status)

	conn, in = raw(t, p.url)
	send(t, conn, "PUT /expect HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
	resp, err = http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.Equal(t, 100, resp.StatusCode)
	send(t, conn, "body")
	resp, err = http.ReadResponse(in, nil)
	require.NoError(t, err)
	text, err = io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, "body", string(text))

	conn, in = raw(t, p.url)
	send(t, conn, "PUT /unwanted HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
	resp, err = http.ReadResponse(in, nil)
	require.NoError(t, err)
	assert.Equal(t, 401, resp.StatusCode, "the body was never asked for")
}

func TestHeadersTooLarge(t *testing.T) {
	p := start(t, one(t, unused(t)))
	conn, in := raw(t, p.url)
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\nX: "+strings.Repeat("x", 32<<10)+"\r\n\r\n")
	resp, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	assert.Equal(t, 431, resp.StatusCode)
}

// When the quota refuses, the upstream's own answer passes through; when attempts
// are used up too.
func TestAnswersPassThrough(t *testing.T) {
	var hits atomic.Int32
	p := start(t, one(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Retry-After", "77")
		w.WriteHeader(503)
		_, _ = io.WriteString(w, "<p>down</p>")
	})), settings(func(s *proxyconf.Settings) { s.Quota = engine.Quota{Capacity: 30} }))
	for i, want := range []int32{3, 1, 1} {
		resp, text := do(t, "GET", fmt.Sprintf("%s/%d", p.url, i), "")
		assert.Equal(t, 503, resp.StatusCode)
		assert.Equal(t, "<p>down</p>", text)
		assert.Equal(t, []string{"77"}, resp.Header.Values("Retry-After"))
		assert.Equal(t, want, hits.Swap(0))
	}
	s := p.state(t)
	assert.Equal(t, 2, s.Stops["quota"])
	assert.Equal(t, 1, s.Stops["max_attempts"])
	assert.Equal(t, 2, s.Quota.Level)
	assert.Equal(t, "quota", p.log.request(t, "/1")["reason"])
}

// In adaptive mode the first throttle is the upstream's to tell; what the limiter
// then does not let out is answered with 429 and how long to stay away.
func TestLimiterRefusal(t *testing.T) {
	var hits atomic.Int32
	p := start(t, one(t, upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		w.WriteHeader(429)
		_, _ = io.WriteString(w, "slow down")
	})), settings(func(s *proxyconf.Settings) {
		s.Mode, s.MaxAttempts, s.Timeout = engine.Adaptive, 1, 400*time.Millisecond
	}))
	resp, text := do(t, "GET", p.url, "")
	assert.Equal(t, 429, resp.StatusCode)
	assert.Equal(t, "slow down", text)
	resp, text = do(t, "GET", p.url+"/refused", "") // R8: few attempts per second are left, and no token yet
	assert.Equal(t, 429, resp.StatusCode)
	assert.Equal(t, "reprise: 429: the upstream throttles, and the send limiter lets no more be sent in time\n", text)
	assert.Contains(t, []string{"1", "2"}, resp.Header.Get("Retry-After"), "R8.2: at least one attempt in 2 s")
	assert.EqualValues(t, 1, hits.Load())
	said := p.log.request(t, "/refused")
	assert.EqualValues(t, 0, said["attempts"])
	assert.Equal(t, "deadline", said["reason"])
}

// Where a retry was granted, and the limiter then does not let it out, the
// upstream's answer passes through as it is.
func TestLimiterRefusesRetry(t *testing.T) {
	var hits atomic.Int32
	page := strings.Repeat("<p>busy</p>", 20_000)
	p := start(t, one(t, upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		w.Header().Set("Retry-After", "77")
		w.Header().Set("X-Amzn-Errortype", "SlowDown")
		w.WriteHeader(503)
		_, _ = io.WriteString(w, page)
	})), settings(func(s *proxyconf.Settings) { s.Mode, s.Timeout = engine.Adaptive, 400*time.Millisecond }))
	resp, text := do(t, "GET", p.url+"/page", "")
	assert.Equal(t, 503, resp.StatusCode)
	assert.True(t, text == page)
	assert.Equal(t, []string{"77"}, resp.Header.Values("Retry-After"))
	assert.EqualValues(t, 1, hits.Load())
	assert.Equal(t, 500, p.state(t).Quota.Level, "R6.3")
	assert.Equal(t, "deadline", p.log.request(t, "/page")["reason"])
}

// Time that is up is 504, of a call and of its last attempt; it does not count
// once the headers are there.
func TestTimeouts(t *testing.T) {
	release := make(chan struct{})
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			_ = http.NewResponseController(w).Flush()
			<-release
			_, _ = io.WriteString(w, "late")
			return
		}
		<-r.Context().Done()
	})
	p := start(t, one(t, up), settings(func(s *proxyconf.Settings) { s.Timeout = time.Second }))
	began := time.Now()
	resp, text := do(t, "GET", p.url+"/call", "")
	assert.Equal(t, 504, resp.StatusCode)
	assert.Equal(t, "reprise: 504: the upstream did not answer in time\n", text)
	assert.Less(t, time.Since(began), patience/2)
	said := p.log.request(t, "/call")
	assert.EqualValues(t, 1, said["attempts"])
	assert.Equal(t, "deadline", said["reason"])
	p.log.wait(t, func(l line) bool {
		return l.message == "no answer from the upstream" && l.attrs["reason"] == "deadline"
	})

	resp, err := client(t).Get(p.url + "/body")
	require.NoError(t, err)
	over := time.NewTimer(1100 * time.Millisecond)
	<-over.C // longer than the timeout
	close(release)
	got, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, "late", string(got))
	require.NoError(t, resp.Body.Close())

	p = start(t, one(t, up), settings(func(s *proxyconf.Settings) {
		s.AttemptTimeout = []time.Duration{30 * time.Millisecond, 40 * time.Millisecond}
	}))
	resp, _ = do(t, "GET", p.url+"/attempts", "")
	assert.Equal(t, 504, resp.StatusCode)
	said = p.log.request(t, "/attempts")
	assert.EqualValues(t, 3, said["attempts"])
	assert.Equal(t, "max_attempts", said["reason"])
}

// A retry goes to another URL; one that nothing connects to is passed over.
func TestReplicas(t *testing.T) {
	var bad, good atomic.Int32
	failing := upstream(t, func(w http.ResponseWriter, _ *http.Request) { bad.Add(1); w.WriteHeader(503) })
	working := upstream(t, func(http.ResponseWriter, *http.Request) { good.Add(1) })
	p := start(t, one(t, failing, working))
	for range 20 {
		resp, _ := do(t, "GET", p.url, "")
		assert.Equal(t, 200, resp.StatusCode)
	}
	assert.EqualValues(t, 10, bad.Load(), "first attempts go round, and no retry comes here")
	assert.EqualValues(t, 20, good.Load())

	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	for _, down := range []string{unused(t), "https://" + silent.Addr().String()} { // refused; no handshake
		p = start(t, one(t, down, working), settings(func(s *proxyconf.Settings) { s.AttemptTimeout = []time.Duration{200 * time.Millisecond} }))
		began := time.Now()
		for range 20 {
			resp, _ := do(t, "PUT", p.url, "order")
			assert.Equal(t, 200, resp.StatusCode)
		}
		s := p.state(t)
		assert.Equal(t, down, s.URLs[0].URL)
		assert.LessOrEqual(t, s.URLs[0].Attempts, 2+int(time.Since(began)/time.Second), "one a second finds out how it is")
		assert.Equal(t, s.URLs[0].Attempts, s.URLs[0].Failed)
		assert.Equal(t, 20, s.URLs[1].Attempts)
	}
}

// A hedge goes to another URL, beside the attempt that has no answer yet, and is
// paid for; the slow attempt is cancelled.
func TestHedge(t *testing.T) {
	cancelled := make(chan struct{}, 1)
	slow := upstream(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done(); cancelled <- struct{}{} })
	quick := upstream(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "quick") })
	p := start(t, one(t, slow, quick), settings(func(s *proxyconf.Settings) { s.Hedge = 20 * time.Millisecond }))
	resp, text := do(t, "GET", p.url, "")
	assert.Equal(t, 200, resp.StatusCode)
	assert.Equal(t, "quick", text)
	wait(t, "the end of the slow attempt", cancelled)
	s := p.state(t)
	assert.Equal(t, 1, s.Retries.Hedges)
	assert.Equal(t, 500, s.Quota.Level, "it won, so it gave back what it took")
	_, text = do(t, "GET", p.admin+"/-/metrics", "")
	assert.Contains(t, text, `reprise_hedges_total{engine="default",key=""} 1`)
}

// What a layer above retries is sent once; what is retried here is marked.
func TestRetryMark(t *testing.T) {
	var marks []string
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		marks = append(marks, r.Header.Get("Retry-Attempt"))
		w.WriteHeader(503)
	})
	p := start(t, one(t, up), settings(func(s *proxyconf.Settings) { s.RetryMark = true }))
	do(t, "GET", p.url, "")
	assert.Equal(t, []string{"1", "2", "3"}, marks)
	marks = nil
	resp, _ := do(t, "GET", p.url, "", "Retry-Attempt: 2")
	assert.Equal(t, 503, resp.StatusCode)
	assert.Equal(t, []string{"2"}, marks)
	assert.Equal(t, 1, p.state(t).Stops["not_replayable"])
}

func TestRoutes(t *testing.T) {
	named := func(name string) string {
		return upstream(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) })
	}
	c, err := proxyconf.Parse("p.yaml", fmt.Appendf(nil, `upstreams:
- {name: rest, urls: %q}
- {name: orders, urls: %q, paths: [/orders, /carts/]}
- {name: old, urls: %q, paths: /orders/old}
- {name: shop, urls: %q, hosts: shop.example, paths: /orders}
`, named("rest"), named("orders"), named("old"), named("shop")))
	require.NoError(t, err)
	p := start(t, c)
	for _, row := range []struct{ host, path, want string }{
		{"a", "/", "rest"}, {"a", "/orders", "orders"}, {"a", "/orders/1", "orders"}, {"a", "/orders2", "rest"},
		{"a", "/carts", "orders"}, {"a", "/carts/1", "orders"}, {"a", "/orders/old/1", "old"}, {"a", "/x/../orders", "orders"},
		{"a", "/orders/../x", "rest"}, {"a", "//orders", "orders"}, {"a", "/orders%2F1", "orders"},
		{"SHOP.example:8080", "/orders/1", "shop"}, {"shop.example.", "/orders", "shop"}, {"shop.example", "/x", "rest"},
	} {
		conn, in := raw(t, p.url)
		send(t, conn, "GET "+row.path+" HTTP/1.1\r\nHost: "+row.host+"\r\nConnection: close\r\n\r\n")
		resp, err := http.ReadResponse(in, nil)
		require.NoError(t, err)
		text, _ := io.ReadAll(resp.Body)
		assert.Equal(t, row.want, string(text), row)
	}
	c.Upstreams = c.Upstreams[1:]
	p = start(t, c)
	resp, text := do(t, "GET", p.url+"/x", "")
	assert.Equal(t, 404, resp.StatusCode)
	assert.Equal(t, "reprise: 404: no upstream is for this host and path\n", text)
}

// Connections beyond the limit wait for one that ends.
func TestMaxConnections(t *testing.T) {
	p := start(t, one(t, upstream(t, func(http.ResponseWriter, *http.Request) {})), func(o *proxyOptions, _ *proxyconf.Config) { o.MaxConnections = 1 })
	first, in := raw(t, p.url)
	send(t, first, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	_, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	second, waiting := raw(t, p.url)
	send(t, second, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	require.NoError(t, second.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err = waiting.Peek(1)
	var slow net.Error
	require.ErrorAs(t, err, &slow)
	assert.True(t, slow.Timeout())
	require.NoError(t, first.Close())
	require.NoError(t, second.SetReadDeadline(time.Now().Add(patience)))
	resp, err := http.ReadResponse(bufio.NewReader(second), nil)
	require.NoError(t, err)
	assert.Equal(t, 200, resp.StatusCode)
}
