package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/internal/sim"
)

// trickle is a service that few call, which is down from minute 10 to minute 12 and
// answers each in time but then.
func trickle(length time.Duration) sim.Scenario {
	return sim.Scenario{
		Seed: 1, Duration: length, Load: sim.Load{Rate: 0.5},
		Layers: []sim.Layer{{Callers: 3, Timeout: time.Second}},
		Server: sim.Server{Workers: 1, Queue: 5, Service: sim.Service{Mean: 10 * time.Millisecond}},
		Faults: []sim.Fault{{Kind: sim.Down, Start: 10 * time.Minute, Length: 2 * time.Minute}},
	}
}

// How well a fleet has recovered is told of calls after the fault alone, of the last of
// them too, and not at all of too few.
func TestRecoveryOfFewCalls(t *testing.T) {
	well := trickle(30 * time.Minute)
	assert.Equal(t, sim.Recovery{Known: true, Recovered: true}, run(t, well, sim.None()).Recovery, "the fault is over, and so is the trouble")

	sick := trickle(24 * time.Minute) // two lots of 200 calls, not quite
	sick.Server.Cache = sim.Cache{Entries: 1e6, MissFactor: 200}
	r := run(t, sick, sim.None())
	assert.Less(t, r.SuccessRate(), 0.5, "it stays cold")
	assert.Equal(t, sim.Recovery{Known: true}, r.Recovery)

	sick.Duration = 15 * time.Minute
	assert.Equal(t, sim.Recovery{}, run(t, sick, sim.None()).Recovery, "90 calls tell nothing")
}

// A sample in which a fault ends is the fault's.
func TestRecoveryBetweenSamples(t *testing.T) {
	s := broken()
	s.Sample = 7 * time.Second
	assert.Equal(t, sim.Recovery{Known: true, Recovered: true}, run(t, s, sim.None()).Recovery)
}

// Loops that wait for their answers begin hardly any calls, and are not well.
func TestRecoveryOfLoops(t *testing.T) {
	s := trickle(40 * time.Minute)
	s.Load = sim.Load{Loops: 20, Think: time.Second}
	s.Layers[0].Timeout = 20 * time.Minute
	s.Server.Workers = 20
	s.Server.Cache = sim.Cache{Entries: 1e6, MissFactor: 1e6}
	r := run(t, s, sim.None())
	assert.Equal(t, sim.Recovery{Known: true}, r.Recovery)

	s.Server.Cache = sim.Cache{}
	assert.Equal(t, sim.Recovery{Known: true, Recovered: true}, run(t, s, sim.None()).Recovery)
}
