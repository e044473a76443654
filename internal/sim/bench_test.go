package sim_test

import (
	"testing"
	"time"

	"github.com/reprise-go/reprise/internal/sim"
)

// fleet is a thousand clients of a healthy service, a million calls long.
func fleet() sim.Scenario {
	return sim.Scenario{
		Seed: 1, Duration: 100 * time.Second,
		Load:   sim.Load{Rate: 10_000},
		Layers: []sim.Layer{{Callers: 1000, Deadline: 3 * time.Second, Timeout: time.Second, Latency: time.Millisecond}},
		Server: sim.Server{
			Workers: 200, Queue: 1000, Service: sim.Service{Mean: 10 * time.Millisecond, Shape: sim.Exponential},
			Errors: sim.Errors{Transient: 0.01},
		},
	}
}

func crowded() sim.Scenario {
	s := fleet()
	s.Duration, s.Load.Rate = 10*time.Second, 300_000
	s.Layers[0] = sim.Layer{Callers: 1000, Latency: time.Millisecond}
	s.Server.Workers, s.Server.Service.Mean = 0, 10*time.Second
	return s
}

// crowdedInTime is crowded with a deadline for each call and a time-out for each
// attempt.
func crowdedInTime() sim.Scenario {
	s := crowded()
	s.Layers[0].Deadline, s.Layers[0].Timeout = 40*time.Second, 20*time.Second
	return s
}

func outage() sim.Scenario {
	s := fleet()
	s.Faults = []sim.Fault{{Kind: sim.Down, Start: 30 * time.Second, Length: 40 * time.Second}}
	return s
}

func throttledFleet() sim.Scenario {
	s := fleet()
	s.Server.Throttle.Rate = 7000
	s.Layers[0].Callers = 100
	return s
}

func BenchmarkRun(b *testing.B) {
	for _, row := range []struct {
		name     string
		scenario sim.Scenario
		policy   sim.Policy
	}{
		{"scenario=well/policy=standard", fleet(), sim.Standard()},
		{"scenario=well/policy=naive", fleet(), sim.Naive(3, 0)},
		{"scenario=well/policy=adaptive", fleet(), sim.Adaptive()},
		{"scenario=outage/policy=standard", outage(), sim.Standard()},
		{"scenario=throttled/policy=adaptive", throttledFleet(), sim.Adaptive()},
		{"scenario=crowded/policy=standard", crowded(), sim.Standard()},
		{"scenario=crowded-in-time/policy=standard", crowdedInTime(), sim.Standard()},
	} {
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			calls, inFlight := uint64(0), 0
			for b.Loop() {
				r, err := sim.Run(row.scenario, row.policy, sim.Watch{})
				if err != nil {
					b.Fatal(err)
				}
				calls += r.Ended
				for _, p := range r.Points {
					inFlight = max(inFlight, p.InFlight)
				}
			}
			b.ReportMetric(float64(calls)/b.Elapsed().Seconds(), "calls/s")
			b.ReportMetric(float64(inFlight), "in-flight")
		})
	}
}
