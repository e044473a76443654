package main

import (
	"fmt"
	"io"
	"time"

	"github.com/reprise-go/reprise/internal/sim"
)

// trouble is a scenario in which load or service change under the limiter.
type trouble struct {
	name string
	sim.Scenario
}

// column separates a trouble and those that it befalls.
const column = " | "

// fleets are few and near, or many and far.
var fleets = []struct {
	name    string
	clients int
	trip    time.Duration
}{
	{"1 client, 1 ms", 1, time.Millisecond},
	{"100 clients, 200 ms", 100, 200 * time.Millisecond},
}

// troubles are what a steady load does not show: overload that begins when buckets
// are full, a service that falls to a quarter and comes back, throttles that no
// rate would cure, a herd.
func troubles() (out []trouble) {
	for _, fleet := range fleets {
		base := func(load float64, faults ...sim.Fault) sim.Scenario {
			const capacity = 5000
			return sim.Scenario{
				Seed: seed, Duration: 4 * time.Minute, Sample: time.Second,
				Load:   sim.Load{Rate: load * capacity},
				Layers: []sim.Layer{{Callers: fleet.clients, Deadline: deadline, Latency: fleet.trip / 2}},
				Server: sim.Server{Throttle: sim.Throttle{Rate: capacity}},
				Faults: faults,
			}
		}
		minute := func(kind sim.FaultKind, amount float64) sim.Fault {
			return sim.Fault{Kind: kind, Start: time.Minute, Length: time.Minute, Amount: amount}
		}
		swing := base(1)
		swing.Load.Swing, swing.Load.Period = 0.5, time.Minute
		cold := base(1.5)
		cold.Server.Throttle.Burst, cold.Duration = 50, 30*time.Second // 10 ms
		out = append(out,
			trouble{"30 s from a start at 1.5x, before a bucket of 10 ms" + column + fleet.name, cold},
			trouble{"a crowd: 0.6x, for a minute 1.8x" + column + fleet.name, base(0.6, minute(sim.Crowd, 3))},
			trouble{"a crowd upon a crowd: 0.9x, for a minute 3.6x" + column + fleet.name, base(0.9, minute(sim.Crowd, 4))},
			trouble{"the service takes a quarter for a minute, of 0.9x" + column + fleet.name, base(0.9, minute(sim.Tight, 0.25))},
			trouble{"a third of all is throttled for a minute, of 0.9x" + column + fleet.name, base(0.9, minute(sim.Throttled, 1./3))},
			trouble{"the load swings from 0.5x to 1.5x every minute" + column + fleet.name, swing},
		)
	}
	return append(out, trouble{"5,000 clients call at one instant, of a service with a queue" + column + "5,000 clients, 2 ms", sim.Scenario{
		Seed: seed, Duration: time.Minute, Sample: time.Second,
		Load:   sim.Load{Rate: 100, Bursts: []sim.Burst{{At: 10 * time.Second, Calls: 5000}}},
		Layers: []sim.Layer{{Callers: 5000, Deadline: 3 * deadline, Latency: time.Millisecond}},
		Server: sim.Server{
			Workers: 10, Queue: 500, Service: sim.Service{Mean: 10 * time.Millisecond, Shape: sim.Exponential}, FullThrottles: true,
		},
	}})
}

const troubleHead = `
## When load or service change

Four minutes at 5,000 requests/s, with a bucket of a second, but where it says otherwise; the trouble is the second minute's. *Well after*: until
calls end as they did before, of those with a trouble that ends.

| trouble | clients, round trip | R8: success | throttled | well after | ours: success | throttled | well after |
|---|---|--:|--:|--:|--:|--:|--:|
`

func reportTroubles(out, progress io.Writer, window time.Duration) error {
	type pair struct {
		came [2]after
		err  error
	}
	if _, err := io.WriteString(out, troubleHead); err != nil {
		return err
	}
	all := troubles()
	return inTurn(progress, len(all), func(i int) (p pair) {
		for j, policy := range policies(window) {
			if p.came[j], p.err = all[i].run(policy); p.err != nil {
				return p
			}
		}
		return p
	}, func(i int, p pair) error {
		if p.err != nil {
			return p.err
		}
		s := "| " + all[i].name + " |"
		for _, a := range p.came {
			s += fmt.Sprintf(" %.1f %% | %s | %s |", 100*a.Success, share(a.Throttled), a.well())
		}
		_, err := fmt.Fprintln(out, s)
		return err
	})
}

// after is what a trouble came to.
type after struct {
	Success   float64 // share of the calls
	Throttled float64 // share of the requests
	Recovery  sim.Recovery
}

func (t trouble) run(p sim.Policy) (after, error) {
	r, err := sim.Run(t.Scenario, p, sim.Watch{})
	if err != nil {
		return after{}, err
	}
	return after{r.SuccessRate(), float64(r.Throttled) / float64(max(r.Arrived, 1)), r.Recovery}, nil
}

func (a *after) well() string {
	switch {
	case a.Recovery.Recovered:
		return fmt.Sprintf("%.0f s", a.Recovery.After.Seconds())
	case a.Recovery.Known:
		return "never"
	default:
		return "-"
	}
}
