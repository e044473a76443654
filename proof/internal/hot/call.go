package hot

import (
	"context"

	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/internal/stripe"
)

// calls are whole calls whose first attempt succeeds.
func calls() []Path {
	return append([]Path{
		{Name: "call-success", Over: Bare, Make: calling()},
		{Name: "call-admit-success", Over: Bare, Make: admitting()},
		{Name: "do-success", Over: Bare, Make: doing()},
		{Name: "run-success", Over: Bare, Make: running},
		// Hooks of failures cost a success nothing.
		{Name: "call-success/hooks=failures", Over: Bare, Like: "call-success", Make: calling(ofFailures)},
		{Name: "do-success/hooks=failures", Over: Bare, Like: "do-success", Make: doing(ofFailures)},
		{Name: "do-success/hooks=success", Over: Bare, Make: doing(engine.WithObserver(engine.Observer{
			Success: func(engine.SuccessEvent) {},
		}))},
		{Name: "do-success/hooks=counting", Over: Bare, Make: func() func(int) {
			count := stripe.New()
			return doing(engine.WithObserver(engine.Observer{Success: func(engine.SuccessEvent) { count.Add() }}))()
		}},
		{Name: "call-success/engine=reconfigured", Over: Bare, Like: "call-success", Make: reconfigured},
		{Name: "call-success/engine=derived", Over: Bare, Like: "call-success", Make: derived},
		{Name: "call-success/quota=moving", Over: Bare, Make: calling(engine.WithTokens(0), endless)},
		{Name: "do-success/quota=moving", Over: Bare, Make: doing(engine.WithTokens(0), endless)},
	}, adaptive()...)
}

var ofFailures = engine.WithObserver(engine.Observer{Retry: func(engine.RetryEvent) {}, Stop: func(engine.StopEvent) {}})

// endless is a quota that no loop fills.
var endless = engine.WithQuota(engine.Quota{Capacity: 1 << 30})

func calling(opts ...engine.Option) func() func(int) {
	return func() func(int) { return callLoop(made(engine.New(opts...))) }
}

// callLoop is not to be inlined, nor are the others: in the copy of a closure the
// compiler may inline less, and the copies would differ.
//
//go:noinline
func callLoop(e *engine.Engine) func(int) {
	ctx := context.Background()
	return func(n int) {
		for range n {
			c := e.Begin()
			if _, err := op(ctx); err != nil {
				panic(err)
			}
			c.Succeed()
		}
	}
}

// admitting asks for leave too, as a caller must that serves any mode.
func admitting(opts ...engine.Option) func() func(int) {
	return func() func(int) { return admitLoop(made(engine.New(opts...))) }
}

//go:noinline
func admitLoop(e *engine.Engine) func(int) {
	ctx := context.Background()
	return func(n int) {
		for range n {
			c := e.Begin()
			if c.Admit() != 0 {
				panic("delayed")
			}
			if _, err := op(ctx); err != nil {
				panic(err)
			}
			c.Succeed()
		}
	}
}

func doing(opts ...engine.Option) func() func(int) {
	return func() func(int) {
		return doLoop(made(engine.New(opts...)))
	}
}

//go:noinline
func doLoop(e *engine.Engine) func(int) {
	ctx := context.Background()
	return func(n int) {
		for range n {
			if _, err := engine.Do(ctx, e, op); err != nil {
				panic(err)
			}
		}
	}
}

//go:noinline
func bareRun(context.Context) error { return nil }

var run = bareRun

func running() func(int) {
	e, ctx := made(engine.New()), context.Background()
	return func(n int) {
		for range n {
			if err := engine.Run(ctx, e, run); err != nil {
				panic(err)
			}
		}
	}
}

func reconfigured() func(int) {
	e := made(engine.New())
	for attempts := range 5 {
		if err := e.Reconfigure(engine.WithMaxAttempts(attempts+1), engine.WithQuota(engine.Quota{Capacity: 400})); err != nil {
			panic(err)
		}
	}
	loop := callLoop(e)
	spend(e, 100) // what was missing when the quota shrank
	return loop
}

// spend has so many calls of e succeed.
func spend(e *engine.Engine, calls int) {
	for range calls {
		c := e.Begin()
		c.Succeed()
	}
}

func derived() func(int) {
	return callLoop(made(made(engine.New()).Derive(engine.WithMaxAttempts(5))))
}
