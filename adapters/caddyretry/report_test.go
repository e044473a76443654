package caddyretry_test

import (
	gojson "encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/engine"
)

// Peer faults 17 and 128: the access log says how often a request was sent and why no
// more; as many as arrived.
func TestReport(t *testing.T) {
	for _, row := range []struct {
		name, method  string
		script        []script
		tokens        int
		attempts      int
		reason, class string
		silent        bool // no fields of its own: nothing was retried or would have been
	}{
		{"success", "GET", []script{say(200, "")}, 500, 1, "", "", true},
		{"not found", "GET", []script{say(404, "")}, 500, 1, "non_retryable", "non_retryable", true},
		{"broken", "GET", []script{raw("x\r\n\r\n", false)}, 500, 1, "non_retryable", "non_retryable", true},
		{"second attempt", "GET", []script{say(503, ""), say(200, "")}, 500, 2, "", "", false},
		{"attempts", "GET", []script{say(429, "")}, 500, 3, "max_attempts", "throttling", false},
		{"cut off", "GET", []script{hangUp}, 500, 3, "max_attempts", "transient", false},
		{"quota", "GET", []script{say(503, "")}, 13, 1, "quota", "transient", false},
		{"POST", "POST", []script{say(503, "")}, 500, 1, "not_replayable", "transient", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			fast(t, engine.WithTokens(row.tokens))
			w := serveWire(t, inTurn(row.script...))
			s := serve(t, proxy(w.addr, "")+`
				log_append attempts {http.reverse_proxy.retry.attempts}
				log_append reason {http.reverse_proxy.retry.reason}
				log_append class {http.reverse_proxy.retry.class}
				header X-Attempts {http.reverse_proxy.retry.attempts}`)
			s.do(row.method, "/", "")
			var line map[string]any
			require.NoError(t, gojson.Unmarshal([]byte(s.logged("handled request")[0]), &line))
			assert.EqualValues(t, row.attempts, line["attempts"])
			assert.Equal(t, row.reason, line["reason"])
			assert.Equal(t, row.class, line["class"])
			assert.Equal(t, row.attempts, w.hits())
			if row.silent {
				assert.NotContains(t, line, "retry_attempts")
				return
			}
			assert.EqualValues(t, row.attempts, line["retry_attempts"])
			assert.Equal(t, row.reason, line["retry_reason"])
			assert.Equal(t, row.class, line["retry_class"])
		})
	}
}

// Where Caddy's load balancing sends again what was given up, rounds add and do not
// multiply, and that is warned of.
func TestLoadBalancingRetries(t *testing.T) {
	fast(t)
	dead, w := freeAddr(t), serveWire(t, say(200, "hello"))
	s := serve(t, "reverse_proxy "+dead+" "+w.addr+" {\n lb_policy first\n lb_retries 5\n lb_try_interval 1ms\n fail_duration 1m\n transport reprise\n }")
	s.logged("lb_retries or lb_try_duration makes reverse_proxy send again")
	assert.Equal(t, "hello", s.get("/").body, "another upstream takes what the first did not")
	assert.Equal(t, 500-28, engineOf(t, dead).Stats().QuotaLevel)

	down := serveWire(t, hangUp)
	require.NoError(t, s.load("reverse_proxy "+down.addr+" {\n lb_retries 5\n transport reprise\n }"))
	s.get("/")
	assert.Equal(t, 3+5, down.hits(), "not 3 x 6")
	s.logged(`"retry_attempts":8`)
	s.get("/")
	assert.Equal(t, 2*(3+5), down.hits(), "and the next request begins anew")
	assert.Equal(t, 500-56, engineOf(t, down.addr).Stats().QuotaLevel)
}

// A handler before the proxy that is a proxy itself has a call of its own.
func TestForwardAuth(t *testing.T) {
	fast(t)
	auth, w := serveWire(t, inTurn(hangUp, say(200, ""))), serveWire(t, inTurn(hangUp, say(200, "hello")))
	s := serve(t, "forward_auth "+auth.addr+" {\n uri /auth\n lb_retries 1\n transport reprise\n }\n reverse_proxy "+w.addr+" {\n lb_retries 1\n transport reprise\n }")
	assert.Equal(t, "hello", s.get("/").body)
	assert.Equal(t, []int{2, 2}, []int{auth.hits(), w.hits()})
	assert.Equal(t, uint64(1), engineOf(t, w.addr).Stats().Recoveries)
	s.logged(`"retry_attempts":2`)
}
