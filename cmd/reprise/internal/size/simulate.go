package size

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/reprise-go/reprise/internal/sim"
)

// Simulated is what the simulator, with the engine itself, makes of a plan.
type Simulated struct {
	Calls         uint64
	Success       float64
	Amplification float64
	Outage        float64
	P50, P99      time.Duration
}

// Run is how a plan is simulated.
type Run struct {
	Seed     uint64
	Calls    float64   // 0: 400,000, or 1,000 of each client, up to 5 million
	Progress *Progress // is told how far it is; nil: nobody
}

const (
	simulatedCalls = 400_000
	leastPerClient = 1000 // calls, so that the level is that of long times
	mostSimulated  = 5_000_000
	longest        = 30 * 24 * time.Hour
)

// Settle simulates a plan that was found. Calls that overlap have tokens out at the
// same time, of which the calculation knows nothing: where that shows, it grows the
// capacity until the simulation too has what is wanted, but for its noise, or an
// outage allows no more.
func Settle(ctx context.Context, q Question, f Found, run Run) (Found, Simulated, error) {
	most := q.mostCapacity(f.Plan.Attempts, f.Plan.Quota.TransientCost)
	stage, outage := run.Progress.stage(simulating), run.Progress.stage(simulatingOutage)
	for {
		s, err := simulateWell(ctx, q, f.Plan, run, stage.half())
		noise := 2 * math.Sqrt(q.Success*(1-q.Success)/float64(max(s.Calls, 1)))
		capacity := f.Plan.Quota.Capacity
		if err != nil || s.Success >= q.Success-noise || capacity >= most || f.Plan.Attempts == 1 {
			if err == nil {
				s.Outage, err = simulateOutage(ctx, q, f.Plan, run, outage)
			}
			return f, s, err
		}
		f.Plan.Quota.Capacity = min(most, capacity+max(1, capacity/8))
		f.Estimate = q.estimate(f.Plan, q.timings(f.Plan.Backoff))
	}
}

// simulateWell runs the plan under the question's load, with no outage. It ends
// early, with the context's error, if ctx ends.
func simulateWell(ctx context.Context, q Question, p Plan, run Run, stage *stage) (Simulated, error) {
	var s Simulated
	calls := run.Calls
	if calls == 0 {
		calls = min(max(simulatedCalls, float64(leastPerClient*q.Clients)), mostSimulated)
	}
	scenario := q.scenario(run.Seed)
	scenario.Duration = time.Duration(min(calls/q.Rate, longest.Seconds()) * float64(time.Second))
	latencies := hdrhistogram.New(1, q.Deadline.Microseconds()+1, 3)
	r, err := sim.Run(scenario, sim.Policy{Name: "own", Options: p.Options()}, sim.Watch{Sampled: going(ctx, scenario.Duration, stage, fmt.Sprintf("simulating, %d tokens", p.Quota.Capacity)), Ended: func(e sim.Ended) {
		if e.OK {
			_ = latencies.RecordValue((e.At - e.Began).Microseconds()) // within range, by the deadline
		}
	}})
	if err = errors.Join(err, ctx.Err()); err != nil {
		return s, err
	}
	s.Calls, s.Success, s.Amplification = r.Offered, r.SuccessRate(), r.Amplification()
	s.P50 = time.Duration(latencies.ValueAtPercentile(50)) * time.Microsecond
	s.P99 = time.Duration(latencies.ValueAtPercentile(99)) * time.Microsecond
	return s, nil
}

// simulateOutage returns the requests a call in the question's outage. Clients share
// nothing but a server that refuses all of them alike, so of very many calls it takes
// those of fewer clients.
func simulateOutage(ctx context.Context, q Question, p Plan, run Run, stage *stage) (float64, error) {
	if calls := q.Rate * q.Outage.Seconds(); calls > mostSimulated {
		clients := max(1, int(float64(q.Clients)*mostSimulated/calls))
		q.Rate *= float64(clients) / float64(q.Clients)
		q.Clients = clients
	}
	scenario := q.scenario(run.Seed)
	scenario.Sample = q.Outage / 20
	start := 5 * scenario.Sample
	scenario.Duration = start + q.Outage
	scenario.Faults = []sim.Fault{{Kind: sim.Down, Start: start, Length: q.Outage}}
	r, err := sim.Run(scenario, sim.Policy{Name: "own", Options: p.Options()}, sim.Watch{Sampled: going(ctx, scenario.Duration, stage, "simulating an outage")})
	if err = errors.Join(err, ctx.Err()); err != nil {
		return 0, err
	}
	var offered, arrived uint64
	for _, point := range r.Points {
		if point.At > start && point.At <= scenario.Duration {
			offered, arrived = offered+point.Offered, arrived+point.Arrived
		}
	}
	return float64(arrived) / float64(max(offered, 1)), nil
}

// going tells the stage of each sample, and goes on until ctx ends.
func going(ctx context.Context, duration time.Duration, stage *stage, what string) func(sim.Point) bool {
	return func(p sim.Point) bool {
		stage.show(float64(p.At)/float64(duration), what)
		return ctx.Err() == nil
	}
}

// scenario is the question's load on a service that answers in the time given.
func (q *Question) scenario(seed uint64) sim.Scenario {
	return sim.Scenario{
		Seed:   seed,
		Load:   sim.Load{Rate: q.Rate},
		Layers: []sim.Layer{{Callers: q.Clients, Deadline: q.Deadline, Latency: q.Answer / 2}},
		Server: sim.Server{Errors: sim.Errors{Transient: q.Transient, Throttling: q.Throttling}},
	}
}
