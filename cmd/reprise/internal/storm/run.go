package storm

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/reprise-go/reprise/internal/sim"
)

// Progress is how far a run is. Its methods may be called while it goes on.
type Progress struct {
	policies int
	ended    atomic.Int64 // policies
	calls    atomic.Uint64
	// share is the sum over the policies of how much of the scenario each has seen,
	// in millionths.
	share atomic.Int64
}

const whole = 1_000_000

// Share is how much is done, 0 to 1.
func (p *Progress) Share() float64 {
	return float64(p.share.Load()) / float64(p.policies*whole)
}

// Calls is how many calls have ended.
func (p *Progress) Calls() uint64 { return p.calls.Load() }

// String is what a line of progress says.
func (p *Progress) String() string {
	return fmt.Sprintf("%d of %d policies  %.1f million calls", p.ended.Load(), p.policies, float64(p.Calls())/1e6)
}

// Prepare returns the progress of a run that has not begun.
func (s *Setup) Prepare() *Progress { return &Progress{policies: len(s.Policies)} }

// Run runs the scenario under each policy, as many at a time as there are
// processors. It ends early, with the context's error, if ctx ends.
func (s *Setup) Run(ctx context.Context, progress *Progress) (Result, error) {
	results, errs := make([]PolicyResult, len(s.Policies)), make([]error, len(s.Policies))
	next, workers := atomic.Int64{}, sync.WaitGroup{}
	for range min(runtime.GOMAXPROCS(0), len(s.Policies)) {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(s.Policies) || ctx.Err() != nil {
					return
				}
				results[i], errs[i] = s.runOne(ctx, s.Policies[i], progress)
				progress.ended.Add(1)
			}
		})
	}
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	for i, err := range errs {
		if err != nil {
			return Result{}, fmt.Errorf("policy %s: %w", s.Policies[i].Name, err)
		}
	}
	return s.result(results), nil
}

func (s *Setup) runOne(ctx context.Context, p sim.Policy, progress *Progress) (PolicyResult, error) {
	latencies := hdrhistogram.New(1, longestLatency.Microseconds(), latencyDigits)
	shown, counted := int64(0), uint64(0)
	show := func(share float64) {
		now := int64(share * whole)
		progress.share.Add(now - shown)
		shown = now
	}
	r, err := sim.Run(s.Scenario, p, sim.Watch{
		Ended: func(e sim.Ended) {
			if e.OK {
				// The value is within range, so it cannot be refused.
				_ = latencies.RecordValue(min(e.At-e.Began, longestLatency).Microseconds())
			}
		},
		Sampled: func(point sim.Point) bool {
			progress.calls.Add(point.Ended)
			counted += point.Ended
			show(float64(point.At) / float64(s.Scenario.Duration))
			return ctx.Err() == nil
		},
	})
	show(1)
	progress.calls.Add(r.Ended - min(counted, r.Ended)) // after the last sample
	return policyResult(&r, latencies), err
}

const (
	// Latencies are kept in microseconds, to 3 digits, up to a day.
	longestLatency = 24 * time.Hour
	latencyDigits  = 3
)

// ms is a time in milliseconds, to the microsecond.
func ms(d time.Duration) float64 { return math.Round(float64(d)/1e3) / 1e3 }
