package caddyretry_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/caddyretry"
	"github.com/reprise-go/reprise/engine"
)

// Peer fault 23: engines live on over a reload, with their tokens; changed settings
// hold from the next request on, and no token is lost or minted.
func TestReload(t *testing.T) {
	fast(t)
	w := serveWire(t, say(503, ""))
	s := serve(t, proxy(w.addr, ""))
	s.get("/")
	e := engineOf(t, w.addr)
	require.Equal(t, 500-28, e.Stats().QuotaLevel)

	require.NoError(t, s.load(proxy(w.addr, "")))
	s.get("/")
	assert.Same(t, e, engineOf(t, w.addr))
	assert.Equal(t, 500-56, e.Stats().QuotaLevel)

	require.NoError(t, s.load(proxy(w.addr, "max_attempts 5\nquota {\n transient_cost 1\n}\nclassify throttling 503")))
	hits := w.hits()
	s.get("/")
	assert.Same(t, e, engineOf(t, w.addr))
	assert.Equal(t, hits+5, w.hits())
	assert.Equal(t, uint64(4), e.Stats().ThrottlingRetries)
	assert.Equal(t, 500-56-4*5, e.Stats().QuotaLevel)

	require.NoError(t, s.load(proxy(w.addr, "quota {\n capacity 100\n}")))
	s.get("/")
	assert.Same(t, e, engineOf(t, w.addr))
	assert.Equal(t, 3, e.MaxAttempts(), "what is no longer said is the default again")
	assert.Equal(t, 100, e.Stats().QuotaCapacity)
	assert.LessOrEqual(t, e.Stats().QuotaLevel, 100-28)
}

// Where mode or max_upstreams is another the engines are new ones, at the level of the
// old.
func TestReloadWithNewEngines(t *testing.T) {
	fast(t)
	w := serveWire(t, say(503, ""))
	s := serve(t, proxy(w.addr, ""))
	for range 3 {
		s.get("/")
	}
	level := engineOf(t, w.addr).Stats().QuotaLevel
	require.Equal(t, 500-3*28, level)
	for _, block := range []string{"mode adaptive", "mode adaptive\ncoalesce 10ms", "max_upstreams 5"} {
		require.NoError(t, s.load(proxy(w.addr, block)))
		old := engineOf(t, w.addr)
		s.get("/")
		level -= 28
		assert.NotSame(t, old, engineOf(t, w.addr), block)
		assert.Equal(t, level, engineOf(t, w.addr).Stats().QuotaLevel, block)
	}
	require.NoError(t, s.load(proxy(w.addr, "max_upstreams 5\nquota {\n capacity 200\n}")))
	require.NoError(t, s.load(proxy(w.addr, "quota {\n capacity 200\n}")))
	s.get("/")
	assert.LessOrEqual(t, engineOf(t, w.addr).Stats().QuotaLevel, 200-28)
}

// Legacy mode has no quota to carry over, and is reconfigured like another.
func TestReloadOfLegacyMode(t *testing.T) {
	fast(t)
	w := serveWire(t, say(503, ""))
	s := serve(t, proxy(w.addr, "mode legacy"))
	s.get("/")
	e := engineOf(t, w.addr)
	assert.Equal(t, 5, w.hits())
	require.NoError(t, s.load(proxy(w.addr, "mode legacy\nmax_attempts 2")))
	s.get("/")
	assert.Equal(t, 7, w.hits())
	assert.Same(t, e, engineOf(t, w.addr))
	require.NoError(t, s.load(proxy(w.addr, "")))
	s.get("/")
	assert.Equal(t, 500-28, engineOf(t, w.addr).Stats().QuotaLevel)
}

// A configuration that fails changes nothing of the one that goes on.
func TestFailedReload(t *testing.T) {
	fast(t)
	w := serveWire(t, say(503, ""))
	s := serve(t, proxy(w.addr, "max_attempts 2"))
	s.get("/")
	e := engineOf(t, w.addr)
	err := s.load(proxy(w.addr, "max_attempts 9") + "\n" + strings.Replace(proxy("127.0.0.1:1", "tls_client_auth /no/such/file /nor/this"), "reverse_proxy", "reverse_proxy /x", 1))
	require.Error(t, err)
	s.get("/")
	assert.Equal(t, 4, w.hits())
	assert.Same(t, e, engineOf(t, w.addr))
	assert.Equal(t, 2, e.MaxAttempts())
}

// Transports of one name share engines, and so must want the same of them; another
// name has others.
func TestNames(t *testing.T) {
	fast(t)
	w := serveWire(t, say(503, ""))
	two := func(a, b string) string {
		return strings.Replace(proxy(w.addr, a), "reverse_proxy", "reverse_proxy /a", 1) + "\n" + strings.Replace(proxy(w.addr, b), "reverse_proxy", "reverse_proxy /b", 1)
	}
	s := serve(t, two("", "any_method\nbody_limit 1\ndial_timeout 1s"))
	s.get("/a")
	s.get("/b")
	assert.Equal(t, 500-56, engineOf(t, w.addr).Stats().QuotaLevel)

	err := s.load(two("max_attempts 4", "max_attempts 5"))
	require.ErrorContains(t, err, `name is "caddy" in two transports that want engines with different settings`)
	require.ErrorContains(t, err, `"max_attempts":4`)
	require.ErrorContains(t, err, `"max_attempts":5`)

	require.NoError(t, s.load(two("", "name other\nmax_attempts 5")))
	s.get("/a")
	s.get("/b")
	assert.Equal(t, 500-3*28, engineOf(t, w.addr).Stats().QuotaLevel)
	assert.Equal(t, 500-4*14, caddyretry.EnginesOf("other")[w.addr].Stats().QuotaLevel)
	assert.ElementsMatch(t, []string{"caddy", "other"}, caddyretry.Names())

	require.NoError(t, s.load(two("name other", "name other")))
	assert.Equal(t, []string{"other"}, caddyretry.Names(), "what no configuration has is gone")
}

// Reloads under load: the engine goes on, and the tokens that are missing are those
// of the retries. A connection may be lost when Caddy's old listener goes; that is
// no call.
func TestReloadUnderLoad(t *testing.T) {
	fast(t)
	w := serveWire(t, say(503, ""))
	s := serve(t, proxy(w.addr, "max_attempts 2"))
	s.get("/")
	e := engineOf(t, w.addr)
	calls := 100
	if testing.Short() {
		calls = 30
	}
	var running sync.WaitGroup
	var answered atomic.Int64
	c := client(t)
	for range 2 {
		running.Go(func() {
			for range calls {
				if resp, err := c.Get(s.url("/")); err == nil {
					assert.Equal(t, 503, resp.StatusCode)
					_ = resp.Body.Close()
					answered.Add(1)
				}
			}
		})
	}
	for i := range 5 {
		block := "max_attempts 2"
		if i%2 == 0 {
			block += "\nbackoff {\n max 1s\n}"
		}
		assert.NoError(t, s.loadAt(s.addr, proxy(w.addr, block)))
	}
	running.Wait()
	require.NoError(t, s.load(proxy(w.addr, "max_attempts 2")))
	s.get("/") // with the last settings
	stats := e.Stats()
	assert.Same(t, e, engineOf(t, w.addr))
	assert.Equal(t, 500-14*int(stats.TransientRetries-stats.UnsentRetries), stats.QuotaLevel)
	assert.GreaterOrEqual(t, stats.Stops[engine.ReasonMaxAttempts]+stats.Stops[engine.ReasonQuota], uint64(answered.Load()+2))
	assert.Positive(t, answered.Load())
}
