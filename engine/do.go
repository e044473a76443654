package engine

import "context"

// Do calls op until it succeeds or the engine says to stop, waiting between
// attempts as R2 says, and returns op's last value.
//
// The error is nil; or op's own, untouched, if the first attempt's was not
// retryable; or an [*Error] that says why the call ended and holds op's last
// error and, if ctx was done, its cause. The class of an error comes from the
// engine's classifier, a server's delay from a `RetryAfter() time.Duration`
// method in its chain.
//
// op is given ctx as it is and must be safe to call again. The first attempt is
// always made: a ctx that is already done is for op to notice. Do never sleeps
// past ctx's deadline, and returns as soon as ctx is done in a wait. A panic in
// op ends the call and goes on unchanged; a retry it happened in keeps its
// cost.
//
// It panics before the first attempt if ctx, e or op is nil. A success at the
// first attempt allocates nothing and reads no clock; otherwise Do allocates the
// error it returns and, where it waits under a ctx that can end, a timer.
func Do[T any](ctx context.Context, e *Engine, op func(context.Context) (T, error)) (T, error) {
	if ctx == nil || op == nil {
		panicNilArgument(ctx == nil)
	}
	c := e.Begin()
	v, err := op(ctx)
	if err == nil {
		c.Succeed()
		return v, nil
	}
	for {
		outcome := OutcomeOf(e.policy.classifier.ExplainError(err))
		d := c.FailWait(ctx, outcome)
		if d.Reason != ReasonRetry {
			return v, c.Wrap(ctx, err, outcome.Class, d)
		}
		if v, err = op(ctx); err == nil {
			c.Succeed()
			return v, nil
		}
	}
}

// Run is [Do] for an op without a value.
func Run(ctx context.Context, e *Engine, op func(context.Context) error) error {
	if op == nil {
		panicNilArgument(ctx == nil)
	}
	_, err := Do(ctx, e, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, op(ctx)
	})
	return err
}

//go:noinline
func panicNilArgument(noContext bool) {
	if noContext {
		panic("reprise/engine: Do and Run need a context; this one is nil (context.Background() will do)")
	}
	panic("reprise/engine: Do and Run need an op; this one is nil")
}
