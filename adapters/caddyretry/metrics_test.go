package caddyretry_test

import (
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The metrics are in Caddy's registry, one set for each upstream, and go on over a
// reload.
func TestMetrics(t *testing.T) {
	fast(t)
	w := serveWire(t, func(n int, conn net.Conn, req *http.Request) bool {
		if req.URL.Path == "/throttled" {
			return say(429, "")(n, conn, req)
		}
		return say(503, "")(n, conn, req)
	})
	body := "metrics /metrics\n" + proxy(w.addr, "name orders\nmode adaptive")
	s := serve(t, body)
	assert.NotContains(t, s.get("/metrics").body, "reprise_quota_tokens{", "no engine is there before its first call")
	s.get("/")
	s.get("/throttled")
	require.NoError(t, s.load(body))
	got := s.get("/metrics").body
	for _, line := range []string{
		`reprise_quota_tokens{engine="orders",key="ADDR"} 462`,
		`reprise_quota_capacity_tokens{engine="orders",key="ADDR"} 500`,
		`reprise_retries_total{class="transient",engine="orders",key="ADDR"} 2`,
		`reprise_retries_total{class="throttling",engine="orders",key="ADDR"} 2`,
		`reprise_stops_total{engine="orders",key="ADDR",reason="max_attempts"} 2`,
		`reprise_unsent_retries_total{engine="orders",key="ADDR"} 0`,
		`reprise_recoveries_total{engine="orders",key="ADDR"} 0`,
		`reprise_limiter_enabled{engine="orders",key="ADDR"} 1`,
		`reprise_group_engines{engine="orders"} 1`,
		`reprise_group_engines_limit{engine="orders"} 1024`,
		`reprise_group_overflows_total{engine="orders"} 0`,
		`reprise_calls_total{engine="orders",key=""} 2`,
		`reprise_attempts_total{engine="orders",key=""} 6`,
	} {
		assert.Contains(t, got, strings.ReplaceAll(line, "ADDR", w.addr)+"\n")
	}
	assert.Len(t, regexp.MustCompile(`(?m)^reprise_quota_tokens`).FindAllString(got, -1), 1)

	require.NoError(t, s.load("metrics /metrics\n"+proxy(w.addr, "mode legacy")))
	s.get("/")
	got = s.get("/metrics").body
	assert.Contains(t, got, `reprise_retries_total{class="transient",engine="caddy",key="`+w.addr+`"}`)
	assert.NotContains(t, got, "reprise_quota_capacity_tokens{", "legacy mode has no quota")
	assert.NotContains(t, got, "orders", "what no configuration has is gone")
}

// An address with a placeholder may become anything, and be no text.
func TestMetricsOfOddUpstreams(t *testing.T) {
	fast(t)
	s := serve(t, "metrics /metrics\n"+proxy("{http.request.header.X-To}:80", "dial_timeout 10ms"))
	for _, to := range []string{"\xff\xfe", "\xff", strings.Repeat("a", 400), strings.Repeat("b", 400)} {
		s.do("GET", "/", "", "X-To", to)
	}
	r := s.get("/metrics")
	assert.Equal(t, 200, r.status)
	assert.Contains(t, r.body, `reprise_group_engines{engine="caddy"} 3`)
}
