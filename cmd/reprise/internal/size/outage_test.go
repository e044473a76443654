package size

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/engine"
)

// However many calls an outage has, a plan is looked at in bounded time: fewer
// clients of the same kind come to the same.
func TestLongOutage(t *testing.T) {
	q := Default()
	q.Rate, q.Clients, q.Outage = 1e6, 10_000, 10*time.Minute // 600 million calls
	if testing.Short() {
		q.Rate, q.Clients, q.Outage = 1e3, 10, time.Minute // 60,000
	}
	p := Plan{Attempts: 3, Quota: engine.Quota{Capacity: 7000, TransientCost: 14, ThrottlingCost: 5}, Backoff: scaled(0)}
	began := time.Now()
	got, err := simulateOutage(t.Context(), q, p, Run{Seed: 1}, nil)
	require.NoError(t, err)
	assert.Less(t, time.Since(began), 2*time.Minute)
	assert.InEpsilon(t, q.outage(p)-1, got-1, 0.05)
}
