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
	begun    time.Time
	ended    atomic.Int64 // policies
	calls    atomic.Uint64
	// share is the sum over the policies of how much of the scenario each has seen,
	// in parts of whole.
	share atomic.Int64
}

// whole is fine enough for a run that would take years: how many shows soon.
const whole = 1_000_000_000_000

// Share is how much is done, 0 to 1.
func (p *Progress) Share() float64 {
	return float64(p.share.Load()) / (float64(p.policies) * whole)
}

// Calls is how many calls have ended.
func (p *Progress) Calls() uint64 { return p.calls.Load() }

// String is what a line of progress says.
func (p *Progress) String() string {
	return fmt.Sprintf("%d of %d policies  %.1f million calls%s", p.ended.Load(), p.policies, float64(p.Calls())/1e6, left(time.Since(p.begun), p.Share()))
}

// left is what a line says of the time that is left, if the rest takes as long as what
// is done; "" if that is too early to say, or soon.
func left(spent time.Duration, share float64) string {
	seconds := spent.Seconds() * (1 - share) / share
	if spent < 3*time.Second || share == 0 || seconds < 10 {
		return ""
	}
	for _, unit := range []struct {
		name    string
		seconds float64
	}{{"years", 365 * 24 * 3600}, {"days", 24 * 3600}, {"h", 3600}, {"min", 60}} {
		if n := seconds / unit.seconds; n >= 2 {
			return fmt.Sprintf("  some %.0f %s left", n, unit.name)
		}
	}
	return fmt.Sprintf("  some %.0f s left", seconds)
}

// Prepare returns the progress of a run that is about to begin.
func (s *Setup) Prepare() *Progress { return &Progress{policies: len(s.Policies), begun: time.Now()} }

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
	shown, counted, ended := int64(0), uint64(0), uint64(0)
	show := func(share float64) {
		now := max(int64(min(share, 1)*whole), shown)
		progress.share.Add(now - shown)
		progress.calls.Add(ended - counted)
		shown, counted = now, ended
	}
	r, err := sim.Run(s.Scenario, p, sim.Watch{
		Ended: func(e sim.Ended) {
			if ended++; ended%showEach == 0 { // a sample may be long
				show(float64(e.At) / float64(s.Scenario.Duration))
			}
			if e.OK {
				// The value is within range, so it cannot be refused.
				_ = latencies.RecordValue(min(e.At-e.Began, longestLatency).Microseconds())
			}
		},
		Sampled: func(point sim.Point) bool {
			show(float64(point.At) / float64(s.Scenario.Duration))
			return ctx.Err() == nil
		},
	})
	show(1)
	return policyResult(&r, latencies), err
}

// showEach is after how many calls the progress is told, whatever the samples.
const showEach = 1 << 16

const (
	// Latencies are kept in microseconds, to 3 digits, up to a day.
	longestLatency = 24 * time.Hour
	latencyDigits  = 3
)

// ms is a time in milliseconds, to the microsecond.
func ms(d time.Duration) float64 { return math.Round(float64(d)/1e3) / 1e3 }
