package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/internal/sim"
)

// Loops draw from sources of their own: whatever becomes of their calls, those of the
// open loop come when they would have come, and of the same clients.
func TestLoopsLeaveTheOpenLoopAlone(t *testing.T) {
	type call struct {
		caller int
		began  time.Duration
	}
	begun := func(s sim.Scenario, p sim.Policy) map[call]bool {
		calls := make(map[call]bool)
		_, err := sim.Run(s, p, sim.Watch{Ended: func(e sim.Ended) { calls[call{e.Caller, e.Began}] = true }})
		require.NoError(t, err)
		return calls
	}
	s := broken()
	s.Duration, s.Load.Rate, s.Server.Shards = 30*time.Second, 50, 4
	open := begun(s, sim.None())
	s.Load.Loops, s.Load.Think = 10, 100*time.Millisecond
	both := begun(s, sim.Legacy())
	assert.Greater(t, len(both), len(open))
	for c := range open {
		require.Contains(t, both, c)
	}
}
