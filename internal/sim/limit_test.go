package sim_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/internal/sim"
)

const month = 30 * 24 * time.Hour

// alone is one client and a server that answers at once.
func alone(load sim.Load) sim.Scenario {
	return sim.Scenario{Seed: 1, Duration: 10 * time.Second, Load: load, Layers: []sim.Layer{{Callers: 1}}}
}

// bounded runs a scenario, and ends the test if it makes more calls than that or goes
// back in time.
func bounded(t *testing.T, s sim.Scenario, p sim.Policy, most int) sim.Result {
	t.Helper()
	calls, last := 0, time.Duration(0)
	r, err := sim.Run(s, p, sim.Watch{Ended: func(e sim.Ended) {
		if calls++; calls > most || e.At < last {
			require.FailNow(t, "endless or backward", "call %d, %v after %v", calls, e.At, last)
		}
		last = e.At
	}})
	require.NoError(t, err)
	assert.Equal(t, r.Offered, r.Ended)
	return r
}

// Forty services of thirty days one after the other take more than three years.
func TestYearsOfQueue(t *testing.T) {
	s := alone(sim.Load{Bursts: []sim.Burst{{Calls: 40}}})
	s.Server = sim.Server{Workers: 1, Queue: 100, Service: sim.Service{Mean: month}}
	r := bounded(t, s, sim.None(), 40)
	assert.EqualValues(t, 40, r.Succeeded)
	assert.Equal(t, 40*month, r.EndedAt)
}

// What would take more than a century is an error, not an overflow.
func TestCentury(t *testing.T) {
	s := alone(sim.Load{Bursts: []sim.Burst{{Calls: 5000}}})
	s.Server = sim.Server{Workers: 1, Queue: 5000, Service: sim.Service{Mean: month}}
	_, err := sim.Run(s, sim.None(), sim.Watch{})
	require.ErrorContains(t, err, "reprise/sim: ")
	require.ErrorContains(t, err, "100 years: want ")

	s = alone(sim.Load{Rate: 1})
	s.Server.Errors.Transient = 1
	_, err = sim.Run(s, sim.Naive(3, math.MaxInt64), sim.Watch{})
	require.ErrorContains(t, err, "100 years")
	s.Layers[0].Deadline = time.Minute // so no retry is waited for
	r := bounded(t, s, sim.Naive(3, math.MaxInt64), 100)
	assert.Zero(t, r.Retries)
}

// The sum of latencies holds no more than a Duration does.
func TestLatencySum(t *testing.T) {
	s := alone(sim.Load{Bursts: []sim.Burst{{Calls: 4000}}})
	s.Server.Service.Mean = month
	assert.EqualValues(t, int64(math.MaxInt64), bounded(t, s, sim.None(), 4000).Latency)
}

// A rate at which nobody comes in a million years is as good as none.
func TestTinyRate(t *testing.T) {
	for _, paced := range []bool{false, true} {
		s := alone(sim.Load{Rate: 1e-300, Paced: paced, Bursts: []sim.Burst{{Calls: 3}}})
		assert.EqualValues(t, 3, bounded(t, s, sim.None(), 3).Offered)
	}
}

// A crowd may make fewer calls of a paced load too, and as few as it says.
func TestPacedCrowd(t *testing.T) {
	s := alone(sim.Load{Rate: 1000, Paced: true})
	s.Duration = 100 * time.Second
	s.Faults = []sim.Fault{{Kind: sim.Crowd, Length: s.Duration, Amount: 1e-4}}
	assert.EqualValues(t, 9, bounded(t, s, sim.None(), 1000).Offered)
}

// Factors multiply; many of the largest are no infinity, which times nothing would be
// no number.
func TestFactorsMultiply(t *testing.T) {
	s := alone(sim.Load{Rate: 100})
	s.Server = sim.Server{Throttle: sim.Throttle{Rate: 10}, Service: sim.Service{Mean: time.Millisecond}}
	for range 60 {
		s.Faults = append(s.Faults,
			sim.Fault{Kind: sim.Slow, Amount: 1e6, Length: 5 * time.Second},
			sim.Fault{Kind: sim.Tight, Amount: 1e6, Length: 5 * time.Second})
	}
	s.Faults = append(s.Faults,
		sim.Fault{Kind: sim.Slow, Amount: 0, Length: 5 * time.Second},
		sim.Fault{Kind: sim.Tight, Amount: 0, Length: 5 * time.Second})
	r := bounded(t, s, sim.None(), 2000)
	assert.InDelta(t, 10+50, float64(r.Served), 2, "a full bucket, nothing for 5 s, then the rate")
	assert.InDelta(t, 1e-3, r.Latency.Seconds()/float64(r.Succeeded), 3e-4)
}

// EndedAt does not wait for what is no call: a fault that lasts, a time-out that is
// void, a loop that thinks.
func TestEndedAt(t *testing.T) {
	s := alone(sim.Load{Rate: 100, Loops: 2, Think: time.Hour})
	s.Layers[0].Timeout, s.Layers[0].Latency = 30*time.Second, time.Millisecond
	s.Faults = []sim.Fault{{Kind: sim.Failing, Amount: 0.1, Length: 24 * time.Hour}}
	last := time.Duration(0)
	r, err := sim.Run(s, sim.None(), sim.Watch{Ended: func(e sim.Ended) { last = e.At }})
	require.NoError(t, err)
	assert.Equal(t, last, r.EndedAt)
}

// Nothing happens after the end but what calls wait for: a time-out that comes to
// nothing, and that decides what comes next, changes no count.
func TestNothingAfterTheEnd(t *testing.T) {
	s := alone(sim.Load{Rate: 100, Bursts: []sim.Burst{{At: 9998500 * time.Microsecond, Calls: 1}}})
	s.Layers[0].Deadline = time.Millisecond
	s.Server.Service.Mean = time.Second
	without := bounded(t, s, sim.None(), 2000).Counts
	s.Layers[0].Timeout = 2 * time.Millisecond
	assert.Equal(t, without, bounded(t, s, sim.None(), 2000).Counts)
}
