package httpretry_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// Peer fault 5, at this door: 256 callers that loop against a server that is down,
// for ten seconds. Without retries they send as fast as it answers, give or take
// the last round; with retries, or hedges, that an empty quota refuses, no more
// than the quota's worth above that; and with pacing less than without retries.
func TestPeerFault5AnEmptyQuotaDoesNotSpeedCallersUp(t *testing.T) {
	load := func(t *testing.T, opts []engine.Option, more ...httpretry.Option) (sent int) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var mu sync.Mutex
			b := roundTripper(func(req *http.Request) (*http.Response, error) {
				mu.Lock()
				sent++
				mu.Unlock()
				<-time.After(100 * ms)
				return response(503, ""), nil
			})
			transport := newTransport(t, newEngine(t, opts...), append(more, httpretry.WithBase(b))...)
			var wg sync.WaitGroup
			for range 256 {
				wg.Go(func() {
					for ctx.Err() == nil {
						resp, err := transport.RoundTrip(get(t, ctx))
						if err == nil {
							_ = resp.Body.Close()
						}
					}
				})
			}
			wg.Wait()
		})
		return sent
	}
	off := load(t, []engine.Option{engine.WithMaxAttempts(1)})
	require.InDelta(t, 256*100, off, 256)
	assert.LessOrEqual(t, load(t, nil), off+500/14+256)
	assert.LessOrEqual(t, load(t, nil, httpretry.WithHedge(10*ms)), off+500/14+256, "hedges are paid from the same quota")
	assert.Less(t, load(t, []engine.Option{engine.WithPacing()}), off)
}
