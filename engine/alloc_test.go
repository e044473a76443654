//go:build !race

package engine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/engine"
)

func TestAllocations(t *testing.T) {
	ctx := context.Background()
	full := mustNew(t, engine.WithClock(unread{}))
	empty := mustNew(t, engine.WithClock(unread{}), engine.WithTokens(0))
	observed := mustNew(t, engine.WithObserver(engine.Observer{
		Retry: func(engine.RetryEvent) {}, Stop: func(engine.StopEvent) {}, Success: func(engine.SuccessEvent) {},
		Decided: func(context.Context, engine.DecisionEvent) {},
	}))
	twice := engine.Observer{Success: func(engine.SuccessEvent) {}, Decided: func(context.Context, engine.DecisionEvent) {}}
	joined := mustNew(t, engine.WithObserver(twice.Then(twice)))
	endless := mustNew(t, engine.WithMode(engine.Legacy), engine.WithMaxAttempts(1_000_000))
	failing := error(slowDown)
	fails := 0
	flaky := func(context.Context) (int, error) {
		if fails++; fails%3 != 0 {
			return 0, failing
		}
		return 1, nil
	}
	for _, row := range []struct {
		name string
		want float64
		f    func()
	}{
		{"Call: success", 0, func() { c := full.Begin(); c.Succeed() }},
		{"Call: granted, succeeded", 0, func() { c := full.Begin(); c.Fail(throttling); c.Admit(); c.Succeed() }},
		{"Call: granted, abandoned", 0, func() { c := full.Begin(); c.Fail(transient); c.Abandon() }},
		{"Call: refused", 0, func() { c := empty.Begin(); c.Fail(throttling) }},
		{"Call: refused long poll", 0, func() { c := empty.BeginLongPoll(); c.Fail(throttling) }},
		{"Call: not retryable", 0, func() { c := full.Begin(); c.Fail(final) }},
		{"Call: hedged", 0, func() {
			c := full.Begin()
			h, _ := c.Hedge()
			c.Adopt(h)
			c.Succeed()
		}},
		{"Call: observed", 0, func() { c := observed.Begin(); c.Fail(throttling); c.Admit(); c.Succeed() }},
		{"Call: observed, under a context", 0, func() { c := observed.Begin(); c.FailIn(ctx, throttling); c.Admit(); c.Succeed() }},
		{"Call: observed twice", 0, func() { c := joined.Begin(); c.FailIn(ctx, throttling); c.Admit(); c.Succeed() }},
		{"Do: success", 0, func() { _, _ = engine.Do(ctx, full, bareOp) }},
		{"Run: success", 0, func() { _ = engine.Run(ctx, full, func(context.Context) error { return nil }) }},
		{"Do: two retries, then success", 0, func() { _, _ = engine.Do(ctx, full, flaky) }},
		{"Do: refused, the error", 1, func() { _, _ = engine.Do(ctx, empty, func(context.Context) (int, error) { return 0, failing }) }},
		{"Stats", 0, func() { full.Stats() }},
		{"Call: ten thousand failures (peer fault 103)", 0, func() {
			c := endless.Begin()
			for range 10_000 {
				c.Fail(throttling)
			}
		}},
	} {
		assert.Equal(t, row.want, testing.AllocsPerRun(100, row.f), row.name)
	}
}
