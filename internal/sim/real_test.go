package sim_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/internal/sim"
)

// throttledError is an answer whose code says throttling (R3.1).
type throttledError struct{}

func (throttledError) Error() string     { return "slow down" }
func (throttledError) ErrorCode() string { return "ThrottlingException" }

// The line before the send limiter is the simulation's own. So the same fleet runs
// here as goroutines that call engine.Do, which wait in the engine's line, and both
// must come to the same.
func TestSimulationAgainstGoroutines(t *testing.T) {
	const (
		loops  = 20
		way    = 4700 * time.Microsecond
		rate   = 97.3 // out of step with the loops, or one of them would have every token
		length = 40 * time.Second
	)
	for _, row := range []struct {
		mode     engine.Mode
		deadline time.Duration
	}{{engine.Adaptive, 0}, {engine.Adaptive, 300 * time.Millisecond}, {engine.Standard, 0}} {
		mode := row.mode
		policy := sim.Policy{Name: mode.String(), Options: []engine.Option{engine.WithMode(mode)}}
		var simulated sim.Counts
		const seeds = 5
		for seed := range uint64(seeds) {
			r := run(t, sim.Scenario{
				Seed: seed, Duration: length,
				Load:   sim.Load{Loops: loops, Warm: warm},
				Layers: []sim.Layer{{Callers: 1, Latency: way, Deadline: row.deadline}},
				Server: sim.Server{Throttle: sim.Throttle{Rate: rate}},
			}, policy)
			simulated.Succeeded += r.Succeeded / seeds
			simulated.Throttled += r.Throttled / seeds
			simulated.Ended += r.Ended / seeds
		}
		real := goroutines(t, policy, loops, way, rate, length, row.deadline)
		t.Logf("%v: of %d calls %d succeeded and %d requests were throttled, with goroutines %d, %d and %d", mode,
			simulated.Ended, simulated.Succeeded, simulated.Throttled, real.Ended, real.Succeeded, real.Throttled)
		assert.InEpsilon(t, real.Succeeded, simulated.Succeeded, 0.03, mode)
		assert.InEpsilon(t, real.Ended, simulated.Ended, 0.15, mode)
		assert.InDelta(t, float64(real.Throttled), float64(simulated.Throttled), 0.1*float64(real.Throttled)+50, mode)
	}
}

// warm is the time over which the loops begin: such that no two of them keep asking
// at the same instants, where one would always be the first.
const warm = 997 * time.Millisecond

func goroutines(t *testing.T, policy sim.Policy, loops int, way time.Duration, rate float64, length, deadline time.Duration) (counts sim.Counts) {
	synctest.Test(t, func(t *testing.T) {
		e, err := engine.New(policy.Options...)
		require.NoError(t, err)
		start := time.Now()
		var mu sync.Mutex
		tokens, filled := rate, start
		pause := func(ctx context.Context, d time.Duration) (whole bool) {
			select {
			case <-time.After(d):
				return true
			case <-ctx.Done():
				return false
			}
		}
		serve := func() error {
			mu.Lock()
			defer mu.Unlock()
			tokens = min(rate, tokens+rate*time.Since(filled).Seconds())
			filled = time.Now()
			if tokens < 1 {
				counts.Throttled++
				return throttledError{}
			}
			tokens--
			return nil
		}
		ask := func(ctx context.Context) (struct{}, error) {
			if !pause(ctx, way) {
				return struct{}{}, ctx.Err()
			}
			err := serve()
			if !pause(ctx, way) {
				return struct{}{}, ctx.Err()
			}
			return struct{}{}, err
		}
		var all sync.WaitGroup
		for i := range loops {
			all.Go(func() {
				pause(t.Context(), time.Duration(i)*warm/time.Duration(loops)+1)
				for time.Since(start) < length {
					began := time.Now()
					ctx, cancel := t.Context(), func() {}
					if deadline > 0 {
						ctx, cancel = context.WithTimeout(ctx, deadline)
					}
					_, err := engine.Do(ctx, e, ask)
					cancel()
					mu.Lock()
					counts.Ended++
					if err == nil {
						counts.Succeeded++
					}
					mu.Unlock()
					if left := 2*way - time.Since(began); left > 0 {
						pause(t.Context(), left) // a loop turns no faster than a round trip here as well
					}
				}
			})
		}
		all.Wait()
	})
	return counts
}
