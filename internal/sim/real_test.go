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
		loops  = 40
		way    = 5 * time.Millisecond
		rate   = 200.0
		length = time.Minute
	)
	for _, mode := range []engine.Mode{engine.Adaptive, engine.Standard} {
		policy := sim.Policy{Name: mode.String(), Options: []engine.Option{engine.WithMode(mode)}}
		var simulated sim.Counts
		const seeds = 5
		for seed := range uint64(seeds) {
			r := run(t, sim.Scenario{
				Seed: seed, Duration: length,
				Load:   sim.Load{Loops: loops, Warm: time.Second},
				Layers: []sim.Layer{{Callers: 1, Latency: way}},
				Server: sim.Server{Throttle: sim.Throttle{Rate: rate}},
			}, policy)
			simulated.Succeeded += r.Succeeded / seeds
			simulated.Throttled += r.Throttled / seeds
		}
		real := goroutines(t, policy, loops, way, rate, length)
		t.Logf("%v: simulated %d and %d throttled, goroutines %d and %d", mode, simulated.Succeeded, simulated.Throttled, real.Succeeded, real.Throttled)
		assert.InEpsilon(t, real.Succeeded, simulated.Succeeded, 0.03, mode)
		assert.InDelta(t, float64(real.Throttled), float64(simulated.Throttled), 0.05*float64(real.Throttled)+50, mode)
	}
}

func goroutines(t *testing.T, policy sim.Policy, loops int, way time.Duration, rate float64, length time.Duration) (counts sim.Counts) {
	synctest.Test(t, func(t *testing.T) {
		e, err := engine.New(policy.Options...)
		require.NoError(t, err)
		start := time.Now()
		var mu sync.Mutex
		tokens, filled := rate, start
		pause := func(d time.Duration) { <-time.After(d) }
		ask := func(context.Context) (struct{}, error) {
			pause(way)
			defer pause(way)
			mu.Lock()
			defer mu.Unlock()
			tokens = min(rate, tokens+rate*time.Since(filled).Seconds())
			filled = time.Now()
			if tokens < 1 {
				counts.Throttled++
				return struct{}{}, throttledError{}
			}
			tokens--
			return struct{}{}, nil
		}
		var all sync.WaitGroup
		for i := range loops {
			all.Go(func() {
				pause(time.Duration(i)*time.Second/time.Duration(loops) + 1)
				for time.Since(start) < length {
					if _, err := engine.Do(t.Context(), e, ask); err == nil {
						mu.Lock()
						counts.Succeeded++
						mu.Unlock()
					}
				}
			})
		}
		all.Wait()
	})
	return counts
}
