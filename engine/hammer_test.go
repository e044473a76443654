package engine_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/internal/hammer"
)

// Exactly 35 transient or 100 throttling retries are granted from a full quota
// (R6.5), whoever competes, 200 times.
func TestHammerGrants(t *testing.T) {
	hammer.OnProcs(t, func(t *testing.T) {
		for outcome, want := range map[engine.Outcome]int{transient: 35, throttling: 100} {
			for range 200 {
				e := newEngine(t)
				var granted [8]int
				hammer.Together(len(granted), func(worker int) {
					for {
						c := e.Begin()
						if c.Fail(outcome).Reason != engine.ReasonRetry {
							return
						}
						granted[worker]++
					}
				})
				sum := 0
				for _, n := range granted {
					sum += n
				}
				require.Equal(t, want, sum)
			}
		}
	})
}

// Calls of every course at once: what is missing at the end is what retries that
// were sent and failed have spent, to the token. No first attempt succeeds, so
// nothing else moves the level.
func TestHammerConserves(t *testing.T) {
	calls := 50_000
	if testing.Short() {
		calls = 5_000
	}
	hammer.OnProcs(t, func(t *testing.T) {
		const capacity = 1 << 30
		e := newEngine(t, engine.WithMaxAttempts(4),
			engine.WithQuota(engine.Quota{Capacity: capacity, TransientCost: 14, ThrottlingCost: 5}))
		costs := map[classify.Class]int{classify.Transient: 14, classify.Throttling: 5}
		var spent [8]int
		hammer.Together(len(spent), func(worker int) {
			rng := rand.New(rand.NewPCG(uint64(worker), 7))
			for range calls {
				c := e.Begin()
				paid, sent := 0, false // of the latest retry
				for {
					class := classify.Class(1 + rng.IntN(2))
					if c.Fail(engine.Outcome{Class: class}).Reason != engine.ReasonRetry {
						spent[worker] += paid
						break
					}
					if sent {
						spent[worker] += paid // the earlier retry failed too
					}
					paid, sent = costs[class], rng.IntN(8) > 0
					if sent {
						c.Admit()
					}
					if end := rng.IntN(8); end == 0 {
						c.Succeed() // what the last retry took comes back
						break
					} else if end == 1 || !sent {
						c.Abandon()
						if sent {
							spent[worker] += paid
						}
						break
					}
				}
			}
		})
		sum := 0
		for _, n := range spent {
			sum += n
		}
		assert.Equal(t, capacity-sum, level(e))
		s := e.Stats()
		ended := s.Recoveries
		for _, n := range s.Stops {
			ended += n
		}
		assert.EqualValues(t, len(spent)*calls, ended, "each call ends exactly once")
	})
}

// Peer fault 1: a quota that was drained comes back with ordinary successes.
func TestPeerFault1DrainedQuotaRefills(t *testing.T) {
	hammer.OnProcs(t, func(t *testing.T) {
		e := newEngine(t, engine.WithTokens(0))
		hammer.Together(4, func(int) {
			for range 250 {
				c := e.Begin()
				c.Succeed()
			}
		})
		assert.Equal(t, 500, level(e))
		c := e.Begin()
		assert.Equal(t, engine.ReasonRetry, c.Fail(transient).Reason)
	})
}
