package upstreams_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// nginx's own rate limit, one request a minute: the first call gets through, the
// next ones are told so by 429 (R3.4) or, as nginx has it by default, by 503.
func TestRateLimit(t *testing.T) {
	for _, row := range []struct {
		status string
		class  classify.Class
		cost   int
	}{
		{"limit_req_status 429;", classify.Throttling, 5},
		{"", classify.Transient, 14},
	} {
		throughEach(t, func(t *testing.T, d door) {
			server := nginx(t, "limit_req_zone $binary_remote_addr zone=one:64k rate=1r/m; "+row.status,
				"location / { limit_req zone=one; empty_gif; }")
			e := watch(t)
			send := d.open(t, e.Engine, 0)
			assert.Equal(t, 200, send(t.Context(), ask{url: server.url}).status)
			for call := 1; call <= 5; call++ {
				got := send(t.Context(), ask{url: server.url})
				assert.Equal(t, 3, got.attempts)
				assert.Equal(t, row.class, got.class)
				assert.Equal(t, 500-2*row.cost*call, e.tokens(), "R6")
			}
			assert.Len(t, server.requests(t), 16)
		})
	}
}

// A limit of five requests a second and a server that says so: the retry that
// waits as long as the hint asks gets through (R5). Real time: the limit is
// nginx's.
func TestRateLimitWithHint(t *testing.T) {
	throughEach(t, func(t *testing.T, d door) {
		server := nginx(t, "limit_req_zone $binary_remote_addr zone=five:64k rate=5r/s; limit_req_status 429;",
			"location / { limit_req zone=five; add_header x-amz-retry-after 250 always; empty_gif; }")
		e, err := engine.New(engine.WithSource(fastbackoff.Fixed(0)))
		require.NoError(t, err)
		send := d.open(t, e, 0)
		assert.Equal(t, 1, send(t.Context(), ask{url: server.url}).attempts)
		got := send(t.Context(), ask{url: server.url})
		assert.Equal(t, 200, got.status)
		assert.Equal(t, 2, got.attempts)
		assert.Equal(t, 500, e.Stats().QuotaLevel, "R6: the success gave back what its retry took")
		seen := server.requests(t)
		require.Equal(t, []int{200, 429, 200}, statuses(seen))
		assert.GreaterOrEqual(t, seen[2].at-seen[1].at, 0.249, "R5: clamp(250 ms, 0, 5 s), by nginx's clock of 1 ms")
	})
}

// HAProxy's stick table lets five requests of an address through.
func TestStickTable(t *testing.T) {
	throughEach(t, func(t *testing.T, d door) {
		server := haproxy(t, `
	stick-table type ip size 1k expire 60s store http_req_rate(60s)
	http-request track-sc0 src
	http-request deny deny_status 429 if { sc_http_req_rate(0) gt 5 }
	http-request return status 200 content-type text/plain string within
`)
		e := watch(t)
		send := d.open(t, e.Engine, 0)
		// HAProxy counted the request of the test that it is ready? It does not
		// get as far as the rules.
		for call := 1; call <= 8; call++ {
			got := send(t.Context(), ask{url: server.url})
			if call <= 5 {
				assert.Equal(t, 200, got.status, "call %d", call)
				continue
			}
			assert.Equal(t, 429, got.status, "call %d", call)
			assert.Equal(t, 3, got.attempts)
			assert.Equal(t, classify.Throttling, got.class)
			assert.Equal(t, 500-10*(call-5), e.tokens())
		}
		assert.Len(t, server.requests(t), 5+3*3)
		assert.Equal(t, ms(500, 1000, 500, 1000, 500, 1000), e.delays)
	})
}
