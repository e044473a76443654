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
// always made, except that in adaptive mode it may wait for the limiter's leave
// first (R8), and be given up there: a ctx that is already done is else for op to
// notice. Do never sleeps past ctx's deadline, and returns as soon as ctx is done
// in a wait. A panic in op ends the call and goes on unchanged; a retry it
// happened in keeps its cost.
//
// It panics before the first attempt if ctx, e or op is nil. A success at the
// first attempt allocates nothing and reads no clock, but for what the limiter of
// adaptive mode does (see ratelimit.Limiter.Update); otherwise Do allocates the
// error it returns and, where it waits, a timer and the limiter's place in line.
func Do[T any](ctx context.Context, e *Engine, op func(context.Context) (T, error)) (T, error) {
	if ctx == nil || op == nil || e == nil || e.begin == 0 {
		panicMisuse(ctx == nil, op == nil)
	}
	if e.begin&limited != 0 && e.limiter.Enabled() {
		return doLimited(ctx, e, op)
	}
	v, err := op(ctx)
	if err == nil && e.begin == live && e.quota.Full() {
		return v, nil // all that Call.Succeed would find is a full quota
	}
	c := e.Begin()
	return finish(ctx, &c, op, v, err)
}

// Run is [Do] for an op without a value.
func Run(ctx context.Context, e *Engine, op func(context.Context) error) error {
	if ctx == nil || op == nil || e == nil || e.begin == 0 {
		panicMisuse(ctx == nil, op == nil)
	}
	withValue := func(ctx context.Context) (struct{}, error) { return struct{}{}, op(ctx) }
	if e.begin&limited != 0 && e.limiter.Enabled() {
		_, err := doLimited(ctx, e, withValue)
		return err
	}
	err := op(ctx)
	if err == nil && e.begin == live && e.quota.Full() {
		return nil
	}
	c := e.Begin()
	_, err = finish(ctx, &c, withValue, struct{}{}, err)
	return err
}

// doLimited is a call whose first attempt needs the limiter's leave.
func doLimited[T any](ctx context.Context, e *Engine, op func(context.Context) (T, error)) (T, error) {
	c := e.Begin()
	if d := c.AdmitWait(ctx); d.Reason != ReasonRetry {
		var none T
		return none, c.Wrap(ctx, nil, classify.NonRetryable, d)
	}
	v, err := op(ctx)
	if err == nil {
		c.Succeed()
		return v, nil
	}
	return finish(ctx, &c, op, v, err)
}

// finish is a call from the end of its first attempt, which gave v and err.
//
//go:noinline
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
