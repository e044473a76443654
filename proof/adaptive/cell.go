package main

import (
	"math"
	"time"

	"github.com/reprise-go/reprise/internal/sim"
)

// cell is one place of the grid: clients that together offer load times what a
// throttled service takes.
type cell struct {
	capacity float64       // requests/s
	clients  int           // each with a limiter of its own
	trip     time.Duration // there and back
	load     float64       // offered, of the capacity
	burst    time.Duration // the service's bucket holds what it takes in so long
}

// deadline is every call's. Half of it is the longest line that anybody joins.
const deadline = 10 * time.Second

// measured is how long a cell is watched, after a third of that to warm up: ten of
// the cubic's waves or more, and calls enough of each client to compare them.
func (c cell) measured() time.Duration {
	switch {
	case c.capacity <= 50:
		return 900 * time.Second
	case c.capacity <= 500:
		return 300 * time.Second
	case c.capacity <= 5000:
		return 150 * time.Second
	default:
		return 90 * time.Second
	}
}

// row is what a cell came to under a policy, after the warming up.
type row struct {
	Use       float64       // accepted requests / what the service could have taken
	Throttled float64       // share of the requests that were throttled
	Jain      float64       // index of fairness of the clients' successes, 1/clients..1
	P99       time.Duration // of what a call took beside its round trip, of those that succeeded
}

// scenario is the cell's. Calls come in a Poisson stream, whatever the service does.
func (c cell) scenario(measured time.Duration) sim.Scenario {
	return sim.Scenario{
		Seed: seed, Duration: measured + measured/3, Sample: measured / 150,
		Load:   sim.Load{Rate: c.load * c.capacity},
		Layers: []sim.Layer{{Callers: c.clients, Deadline: deadline, Latency: c.trip / 2}},
		Server: sim.Server{Throttle: sim.Throttle{Rate: c.capacity, Burst: max(c.burst.Seconds()*c.capacity, 1)}},
	}
}

// run simulates the cell under a policy.
func (c cell) run(p sim.Policy, measured time.Duration) (row, error) {
	s := c.scenario(measured)
	warm := s.Duration - measured
	successes := make([]float64, c.clients)
	var waits histogram
	var arrived, throttled uint64
	_, err := sim.Run(s, p, sim.Watch{
		Ended: func(e sim.Ended) {
			if e.OK && e.At > warm && e.At <= s.Duration {
				successes[e.Caller]++
				waits.add(e.At - e.Began - c.trip)
			}
		},
		Sampled: func(p sim.Point) bool {
			if p.At > warm {
				arrived += p.Arrived
				throttled += p.Throttled
			}
			return true
		},
	})
	if err != nil {
		return row{}, err
	}
	return row{
		Use:       float64(arrived-throttled) / (c.capacity * measured.Seconds()),
		Throttled: float64(throttled) / float64(max(arrived, 1)),
		Jain:      jain(successes),
		P99:       waits.quantile(0.99),
	}, nil
}

// jain is (sum x)^2 / (n sum x^2): 1 if all have the same, 1/n if one has all.
func jain(x []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range x {
		sum += v
		squares += v * v
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(x)) * squares)
}

// histogram counts durations in steps of 2 %, from 1 us on.
type histogram struct {
	counts [1200]uint64
	sum    uint64
}

const step = 1.02

func (h *histogram) add(d time.Duration) {
	i := 0
	if us := float64(d) / 1e3; us > 1 {
		i = min(int(math.Log(us)/math.Log(step))+1, len(h.counts)-1)
	}
	h.counts[i]++
	h.sum++
}

// quantile is the upper end of the step in which it lies; 0 of nothing.
func (h *histogram) quantile(q float64) time.Duration {
	need := uint64(math.Ceil(q * float64(h.sum)))
	for i, n := range h.counts {
		if n >= need {
			if i == 0 {
				return 0
			}
			return time.Duration(math.Pow(step, float64(i)) * 1e3)
		}
		need -= n
	}
	return 0
}
