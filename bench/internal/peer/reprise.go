package peer

import (
	"context"

	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// Engine returns our engine with the delays left out: the ceiling is one
// nanosecond, so every delay is drawn as ever and comes out as none.
func Engine(opts ...engine.Option) *engine.Engine {
	quick := fastbackoff.Schedule{Transient: 1, Throttling: 1, Max: 1}
	e, err := engine.New(append([]engine.Option{engine.WithSchedule(quick), engine.WithMaxAttempts(Attempts)}, opts...)...)
	if err != nil {
		panic(err)
	}
	return e
}

// Reprise is our engine through engine.Do.
type Reprise struct{ E *engine.Engine }

// Name returns "reprise".
func (Reprise) Name() string { return "reprise" }

// Errors are the service's own: the classifier knows them by code and status.
func (Reprise) Errors() (again, final error) { return Throttled(), Final() }

// Do is engine.Do.
func (r Reprise) Do(ctx context.Context, op Op) (int, error) {
	return engine.Do(ctx, r.E, op.Context)
}

// Loop is n calls of engine.Do.
func (r Reprise) Loop(ctx context.Context, op Op, n int) {
	e, f := r.E, op.Context
	for range n {
		if _, err := engine.Do(ctx, e, f); err != nil {
			fell(err)
		}
	}
}

// RepriseCall is our engine through a Call value, with a loop around each attempt
// as an event loop or an adapter has it.
type RepriseCall struct{ E *engine.Engine }

// Name returns "reprise-call".
func (RepriseCall) Name() string { return "reprise-call" }

// Errors are the service's own.
func (RepriseCall) Errors() (again, final error) { return Throttled(), Final() }

// Do is one call through a Call value.
func (r RepriseCall) Do(ctx context.Context, op Op) (int, error) {
	c := r.E.Begin()
	for {
		v, err := op.Context(ctx)
		if err == nil {
			c.Succeed()
			return v, nil
		}
		if d := c.FailWait(ctx, engine.OutcomeOf(r.E.Classifier().ExplainError(err))); d.Reason != engine.ReasonRetry {
			return v, err
		}
	}
}

// Loop is n such calls.
func (r RepriseCall) Loop(ctx context.Context, op Op, n int) {
	e, f := r.E, op.Context
	for range n {
		c := e.Begin()
		if _, err := f(ctx); err == nil {
			c.Succeed()
		} else {
			r.again(ctx, &c, f, err)
		}
	}
}

//go:noinline
func (r RepriseCall) again(ctx context.Context, c *engine.Call, f func(context.Context) (int, error), err error) {
	for err != nil {
		if d := c.FailWait(ctx, engine.OutcomeOf(r.E.Classifier().ExplainError(err))); d.Reason != engine.ReasonRetry {
			return
		}
		_, err = f(ctx)
	}
	c.Succeed()
}

// RepriseAdaptiveCall is RepriseCall where attempts need the limiter's leave.
type RepriseAdaptiveCall struct{ E *engine.Engine }

// Name returns "reprise-call".
func (RepriseAdaptiveCall) Name() string { return "reprise-call" }

// Errors are the service's own.
func (RepriseAdaptiveCall) Errors() (again, final error) { return Throttled(), Final() }

// Do is one call, admitted attempt by attempt.
func (r RepriseAdaptiveCall) Do(ctx context.Context, op Op) (int, error) {
	c := r.E.Begin()
	if d := c.AdmitWait(ctx); d.Reason != engine.ReasonRetry {
		return 0, c.Wrap(ctx, nil, 0, d)
	}
	for {
		v, err := op.Context(ctx)
		if err == nil {
			c.Succeed()
			return v, nil
		}
		if d := c.FailWait(ctx, engine.OutcomeOf(r.E.Classifier().ExplainError(err))); d.Reason != engine.ReasonRetry {
			return v, err
		}
	}
}

// Loop is n such calls.
func (r RepriseAdaptiveCall) Loop(ctx context.Context, op Op, n int) {
	e, f := r.E, op.Context
	for range n {
		c := e.Begin()
		if c.Admit() != 0 {
			panic("not admitted")
		}
		if _, err := f(ctx); err == nil {
			c.Succeed()
		} else {
			RepriseCall(r).again(ctx, &c, f, err)
		}
	}
}
