package engine

import (
	"context"

	"github.com/reprise-go/reprise/classify"
)

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
// always made, even if ctx is already done: that is for op to notice. Only
// adaptive mode may make it wait for the limiter's leave first (R8), and give the
// call up in that wait. Do never sleeps past ctx's deadline, and returns as soon
// as ctx is done in a wait. A panic in op ends the call and goes on unchanged; a
// retry it happened in keeps its cost.
//
// It panics before the first attempt if ctx, e or op is nil. A success at the
// first attempt allocates nothing and reads no clock, but for what the limiter of
// adaptive mode does (see ratelimit.Limiter.Update); otherwise Do allocates the
// error it returns and, where it waits, a timer and the limiter's place in line.
func Do[T any](ctx context.Context, e *Engine, op func(context.Context) (T, error)) (T, error) {
	if ctx == nil || op == nil || e == nil || e.direct == nil {
		return doAsking(ctx, e, op)
	}
	quick := e.direct
	v, err := op(ctx)
	if err == nil && quick.Full() {
		return v, nil // there is nothing for Call.Succeed to do
	}
	return finishFirst(ctx, e, op, v, err)
}

// Run is [Do] for an op without a value.
func Run(ctx context.Context, e *Engine, op func(context.Context) error) error {
	if ctx == nil || op == nil || e == nil || e.direct == nil {
		_, err := doAsking(ctx, e, withValue(op))
		return err
	}
	quick := e.direct
	err := op(ctx)
	if err == nil && quick.Full() {
		return nil
	}
	_, err = finishFirst(ctx, e, withValue(op), struct{}{}, err)
	return err
}

func withValue(op func(context.Context) error) func(context.Context) (struct{}, error) {
	if op == nil {
		return nil
	}
	return func(ctx context.Context) (struct{}, error) { return struct{}{}, op(ctx) }
}

// doAsking is a call that may not simply send its first attempt: it needs the
// limiter's leave, or is misused.
//
//go:noinline
func doAsking[T any](ctx context.Context, e *Engine, op func(context.Context) (T, error)) (T, error) {
	if ctx == nil || op == nil || e == nil || !e.made() {
		panicMisuse(ctx == nil, op == nil)
	}
	if !e.limiter.Enabled() {
		v, err := op(ctx)
		return finishFirst(ctx, e, op, v, err)
	}
	c := e.Begin()
	if d := c.AdmitWait(ctx); d.Reason != ReasonRetry {
		var none T
		return none, c.Wrap(ctx, nil, classify.NonRetryable, d)
	}
	v, err := op(ctx)
	return finish(ctx, &c, op, v, err)
}

// finishFirst is finish for a first attempt that nobody was asked about.
//
//go:noinline
func finishFirst[T any](ctx context.Context, e *Engine, op func(context.Context) (T, error), v T, err error) (T, error) {
	if err == nil && e.direct == e.quota {
		e.quota.Give(firstSuccessTokens) // all that Call.Succeed would do
		return v, nil
	}
	c := e.Begin()
	return finish(ctx, &c, op, v, err)
}

// finish is a call from the end of its first attempt, which gave v and err.
func finish[T any](ctx context.Context, c *Call, op func(context.Context) (T, error), v T, err error) (T, error) {
	for err != nil {
		outcome := OutcomeOf(c.engine.policy.Load().classifier.ExplainError(err))
		d := c.FailWait(ctx, outcome)
		if d.Reason != ReasonRetry {
			return v, c.Wrap(ctx, err, outcome.Class, d)
		}
		v, err = op(ctx)
	}
	c.Succeed()
	return v, nil
}

//go:noinline
func panicMisuse(noContext, noOp bool) {
	switch {
	case noContext:
		panic("reprise/engine: Do and Run need a context; this one is nil (context.Background() will do)")
	case noOp:
		panic("reprise/engine: Do and Run need an op; this one is nil")
	default:
		panicNoEngine()
	}
}
