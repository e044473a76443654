package sim

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// anyScenario draws a small one in which all that can happen may.
func anyScenario(rng *rand.Rand) Scenario {
	pick := func(values ...time.Duration) time.Duration { return values[rng.IntN(len(values))] }
	s := Scenario{
		Seed: rng.Uint64(), Duration: 20 * time.Second,
		Load: Load{
			Rate: 100 * float64(rng.IntN(4)), Paced: rng.IntN(3) == 0, Loops: rng.IntN(3) * 20,
			Think: pick(0, 100*time.Millisecond), Warm: pick(0, time.Second), Hot: 0.5 * float64(rng.IntN(2)), LongPoll: rng.IntN(3) == 0,
			Bursts: []Burst{{At: 9 * time.Second, Calls: 50}, {At: 3 * time.Second, Calls: 1 + rng.IntN(300)}},
		},
		Server: Server{
			Shards: 1 + rng.IntN(4), Workers: rng.IntN(5), Queue: rng.IntN(2) * rng.IntN(200),
			Service:    Service{Mean: pick(0, time.Millisecond, 20*time.Millisecond), Shape: Shape(rng.IntN(3)), Sigma: 1},
			Contention: 0.1 * float64(rng.IntN(2)), Patience: pick(0, time.Second), FullThrottles: rng.IntN(2) == 0,
			Throttle: Throttle{Rate: float64(rng.IntN(2) * 150)},
			Errors:   Errors{Transient: 0.2 * rng.Float64(), Throttling: 0.2 * rng.Float64(), Permanent: 0.1 * rng.Float64()},
			Cache:    Cache{Entries: float64(rng.IntN(2) * 100), MissFactor: 3},
		},
	}
	if s.Load.Rate > 0 && rng.IntN(2) == 0 {
		s.Load.Swing, s.Load.Period = 1, 5*time.Second
	}
	for range 1 + rng.IntN(3) {
		s.Layers = append(s.Layers, Layer{
			Callers: 1 + rng.IntN(20), Deadline: pick(0, 500*time.Millisecond, 5*time.Second), Timeout: pick(200*time.Millisecond, 2*time.Second),
			Latency: pick(time.Millisecond, 30*time.Millisecond), Once: rng.IntN(4) == 0,
		})
	}
	for range rng.IntN(4) {
		f := Fault{
			Kind: FaultKind(rng.IntN(len(faultNames))), Start: time.Duration(rng.IntN(18)) * time.Second, Length: time.Duration(1+rng.IntN(5)) * time.Second,
			Shards: float64(rng.IntN(2)) * 0.5,
		}
		switch f.Kind {
		case Failing, Throttled, Tight:
			f.Amount = rng.Float64()
		case Slow:
			f.Amount = 10
		case Crowd:
			if f.Amount, f.Shards = 3, 0; s.Load.Rate == 0 {
				continue
			}
		}
		s.Faults = append(s.Faults, f)
	}
	return s
}

// Whatever happens, each call ends once, each request is somewhere, and nobody is
// left in a line.
func TestConservation(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	rounds := 30
	if testing.Short() {
		rounds = 1
	}
	for round := range rounds {
		s := anyScenario(rng)
		for _, p := range Policies() {
			ended, ok, attempts := uint64(0), uint64(0), uint64(0)
			w, err := newWorld(s, p, Watch{Ended: func(e Ended) {
				ended++
				attempts += uint64(e.Attempts)
				if e.OK {
					ok++
				}
				took, most := e.At-e.Began, s.Layers[0].Deadline
				if took < 0 || most > 0 && took > most || e.OK && e.Attempts == 0 {
					t.Fatalf("%+v", e)
				}
			}})
			require.NoError(t, err)
			require.NoError(t, w.run())
			w.finish()

			r, name := &w.result, fmt.Sprintf("round %d, %s: %+v", round, p.Name, s)
			require.NotZero(t, r.Offered, name)
			require.Equal(t, r.Offered, ended, name)
			require.Equal(t, r.Offered, r.Ended, name)
			require.Equal(t, r.Succeeded, ok, name)
			require.Equal(t, r.Sent[0], attempts, name)
			stopped := uint64(0)
			for _, n := range r.Stops {
				stopped += n
			}
			require.Equal(t, r.Ended, r.Succeeded+stopped, name)
			require.Zero(t, r.Unended)
			require.LessOrEqual(t, r.TokensLeft, r.TokensCapacity)

			inside := uint64(0)
			for i := range w.shards {
				inside += uint64(w.shards[i].queue.len() + w.shards[i].busy)
			}
			if last := r.Sent[len(r.Sent)-1]; r.Arrived != last { // those on their way when all had ended
				require.LessOrEqual(t, last-r.Arrived, w.lanes[w.lane(len(w.layers)-1, outLane)].tail-w.lanes[w.lane(len(w.layers)-1, outLane)].head, name)
			}
			require.Equal(t, r.Arrived, r.Served+r.Throttled+r.Failed+r.Lost+inside, name)

			for i := range w.layers {
				for j := range w.layers[i].callers {
					if b, ok := w.layers[i].callers[j].own.(*concurrencyBudget); ok {
						require.Zero(t, b.calls, name)
						require.Zero(t, b.retries, name)
					}
				}
			}
			require.Zero(t, w.flights.live, name)
			require.Zero(t, w.waiting, name)
			free := slices.Sorted(slices.Values(w.flights.free))
			require.Len(t, free, int(w.flights.flights.made), name)
			require.Len(t, slices.Compact(free), len(free), "a flight was freed twice: %s", name)
		}
	}
}

// The same seed makes the same bytes, on any number of processors; another seed
// does not.
func TestSameSeedSameBytes(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	rng := rand.New(rand.NewPCG(21, 22))
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	for range rounds {
		s := anyScenario(rng)
		for _, p := range Policies() {
			trace := func(procs int, s Scenario) [sha256.Size]byte {
				runtime.GOMAXPROCS(procs)
				sum := sha256.New()
				out := json.NewEncoder(sum)
				r, err := Run(s, p, Watch{Ended: func(e Ended) { require.NoError(t, out.Encode(e)) }})
				require.NoError(t, err)
				require.NoError(t, out.Encode(r))
				return [sha256.Size]byte(sum.Sum(nil))
			}
			one := trace(1, s)
			require.Equal(t, one, trace(2, s), p.Name)
			if !testing.Short() {
				require.Equal(t, one, trace(4, s), p.Name)
			}
			s.Seed++
			require.NotEqual(t, one, trace(1, s), p.Name)
			s.Seed--
		}
	}
}
