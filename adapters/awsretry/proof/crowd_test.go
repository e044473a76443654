package proof_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/awsretry"
	"github.com/reprise-go/reprise/adapters/awsretry/proof/faulty"
	"github.com/reprise-go/reprise/engine"
)

// A thousand clients of one engine, each cancelled at a random time, in an
// attempt, in a delay or never: every token is accounted for (R6, R6.3). The quota
// is so large that nothing is cut off at its capacity, and so
//
//	start + first successes + retries that succeeded or were never sent, at cost
//	      - retries granted, at cost = level
func TestCrowd(t *testing.T) {
	for name, mode := range map[string]engine.Mode{"standard": engine.Standard, "adaptive": engine.Adaptive} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { crowd(t, mode) })
		})
	}
}

func crowd(t *testing.T, mode engine.Mode) {
	clients, calls := 1000, 3
	if testing.Short() {
		clients, calls = 200, 2
	}
	const tokens, capacity, cost = 500_000, 1_000_000, 7 // one cost, so that what comes back is a count
	w := newWorld(t)
	faults := rand.New(rand.NewPCG(1, 2))
	w.proxy.Choose(func(int) faulty.Fault {
		answer := []faulty.Fault{faulty.Pass, faulty.Pass, throttle, internal, faulty.Reset, faulty.Half, faulty.HTML(503), faulty.Code(400, "ValidationException")}
		return faulty.After(time.Duration(faults.IntN(30))*time.Millisecond, answer[faults.IntN(len(answer))])
	})
	var mu sync.Mutex
	firsts := 0
	e, err := engine.New(engine.WithMode(mode), engine.WithService("DynamoDB"), engine.WithTokens(tokens),
		engine.WithQuota(engine.Quota{Capacity: capacity, TransientCost: cost, ThrottlingCost: cost}),
		engine.WithObserver(engine.Observer{Success: func(s engine.SuccessEvent) {
			if s.Attempts == 1 {
				mu.Lock()
				firsts++
				mu.Unlock()
			}
		}}))
	require.NoError(t, err)
	cfg := w.config()
	require.NoError(t, awsretry.Apply(&cfg, e, awsretry.WithSharedEngine()))

	var working sync.WaitGroup
	for i := range clients {
		working.Go(func() {
			draws := rand.New(rand.NewPCG(3, uint64(i)))
			client := dynamodb.NewFromConfig(cfg)
			for range calls {
				ctx, cancel := context.WithCancel(t.Context())
				switch draws.IntN(4) {
				case 0:
					ctx, cancel = context.WithTimeout(t.Context(), time.Duration(draws.IntN(2000))*time.Millisecond)
				case 1, 2:
					defer time.AfterFunc(time.Duration(draws.IntN(2000))*time.Millisecond, cancel).Stop()
				}
				_, _ = get(ctx, client)
				cancel()
			}
		})
	}
	working.Wait()

	s := e.Stats()
	granted := int(s.TransientRetries + s.ThrottlingRetries)
	back := int(s.Recoveries + s.UnsentRetries)
	assert.Equal(t, tokens+firsts+cost*back-cost*granted, s.QuotaLevel)
	ended := firsts + int(s.Recoveries)
	for _, n := range s.Stops {
		ended += int(n)
	}
	t.Logf("%d retries granted, %d never sent, %d recoveries, %d first successes; stops %v", granted, s.UnsentRetries, s.Recoveries, firsts, s.Stops)
	assert.LessOrEqual(t, ended, clients*calls, "a call ends once; one that was done before it began never asks")
	assert.Positive(t, s.UnsentRetries)
	assert.Positive(t, s.Stops[engine.ReasonCancelled])
	assert.Positive(t, s.Stops[engine.ReasonDeadline])
}
