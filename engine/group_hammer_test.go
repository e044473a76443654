package engine_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/internal/hammer"
)

// All who come at once for a new key get the same engine.
func TestHammerGroupOneEngineAKey(t *testing.T) {
	rounds := 2000
	if testing.Short() {
		rounds = 200
	}
	hammer.OnProcs(t, func(t *testing.T) {
		// Each worker may hold a place for a moment.
		limit := rounds + 8
		g := newGroup[int](t, limit)
		for key := range rounds {
			var got [8]*engine.Engine
			hammer.Together(len(got), func(worker int) { got[worker] = g.For(key) })
			for _, e := range got {
				require.Same(t, got[0], e)
			}
		}
		// The losers gave their slots back: all of them are engines now.
		assert.Equal(t, engine.GroupStats{Engines: rounds, Limit: limit, Made: uint64(rounds)}, g.Stats())
	})
}

// The limit holds to the engine while more keys than it want one: at every
// instant (under race the group checks it itself), and exactly at the end.
func TestHammerGroupLimit(t *testing.T) {
	lookUps := 200_000
	if testing.Short() {
		lookUps = 20_000
	}
	hammer.OnProcs(t, func(t *testing.T) {
		for _, limit := range []int{1, 2, 8, 100} {
			clock := new(handClock)
			g := newGroup[int](t, limit, engine.WithClock(clock))
			var overflow, found atomic.Uint64
			hammer.Together(8, func(worker int) {
				rng := rand.New(rand.NewPCG(uint64(worker), 3))
				for i := range lookUps / 8 {
					if rng.IntN(64) == 0 {
						clock.pass(5 * time.Second)
					}
					if e := g.For(rng.IntN(2*limit + 100)); e.MaxAttempts() == 1 {
						overflow.Inc()
					} else {
						found.Inc()
					}
					if n := g.Len(); n < 0 || n > limit {
						t.Errorf("%d engines, limit %d", n, limit)
					}
					if i%1000 == 0 {
						keys := slices.Collect(maps.Keys(maps.Collect(g.All())))
						assert.LessOrEqual(t, len(keys), 2*limit+100)
					}
				}
			})
			s := g.Stats()
			assert.Equal(t, overflow.Load(), s.Overflowed)
			assert.Positive(t, found.Load())
			assert.Positive(t, s.Dropped)
			assert.EqualValues(t, s.Engines, s.Made-s.Dropped-s.Expired)
			assert.Len(t, maps.Collect(g.All()), s.Engines)
			// Once they have rested there is room for any keys, all of it.
			for pass := 0; pass < 2; pass++ {
				for key := range 200 * limit {
					g.For(-key)
				}
				clock.pass(time.Minute)
			}
			for key := range limit {
				g.For(10_000 + key)
			}
			assert.Equal(t, limit, g.Len())
		}
	})
}

// Eviction under load loses and mints no token that is out: of every engine that
// there ever was, dropped with calls under way or not, what is missing at the end
// is what its own retries have spent. No first attempt succeeds, so nothing else
// moves a level.
func TestHammerGroupConserves(t *testing.T) {
	calls := 20_000
	if testing.Short() {
		calls = 2_000
	}
	hammer.OnProcs(t, func(t *testing.T) {
		const capacity = 1 << 30
		clock := new(handClock)
		g := newGroup[int](t, 10, engine.WithClock(clock), engine.WithMaxAttempts(4), engine.WithQuota(engine.Quota{Capacity: capacity}))
		costs := map[classify.Class]int{classify.Transient: 14, classify.Throttling: 5}
		var spents [8]map[*engine.Engine]int
		hammer.Together(len(spents), func(worker int) {
			rng := rand.New(rand.NewPCG(uint64(worker), 11))
			spent := make(map[*engine.Engine]int)
			spents[worker] = spent
			for range calls {
				e := g.For(rng.IntN(20))
				spent[e] += 0
				c := e.Begin()
				if rng.IntN(64) == 0 {
					clock.pass(time.Duration(rng.IntN(400)) * time.Second)
				}
				for paid := 0; ; {
					class := classify.Class(1 + rng.IntN(2))
					if c.Fail(engine.Outcome{Class: class}).Reason != engine.ReasonRetry {
						spent[e] += paid
						break
					}
					spent[e] += paid // the earlier retry failed too
					paid = costs[class]
					c.Admit()
					g.For(rng.IntN(20)) // somebody else's, which may need this one's place
					if rng.IntN(4) == 0 {
						c.Succeed()
						break
					}
				}
			}
		})
		spent := make(map[*engine.Engine]int)
		for _, of := range spents {
			for e, n := range of {
				spent[e] += n
			}
		}
		for e, n := range spent {
			want := capacity - n
			if e.MaxAttempts() == 1 {
				want = 500 // the overflow engine: nobody's quota
				assert.Zero(t, n)
			}
			assert.Equal(t, want, level(e))
		}
		s := g.Stats()
		assert.Positive(t, s.Expired)
		assert.Positive(t, s.Overflowed)
		assert.GreaterOrEqual(t, s.Made, uint64(len(spent)-1))
	})
}

// Whoever asks after Reconfigure has returned gets the new settings, also of an
// engine that was being made meanwhile.
func TestHammerGroupReconfigure(t *testing.T) {
	rounds := 200
	if testing.Short() {
		rounds = 50
	}
	hammer.OnProcs(t, func(t *testing.T) {
		for range rounds {
			g := newGroup[int](t, 1000)
			var stands atomic.Int64 // attempts of the latest Reconfigure that has returned
			hammer.Together(5, func(worker int) {
				if worker == 4 {
					for attempts := range 20 {
						assert.NoError(t, g.Reconfigure(engine.WithMaxAttempts(10+attempts), engine.WithQuota(engine.Quota{Capacity: 100 + attempts})))
						stands.Store(int64(10 + attempts))
					}
					return
				}
				for key := range 400 { // each of them wanted by two workers
					atLeast := stands.Load()
					if got := int64(g.For(key + worker/2*400).MaxAttempts()); got < atLeast {
						t.Errorf("%d attempts after Reconfigure to %d has returned", got, atLeast)
					}
				}
			})
			for _, e := range g.All() {
				require.Equal(t, 29, e.MaxAttempts())
				require.Equal(t, 119, e.Stats().QuotaCapacity)
				require.Equal(t, 119, e.Quota().Capacity)
			}
			require.Equal(t, 800, g.Len())
		}
	})
}

// Of Reconfigures that run at once each counts, and all engines agree.
func TestHammerGroupReconfigureTogether(t *testing.T) {
	rounds := 500
	if testing.Short() {
		rounds = 50
	}
	hammer.OnProcs(t, func(t *testing.T) {
		g := newGroup[int](t, 100)
		for round := range rounds {
			hammer.Together(4, func(worker int) {
				switch worker {
				case 0:
					assert.NoError(t, g.Reconfigure(engine.WithMaxAttempts(10+round)))
				case 1:
					assert.NoError(t, g.Reconfigure(engine.WithQuota(engine.Quota{Capacity: 100 + round})))
				case 2:
					assert.NoError(t, g.Reconfigure(engine.WithQuota(engine.Quota{Capacity: 10_000 + round})))
				case 3:
					for i := range 20 {
						g.For((round + i) % 100)
					}
				}
			})
			capacities := make(map[int]bool)
			for _, e := range g.All() {
				require.Equal(t, 10+round, e.MaxAttempts())
				require.Equal(t, e.Quota().Capacity, e.Stats().QuotaCapacity)
				capacities[e.Quota().Capacity] = true
			}
			require.Len(t, capacities, 1)
		}
	})
}
