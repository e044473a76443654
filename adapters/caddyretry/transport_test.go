package caddyretry_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/caddyretry"
	"github.com/reprise-go/reprise/engine"
)

// Peer fault 8: the upstream's own answer comes through, whatever ended the call.
func TestTheUpstreamsAnswerComesThrough(t *testing.T) {
	fast(t, engine.WithTokens(13))
	w := serveWire(t, say(503, "busy", "X-Own", "yes"))
	s := serve(t, proxy(w.addr, ""))
	r := s.get("/")
	assert.Equal(t, 503, r.status)
	assert.Equal(t, "busy", r.body)
	assert.Equal(t, "yes", r.header.Get("X-Own"))
	assert.Equal(t, 1, w.hits(), "the quota refused the retry")
}

// What Caddy answers where there is no answer of the upstream's.
func TestStatusWithoutAnAnswer(t *testing.T) {
	for _, row := range []struct {
		name, block string
		script      script // nil: nobody listens
		status      int
		reason      string
	}{
		{"refused", "", nil, 502, "max_attempts"},
		{"cut off", "", reset, 502, "max_attempts"},
		{"not HTTP", "", raw("SSH-2.0-x\r\n\r\n", false), 502, "non_retryable"},
		{"attempts too slow", "attempt_timeout 50ms", silence, 504, "max_attempts"},
		{"the call too slow", "timeout 50ms", silence, 504, "deadline"},
		{"the call too slow, attempts bounded", "attempt_timeout 50ms\ntimeout 50ms", silence, 504, ""},
		{"headers too slow for Caddy's transport", "response_header_timeout 50ms\nmax_attempts 2", silence, 504, "max_attempts"},
	} {
		t.Run(row.name, func(t *testing.T) {
			fast(t)
			addr := freeAddr(t)
			if row.script != nil {
				addr = serveWire(t, row.script).addr
			}
			s := serve(t, proxy(addr, row.block)+"\nlog_append why {http.reverse_proxy.retry.reason}")
			assert.Equal(t, row.status, s.get("/").status)
			if row.reason != "" {
				s.logged(fmt.Sprintf(`"why":%q`, row.reason))
			}
		})
	}
}

// In adaptive mode a request that the limiter does not let go in time is answered
// 429 with a hint, and the upstream is not asked.
func TestThrottledHere(t *testing.T) {
	caddyretry.SetEngineOptions(t)
	w := serveWire(t, say(429, "slow down"))
	s := serve(t, proxy(w.addr, "mode adaptive\nmax_attempts 1\ntimeout 200ms"))
	for range 10 {
		if r := s.get("/"); strings.HasPrefix(r.body, "reprise:") {
			assert.Equal(t, 429, r.status)
			assert.NotEmpty(t, r.header.Get("Retry-After"))
			s.logged(`"retry_attempts":0,"retry_reason":"deadline"`)
			assert.Less(t, w.hits(), 10)
			return
		}
	}
	t.Fatal("the limiter let everything go")
}

// Peer fault 121: what succeeds is sent once, and is whole.
func TestOneSendForASuccess(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	defer up.Close()
	s := serve(t, proxy(up.Listener.Addr().String(), ""))
	long := strings.Repeat("0123456789", 100_000)
	assert.Equal(t, reply{200, nil, long}, func() reply { r := s.do("POST", "/", long); r.header = nil; return r }())
	assert.Equal(t, 500, engineOf(t, up.Listener.Addr().String()).Stats().QuotaLevel)
}

// Peer faults 115, 122 and 133: bodies are kept up to body_limit, without a wait;
// what is longer is sent once, and the upstream's own answer comes back.
func TestBodies(t *testing.T) {
	for _, row := range []struct {
		name, block, method, key string
		bytes, hits, status      int
	}{
		{"PUT", "", "PUT", "", 1000, 2, 200},
		{"a POST", "", "POST", "", 1000, 1, 503},
		{"a POST with a key", "", "POST", "1", 1000, 2, 200},
		{"a POST of any_method", "any_method", "POST", "", 1000, 2, 200},
		{"just short enough", "", "PUT", "", 64 << 10, 2, 200},
		{"too long", "", "PUT", "", 64<<10 + 1, 1, 503},
		{"body_limit", "body_limit 100KiB", "PUT", "", 64<<10 + 1, 2, 200},
		{"nothing kept", "body_limit 0", "PUT", "", 1, 1, 503},
	} {
		t.Run(row.name, func(t *testing.T) {
			fast(t)
			w := serveWire(t, inTurn(say(503, "busy"), say(200, "ok")))
			s := serve(t, proxy(w.addr, row.block))
			header := []string{}
			if row.key != "" {
				header = []string{"Idempotency-Key", row.key}
			}
			body := strings.Repeat("x", row.bytes)
			assert.Equal(t, row.status, s.do(row.method, "/", body, header...).status)
			require.Equal(t, row.hits, w.hits())
			for i, req := range w.seen {
				got, _ := io.ReadAll(req.Body)
				assert.Equal(t, body, string(got), "attempt %d", i+1)
			}
			if row.hits == 1 {
				s.logged(`"retry_reason":"not_replayable"`)
				assert.Equal(t, 500, engineOf(t, w.addr).Stats().QuotaLevel, "R2.1")
			}
		})
	}
}

// A body that Caddy has buffered is sent again too.
func TestBufferedBody(t *testing.T) {
	fast(t)
	w := serveWire(t, inTurn(hangUp, say(200, "ok")))
	s := serve(t, "reverse_proxy "+w.addr+" {\n request_buffers 1MiB\n transport reprise {\n any_method\n body_limit 1MiB\n }\n }")
	body := strings.Repeat("x", 200_000)
	assert.Equal(t, 200, s.do("POST", "/", body).status)
	require.Equal(t, 2, w.hits())
	got, _ := io.ReadAll(w.seen[1].Body)
	assert.Equal(t, body, string(got))
}

// A body that is still being made streams through, both ways.
func TestStreams(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		_ = c.EnableFullDuplex()
		w.WriteHeader(200)
		_ = c.Flush()
		buf := make([]byte, 16)
		for {
			n, err := r.Body.Read(buf)
			_, _ = w.Write(buf[:n])
			_ = c.Flush()
			if err != nil {
				return
			}
		}
	}))
	defer up.Close()
	s := serve(t, "reverse_proxy "+up.Listener.Addr().String()+" {\n flush_interval -1\n transport reprise {\n timeout 30s\n attempt_timeout 10s\n }\n }")
	from, to := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), "PUT", s.url("/"), from)
	require.NoError(t, err)
	go func() { _, _ = io.WriteString(to, "one") }()
	resp, err := client(t).Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	buf := make([]byte, 3)
	for _, word := range []string{"one", "two"} {
		if word != "one" {
			_, _ = io.WriteString(to, word)
		}
		_, err = io.ReadFull(resp.Body, buf)
		require.NoError(t, err)
		assert.Equal(t, word, string(buf))
	}
	require.NoError(t, to.Close())
	rest, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Empty(t, rest)
}

// An upgraded connection is handed through as it is; a failure before it is retried.
func TestUpgrade(t *testing.T) {
	fast(t)
	const accepted = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"
	w := serveWire(t, inTurn(say(503, ""), func(_ int, conn net.Conn, _ *http.Request) bool {
		_, _ = io.WriteString(conn, accepted)
		buf := make([]byte, 4)
		_, _ = io.ReadFull(conn, buf)
		_, _ = conn.Write([]byte(strings.ToUpper(string(buf))))
		return false
	}))
	s := serve(t, proxy(w.addr, "timeout 10s\nattempt_timeout 5s"))
	conn, err := net.Dial("tcp", s.addr)
	require.NoError(t, err)
	defer conn.Close()
	_, _ = fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n", s.addr)
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	require.NoError(t, err)
	assert.Equal(t, 101, resp.StatusCode)
	_, _ = io.WriteString(conn, "ping")
	answer := make([]byte, 4)
	_, err = io.ReadFull(r, answer)
	require.NoError(t, err)
	assert.Equal(t, "PING", string(answer))
	assert.Equal(t, 2, w.hits())
}

// Active health checks are sent once, and are nobody's calls.
func TestHealthChecksAreNotRetried(t *testing.T) {
	asked := make(chan string, 100)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		if r.URL.Path == "/health" {
			w.WriteHeader(503)
		}
	}))
	defer up.Close()
	s := serve(t, "reverse_proxy "+up.Listener.Addr().String()+" {\n health_uri /health\n health_interval 1h\n transport reprise\n }")
	assert.Equal(t, "/health", <-asked)
	s.logged("status code out of tolerances")
	assert.Empty(t, asked)
	assert.Empty(t, caddyretry.EnginesOf("caddy"))
}

// Peer fault 118: a connection that died is a failed attempt, which the quota pays
// for; net/http sends nothing again by itself.
func TestNothingIsSentUnpaid(t *testing.T) {
	fast(t, engine.WithTokens(0))
	w := serveWire(t, inTurn(say(200, "hello"), hangUp))
	s := serve(t, proxy(w.addr, ""))
	assert.Equal(t, 200, s.get("/").status)
	assert.Equal(t, 502, s.get("/").status, "on the connection of the first")
	assert.Equal(t, 2, w.hits())
}

// Peer fault 119: of two attempts side by side the quicker one's body is whole.
func TestHedge(t *testing.T) {
	long := strings.Repeat("x", 512<<10)
	slow, stop := context.WithCancel(t.Context())
	defer stop()
	w := serveWire(t, inTurn(func(_ int, conn net.Conn, _ *http.Request) bool { <-slow.Done(); return false }, say(200, long)))
	s := serve(t, proxy(w.addr, "hedge 20ms\ntimeout 20s"))
	r := s.get("/")
	assert.Equal(t, 200, r.status)
	assert.Equal(t, long, r.body)
	assert.Equal(t, uint64(1), engineOf(t, w.addr).Stats().Hedges)
}

// retry_mark sets and honours the mark; without it nothing is set.
func TestRetryMark(t *testing.T) {
	fast(t)
	w := serveWire(t, say(503, ""))
	s := serve(t, proxy(w.addr, "retry_mark"))
	s.get("/")
	assert.Equal(t, 3, w.hits())
	assert.Equal(t, "3", w.seen[2].Header.Get("Retry-Attempt"))
	s.do("GET", "/", "", "Retry-Attempt", "2")
	assert.Equal(t, 4, w.hits(), "a layer above retries")
	assert.Equal(t, "2", w.seen[3].Header.Get("Retry-Attempt"))
	require.NoError(t, s.load(proxy(w.addr, "")))
	s.get("/")
	assert.Equal(t, 7, w.hits())
	assert.Empty(t, w.seen[6].Header.Get("Retry-Attempt"))
}

// Classes that are not R3's.
func TestClassify(t *testing.T) {
	fast(t)
	w := serveWire(t, func(_ int, conn net.Conn, req *http.Request) bool {
		switch req.URL.Path {
		case "/code":
			return say(400, `{"code":"Odd"}`, "Content-Type", json)(1, conn, req)
		case "/425":
			return say(425, "")(1, conn, req)
		}
		return say(503, "")(1, conn, req)
	})
	s := serve(t, proxy(w.addr, "classify transient 425\nclassify throttling Odd\nclassify non_retryable 503"))
	for _, path := range []string{"/425", "/code", "/"} {
		s.get(path)
	}
	stats := engineOf(t, w.addr).Stats()
	assert.Equal(t, []uint64{2, 2, 1}, []uint64{stats.TransientRetries, stats.ThrottlingRetries, stats.Stops[engine.ReasonNonRetryable]})
}

// Two upstreams do not pay for each other (R6.2), and what is beyond max_upstreams
// is not retried.
func TestAnEngineForEachUpstream(t *testing.T) {
	fast(t)
	a, b := serveWire(t, say(503, "")), serveWire(t, say(200, ""))
	site := func(block string) string {
		return "reverse_proxy /a " + a.addr + " {\n transport reprise {\n" + block + "\n}\n}\nreverse_proxy /b " + b.addr + " {\n transport reprise {\n" + block + "\n}\n}"
	}
	s := serve(t, site(""))
	s.get("/a")
	s.get("/b")
	assert.Equal(t, 472, engineOf(t, a.addr).Stats().QuotaLevel)
	assert.Equal(t, 500, engineOf(t, b.addr).Stats().QuotaLevel)

	require.NoError(t, s.load(site("max_upstreams 1")))
	s.get("/b")
	hits := a.hits()
	s.get("/a")
	assert.Equal(t, hits+1, a.hits())
}
