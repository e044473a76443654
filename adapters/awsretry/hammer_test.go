package awsretry_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/adapters/awsretry"
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// A thousand calls given up at random lose no token: what is missing is what the
// retries that were seen on the wire have cost (R6.3).
func TestTokensAreConserved(t *testing.T) {
	for _, mode := range []engine.Mode{engine.Standard, engine.Adaptive} {
		t.Run(mode.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 1000
				if testing.Short() {
					calls = 200
				}
				s := &server{latency: 20 * time.Millisecond, always: fail(400, "ThrottlingException")}
				const capacity = 100000
				e := newEngine(t, engine.WithMode(mode), engine.WithQuota(engine.Quota{Capacity: capacity}), engine.WithMaxAttempts(6))
				c := newClient(applied(t, s, e, awsretry.WithSharedEngine()), "S3")
				var wg sync.WaitGroup
				for range calls {
					wg.Go(func() {
						ctx, cancel := context.WithCancel(t.Context())
						life := time.Duration(rand.Int64N(int64(10 * time.Second)))
						if rand.IntN(2) == 0 {
							ctx, cancel = context.WithTimeout(t.Context(), life)
						}
						defer cancel()
						timer := time.AfterFunc(life, cancel)
						defer timer.Stop()
						_, _, err := c.call(ctx, "GetObject", &input{})
						assert.Error(t, err)
					})
				}
				wg.Wait()
				firsts := map[string]bool{}
				for _, id := range s.headers("Amz-Sdk-Invocation-Id") {
					firsts[id] = true
				}
				const cost = 5
				retries := len(s.seen()) - len(firsts)
				assert.Equal(t, capacity-cost*retries, e.Stats().QuotaLevel)
				assert.Positive(t, e.Stats().UnsentRetries)
				assert.Positive(t, retries)
			})
		})
	}
}

// What the package comment says of callers that give up in a delay: NewRetryer
// loses the tokens, 100 throttled calls all 500 (R6); Apply loses none (R6.3).
func TestImpatientCallers(t *testing.T) {
	for i, want := range []int{500, 0} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{always: fail(400, "ThrottlingException")}
			e := newEngine(t, engine.WithSource(fastbackoff.Fixed(0.5)))
			c := newClient(doors[i].config(t, s, e), "S3")
			for range 100 {
				ctx, cancel := context.WithCancel(t.Context())
				timer := time.AfterFunc(time.Millisecond, cancel)
				_, _, err := c.call(ctx, "GetObject", &input{})
				assert.ErrorIs(t, err, context.Canceled)
				timer.Stop()
			}
			assert.Equal(t, want, e.Stats().QuotaLevel, doors[i].name)
			assert.Len(t, s.seen(), 100)
		})
	}
}

// Settings that change under many clients: every call ends for a reason that is
// true, on the attempts that some setting allowed, and no token is lost.
func TestReconfigureUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		workers, calls := 64, 40
		if testing.Short() {
			calls = 10
		}
		const capacity, cost = 1_000_000, 5
		s := &server{latency: time.Millisecond, always: fail(400, "ThrottlingException")}
		cfg := applied(t, s, newEngine(t, engine.WithQuota(engine.Quota{Capacity: capacity}), engine.WithSchedule(fastbackoff.Schedule{Throttling: 10 * time.Millisecond})))
		engines, _ := awsretry.EnginesOf(cfg.Retryer())
		done := make(chan struct{})
		var changing, calling sync.WaitGroup
		for range 2 {
			changing.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-done:
						return
					case <-time.After(time.Millisecond):
					}
					assert.NoError(t, engines.Reconfigure(engine.WithMaxAttempts(1+n%6), engine.WithClassifier(new(classify.Classifier))))
				}
			})
		}
		services := []string{"DynamoDB", "DynamoDB Streams", "S3", "SQS"}
		for i := range workers {
			c := newClient(cfg, services[i%len(services)])
			calling.Go(func() {
				for n := range calls {
					ctx, cancel := context.WithCancel(t.Context())
					if n%3 == 0 {
						time.AfterFunc(time.Duration(rand.Int64N(int64(20*time.Millisecond))), cancel)
					}
					_, metadata, err := c.call(ctx, "PutObject", &input{})
					if !errors.Is(err, engine.ErrMaxAttempts) && !errors.Is(err, context.Canceled) {
						assert.Fail(t, "neither used up nor cancelled", "%v", err)
					}
					assert.LessOrEqual(t, len(results(metadata)), 6+1)
					cancel()
				}
			})
		}
		calling.Wait()
		close(done)
		changing.Wait()
		firsts := map[string]bool{}
		for _, id := range s.headers("Amz-Sdk-Invocation-Id") {
			firsts[id] = true
		}
		spent := 0
		for _, e := range engines.All() {
			spent += capacity - e.Stats().QuotaLevel
		}
		assert.Equal(t, cost*(len(s.seen())-len(firsts)), spent)
		assert.Positive(t, spent)
	})
}

// What the engine counts of a call is the same in both doors, adaptive mode's
// limiter included (R2.2, R8).
func TestDoorsTellTheEngineTheSame(t *testing.T) {
	for _, script := range parityScripts {
		if script.cancelAfter > 0 || script.perCall != nil || script.longPolling {
			continue
		}
		t.Run(script.name, func(t *testing.T) {
			var stats []engine.Stats
			var events [][]any
			inEachDoor(t, func(t *testing.T, config func(s *server, e *engine.Engine, opts ...awsretry.Option) aws.Config) {
				var seen []any
				note := func(event any) { seen = append(seen, event) }
				e := newEngine(t, engine.WithMode(engine.Adaptive), engine.WithTokens(max(script.tokens, 13)), engine.WithSource(fastbackoff.Fixed(0.5)),
					engine.WithObserver(engine.Observer{
						Retry: func(r engine.RetryEvent) { r.Delay = 0; note(r) }, Stop: func(s engine.StopEvent) { note(s) }, Success: func(s engine.SuccessEvent) { note(s) },
					}))
				s := &server{script: append([]answer(nil), script.script...)}
				c := newClient(config(s, e), "S3", func(o *options) { o.modelled = modelledError })
				for range 3 {
					_, _, _ = c.call(t.Context(), "GetObject", &input{})
				}
				stats, events = append(stats, e.Stats()), append(events, seen)
			})
			assert.Equal(t, stats[0], stats[1])
			assert.Equal(t, events[0], events[1])
		})
	}
}
