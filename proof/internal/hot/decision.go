package hot

import (
	"context"
	"errors"
	"time"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// decisions are what an engine says to failures.
func decisions() []Path {
	throttled, transient := engine.Outcome{Class: classify.Throttling}, engine.Outcome{Class: classify.Transient}
	return []Path{
		{Name: "retry-then-success", Over: Empty, Make: failing(transient, engine.ReasonRetry)},
		{Name: "retry-then-success/hint=200ms", Over: Empty, Make: failing(engine.Outcome{Class: classify.Throttling, RetryAfter: 200 * time.Millisecond}, engine.ReasonRetry)},
		{Name: "refused", Over: Empty, Make: failing(throttled, engine.ReasonQuota, engine.WithTokens(0))},
		{Name: "not-retryable", Over: Empty, Make: failing(engine.Outcome{}, engine.ReasonNonRetryable)},
		{Name: "do-refused", Over: Bare, Make: func() func(int) {
			e, ctx := made(engine.New(engine.WithTokens(0))), context.Background()
			failed := error(apiError{})
			fail := func(context.Context) (int, error) { return 0, failed }
			return func(n int) {
				for range n {
					if _, err := engine.Do(ctx, e, fail); !errors.Is(err, engine.ErrQuota) {
						panic(err)
					}
				}
			}
		}},
	}
}

// failing is calls whose first attempt fails and whose retry, if there is one,
// succeeds.
func failing(o engine.Outcome, want engine.Reason, opts ...engine.Option) func() func(int) {
	return func() func(int) {
		return failLoop(made(engine.New(opts...)), o, want)
	}
}

//go:noinline
func failLoop(e *engine.Engine, o engine.Outcome, want engine.Reason) func(int) {
	return func(n int) {
		for range n {
			c := e.Begin()
			if d := c.Fail(o); d.Reason != want {
				panic(d)
			}
			if want == engine.ReasonRetry {
				if c.Admit() != 0 {
					panic("delayed")
				}
				c.Succeed()
			}
		}
	}
}
