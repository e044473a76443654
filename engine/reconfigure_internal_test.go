package engine

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A Reconfigure that another one overtakes computes afresh, so that neither is
// lost.
func TestReconfigureOvertaken(t *testing.T) {
	e, err := New()
	require.NoError(t, err)
	runs := 0
	overtaken := func(*config) error {
		if runs++; runs == 1 {
			return e.Reconfigure(WithMaxAttempts(9), WithQuota(Quota{Capacity: 300}))
		}
		return nil
	}
	require.NoError(t, e.Reconfigure(overtaken, WithQuota(Quota{Capacity: 200})))
	assert.Equal(t, 2, runs)
	assert.Equal(t, 9, e.MaxAttempts())
	assert.Equal(t, 200, e.policy.Load().quota.Capacity, "the later one counts")
	assert.Equal(t, 200, e.Stats().QuotaCapacity)
}

// Of two Reconfigures that run at once the one whose policy was replaced may come
// to the bucket last: it leaves the capacity of the policy that stands.
func TestCapacityIsThatOfThePolicyThatStands(t *testing.T) {
	e, err := New()
	require.NoError(t, err)
	require.NoError(t, e.Reconfigure(WithQuota(Quota{Capacity: 100})))
	replaced := e.policy.Load()
	require.NoError(t, e.Reconfigure(WithQuota(Quota{Capacity: 400})))
	require.NoError(t, e.fitCapacity(replaced))
	assert.Equal(t, 400, e.Stats().QuotaCapacity)
}

// Of any number that run at once one stands, and the bucket's capacity is that
// one's.
func TestReconfigureTogether(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 100
	}
	e, err := New()
	require.NoError(t, err)
	for round := range rounds {
		var all sync.WaitGroup
		for worker := range 4 {
			all.Go(func() {
				for i := range 3 {
					if err := e.Reconfigure(WithQuota(Quota{Capacity: 100 + 10*worker + i})); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		require.Equal(t, e.policy.Load().quota.Capacity, e.Stats().QuotaCapacity, "round %d", round)
	}
}
