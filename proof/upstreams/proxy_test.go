package upstreams_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/engine"
)

// `reprise proxy` before the same nginx as the doors: the same attempts, tokens
// and reasons, and nginx's own last answer for its client. Where a hint asks for
// seconds, the doors' test has it, whose time is not real.
func TestProxyAnswers(t *testing.T) {
	for _, row := range rows() {
		if len(row.delays) > 0 && slices.Max(row.delays) > 2*time.Second {
			continue
		}
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server := nginx(t, "", "location / { "+row.location+" }")
			g := inFront(t, server.url)
			row.ask.url = server.url + "/"
			got := g.send(t.Context(), row.ask)
			require.NoError(t, got.err)
			assert.Contains(t, got.body, "its own")
			account := g.account(t)
			assert.Equal(t, row.tokens, account.Quota.Level, "R6")
			assert.Equal(t, map[string]int{row.reason.String(): 1}, stopped(account))
			seen := server.requests(t)
			require.Len(t, seen, row.attempts)
			assert.Equal(t, seen[len(seen)-1].status, got.status)
		})
	}
}

// stopped are the reasons for which calls ended.
func stopped(a account) map[string]int {
	reasons := make(map[string]int)
	for reason, n := range a.Stops {
		if n > 0 {
			reasons[reason] = n
		}
	}
	return reasons
}

// Half of all attempts fail, for eight clients at once.
func TestProxyRandomFailures(t *testing.T) {
	server := nginx(t, coinHTTP, coinServer)
	g := inFront(t, server.url, "--backoff-transient=1ns", "--quota-capacity=5000")
	got := crowd(t, g.send, server.url, 60)
	account := g.account(t)
	seen := times(server.requests(t))
	assertOnce(t, seen)
	retries := 0
	for call, one := range got {
		assert.NoError(t, one.err, call)
		assert.Contains(t, []int{200, 503}, one.status, call)
		assert.LessOrEqual(t, seen[call], 3)
		retries += seen[call] - 1
	}
	assert.Equal(t, account.Retries.Transient, retries, "what was granted is what arrived")
	assert.Positive(t, account.Stops["not_replayable"])
	assert.Positive(t, account.Stops["max_attempts"])
}

// nginx's rate limit, with the status that says so.
func TestProxyRateLimit(t *testing.T) {
	server := nginx(t, "limit_req_zone $binary_remote_addr zone=one:64k rate=1r/m; limit_req_status 429;",
		"location / { limit_req zone=one; empty_gif; }")
	g := inFront(t, server.url)
	assert.Equal(t, 200, g.send(t.Context(), ask{url: server.url}).status)
	for call := 1; call <= 4; call++ {
		assert.Equal(t, 429, g.send(t.Context(), ask{url: server.url}).status)
		assert.Equal(t, 500-10*call, g.account(t).Quota.Level)
	}
	assert.Len(t, server.requests(t), 13)
}

// Connections that nginx ends after three requests are nobody's failure.
func TestProxyKeepAliveEnds(t *testing.T) {
	server := nginx(t, "keepalive_requests 3;", `location / { return 200 "yes"; }`)
	g := inFront(t, server.url)
	for call, one := range crowd(t, g.send, server.url, 50) {
		assert.NoError(t, one.err, call)
		assert.Equal(t, 200, one.status, call)
	}
	assert.Equal(t, 500, g.account(t).Quota.Level)
	for call, n := range times(server.requests(t)) {
		assert.Equal(t, 1, n, call)
	}
}

// Connections that nginx ends without a word, while requests are on their way: to
// the proxy each is a failed attempt, so a call may use up its attempts on them.
// What is not idempotent arrives once at the most.
func TestProxyKeepAliveRaces(t *testing.T) {
	server := nginx(t, "keepalive_timeout 1ms;", `location / { return 200 "yes"; }`)
	g := inFront(t, server.url, "--backoff-transient=1ms", "--quota-capacity=100000")
	got := crowd(t, g.send, server.url, 100)
	stops := stopped(g.account(t))
	seen := times(server.requests(t))
	assertOnce(t, seen)
	failed := 0
	for call, one := range got {
		assert.NoError(t, one.err, call)
		assert.Contains(t, []int{http.StatusOK, http.StatusBadGateway}, one.status, call)
		if one.status == http.StatusOK {
			assert.Positive(t, seen[call], call)
		} else {
			failed++
		}
	}
	t.Logf("%d of %d calls got no answer: %v", failed, len(got), stops)
	assert.Equal(t, failed, stops["max_attempts"]+stops["not_replayable"]+stops["non_retryable"])
}

// No answer: the proxy makes one, 502, or 504 if time ran out, having tried as
// often as a door does.
func TestProxyWithoutAnswer(t *testing.T) {
	for _, row := range []struct {
		name, stream, kind, attributes string
		status                         int
		arrives                        bool
	}{
		{"the answer is reset", "downstream", "reset_peer", `"timeout":0`, http.StatusBadGateway, true},
		{"the request is reset", "upstream", "reset_peer", `"timeout":0`, http.StatusBadGateway, false},
		{"the connection ends without an answer", "downstream", "timeout", `"timeout":20`, http.StatusBadGateway, true},
		{"the answer never comes", "downstream", "timeout", `"timeout":0`, http.StatusGatewayTimeout, true},
		{"the answer comes too late", "downstream", "latency", `"latency":3000`, http.StatusGatewayTimeout, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := poisoned(t, row.stream, row.kind, row.attributes)
			timeout := "--attempt-timeout=250ms"
			if row.status != http.StatusGatewayTimeout {
				timeout = "--attempt-timeout=30s" // no busy machine's
			}
			g := inFront(t, p.url, "--backoff-transient=1ns", timeout)
			got := g.send(t.Context(), ask{url: p.url, call: "get"})
			assert.Equal(t, row.status, got.status, got.body)
			assert.Equal(t, 472, g.account(t).Quota.Level)
			post := g.send(t.Context(), ask{url: p.url, method: http.MethodPost, body: "order", call: "post-once"})
			assert.Equal(t, row.status, post.status, post.body)
			assert.Equal(t, map[string]int{engine.ReasonMaxAttempts.String(): 1, engine.ReasonNotReplayable.String(): 1},
				stopped(g.account(t)))
			p.proxy.Stop()
			want := map[string]int{}
			if row.arrives {
				want = map[string]int{"get": 3, "post-once": 1}
			}
			assert.Equal(t, want, times(p.requests(t)))
		})
	}
}

// An answer that is cut in its body is cut for the client too, and never sent
// again.
func TestProxyCutInTheBody(t *testing.T) {
	p := poisoned(t, "downstream", "limit_data", `"bytes":1000`)
	g := inFront(t, p.url)
	got := g.send(t.Context(), ask{url: p.url, call: "cut"})
	if got.err == nil { // else it was cut before its head was sent
		assert.Error(t, got.bodyErr, "%d bytes came, as if they were all", len(got.body))
	}
	assert.Equal(t, 500, g.account(t).Quota.Level)
	p.proxy.Stop()
	assert.Equal(t, map[string]int{"cut": 1}, times(p.requests(t)))
}
