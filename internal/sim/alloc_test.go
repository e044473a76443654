//go:build !race

package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/internal/sim"
)

// Ten times as many calls cost no more memory than their samples do, once all
// arrays have their size.
func TestCallsAllocateNothing(t *testing.T) {
	for _, policy := range []sim.Policy{sim.Standard(), sim.Naive(3, 0), sim.EnvoyBudget(), sim.Adaptive()} {
		allocations := func(length time.Duration) float64 {
			s := outage()
			s.Duration, s.Sample = length, length/10
			s.Faults[0].Start, s.Faults[0].Length = time.Second, time.Second
			return testing.AllocsPerRun(1, func() { run(t, s, policy) })
		}
		few, many := allocations(4*time.Second), allocations(40*time.Second)
		assert.Less(t, many-few, 100.0, "%s: %v and %v", policy.Name, few, many) // of 360,000 calls
	}
}
