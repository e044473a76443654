package path

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/reprise-go/reprise/bench/internal/measure"
	"github.com/reprise-go/reprise/bench/internal/peer"
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

func decisions() []Path {
	return []Path{
		{
			Name: "token",
			What: "What the retrier itself does about a call that succeeds at once, without the operation: asked before it, told after it.",
			Sides: []Side{
				side("reprise-call", func() measure.Loop {
					e := peer.Engine()
					return func(n int) {
						for range n {
							c := e.Begin()
							c.Admit()
							c.Succeed()
						}
					}
				}),
				side("mutex", func() measure.Loop {
					m := peer.NewMutex(full, full)
					return func(n int) {
						for range n {
							m.Bucket.Give(1)
						}
					}
				}),
				side("aws-standard", func() measure.Loop { return awsToken(peer.Standard(full, full)) }),
			},
		},
		{
			Name: "decision",
			What: "A throttled attempt decided about, and the success of the retry: class, quota, delay, tokens back. known: the class is given.",
			Sides: []Side{
				side("reprise-call", func() measure.Loop {
					e, err := peer.Engine(), peer.Throttled()
					return func(n int) {
						for range n {
							c := e.Begin()
							if d := c.Fail(engine.OutcomeOf(e.Classifier().ExplainError(err))); d.Reason != engine.ReasonRetry {
								panic(d.Reason)
							}
							c.Succeed()
						}
					}
				}),
				side("reprise-known", func() measure.Loop {
					e := peer.Engine()
					return func(n int) {
						for range n {
							c := e.Begin()
							if d := c.Fail(engine.Outcome{Class: classify.Throttling}); d.Reason != engine.ReasonRetry {
								panic(d.Reason)
							}
							c.Succeed()
						}
					}
				}),
				side("mutex", func() measure.Loop {
					m, err := peer.NewMutex(full, full), peer.Throttled()
					return func(n int) {
						for range n {
							_, cost, again := m.Fail(1, err)
							if !again {
								panic("refused")
							}
							m.Bucket.Give(cost)
						}
					}
				}),
				side("aws-standard", func() measure.Loop {
					s, failed, ctx := peer.Standard(full, full), peer.Throttled(), context.Background()
					return func(n int) {
						for range n {
							sent(ctx, s, failed)
							if !s.IsErrorRetryable(failed) {
								panic("not retryable")
							}
							release, err := s.GetRetryToken(ctx, failed)
							if err != nil {
								panic(err)
							}
							if _, err = s.RetryDelay(1, failed); err != nil {
								panic(err)
							}
							if err = release(nil); err != nil {
								panic(err)
							}
						}
					}
				}),
			},
		},
		{
			Name: "refusal",
			What: "A throttled attempt whose retry an empty quota refuses: class, quota, no.",
			Sides: []Side{
				side("reprise-call", func() measure.Loop {
					e, err := peer.Engine(engine.WithTokens(0)), peer.Throttled()
					return func(n int) {
						for range n {
							c := e.Begin()
							if d := c.Fail(engine.OutcomeOf(e.Classifier().ExplainError(err))); d.Reason != engine.ReasonQuota {
								panic(d.Reason)
							}
						}
					}
				}),
				side("reprise-known", func() measure.Loop {
					e := peer.Engine(engine.WithTokens(0))
					return func(n int) {
						for range n {
							c := e.Begin()
							if d := c.Fail(engine.Outcome{Class: classify.Throttling}); d.Reason != engine.ReasonQuota {
								panic(d.Reason)
							}
						}
					}
				}),
				side("mutex", func() measure.Loop {
					m, err := peer.NewMutex(full, 0), peer.Throttled()
					return func(n int) {
						for range n {
							if _, _, again := m.Fail(1, err); again {
								panic("granted")
							}
						}
					}
				}),
				side("aws-standard", func() measure.Loop {
					s, failed, ctx := peer.Standard(full, 0), peer.Throttled(), context.Background()
					return func(n int) {
						for range n {
							sent(ctx, s, failed)
							if !s.IsErrorRetryable(failed) {
								panic("not retryable")
							}
							if _, err := s.GetRetryToken(ctx, failed); err == nil {
								panic("granted")
							}
						}
					}
				}),
			},
		},
	}
}

// sent is the attempt that has failed: the SDK hands out a token for it, as we
// begin a call, and is told of the failure.
func sent(ctx context.Context, s *retry.Standard, failed error) {
	release, err := s.GetAttemptToken(ctx)
	if err != nil {
		panic(err)
	}
	if err = release(failed); err != nil {
		panic(err)
	}
}

func awsToken(s *retry.Standard) measure.Loop {
	ctx := context.Background()
	return func(n int) {
		for range n {
			release, err := s.GetAttemptToken(ctx)
			if err != nil {
				panic(err)
			}
			if err = release(nil); err != nil {
				panic(err)
			}
		}
	}
}
