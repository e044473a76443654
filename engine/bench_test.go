package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

//go:noinline
func bareOp(context.Context) (int, error) { return 1, nil }

// A variable, so that the call stays indirect.
var op = bareOp

// BenchmarkSuccess is a first attempt that succeeds, full quota; impl=bare is
// the indirect call alone, to be subtracted.
func BenchmarkSuccess(b *testing.B) {
	e := mustNew(b)
	ctx := context.Background()
	b.Run("impl=bare", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				v, err := op(ctx)
				if err != nil {
					panic(err)
				}
				_ = v
			}
		})
	})
	b.Run("impl=call", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				c := e.Begin()
				if _, err := op(ctx); err == nil {
					c.Succeed()
				}
			}
		})
	})
	b.Run("impl=do", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := engine.Do(ctx, e, op); err != nil {
					panic(err)
				}
			}
		})
	})
	b.Run("impl=run", func(b *testing.B) {
		b.ReportAllocs()
		run := func(context.Context) error { return nil }
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := engine.Run(ctx, e, run); err != nil {
					panic(err)
				}
			}
		})
	})
}

// BenchmarkDecision is a failure of a known class: granted and succeeded, or
// refused by an empty quota.
func BenchmarkDecision(b *testing.B) {
	b.Run("path=granted", func(b *testing.B) {
		e := mustNew(b)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				c := e.Begin()
				if d := c.Fail(engine.Outcome{Class: classify.Throttling}); d.Reason == engine.ReasonRetry {
					c.Succeed()
				}
			}
		})
	})
	b.Run("path=refused", func(b *testing.B) {
		e := mustNew(b, engine.WithTokens(0))
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				c := e.Begin()
				if d := c.Fail(engine.Outcome{Class: classify.Throttling}); d.Reason == engine.ReasonRetry {
					panic(d)
				}
			}
		})
	})
	b.Run("path=non-retryable", func(b *testing.B) {
		e := mustNew(b)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				c := e.Begin()
				c.Fail(engine.Outcome{})
			}
		})
	})
	b.Run("path=do-refused", func(b *testing.B) {
		e := mustNew(b, engine.WithTokens(0))
		ctx, err := context.Background(), error(slowDown)
		fail := func(context.Context) (int, error) { return 0, err }
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := engine.Do(ctx, e, fail); !errors.Is(err, engine.ErrQuota) {
					panic(err)
				}
			}
		})
	})
}

func mustNew(tb testing.TB, opts ...engine.Option) *engine.Engine {
	tb.Helper()
	e, err := engine.New(opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// BenchmarkAdaptive is a first attempt that succeeds, in adaptive mode before
// anything was throttled.
func BenchmarkAdaptive(b *testing.B) {
	e := mustNew(b, engine.WithMode(engine.Adaptive))
	ctx := context.Background()
	b.Run("impl=call", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				c := e.Begin()
				if c.Admit() != 0 {
					panic("delayed")
				}
				if _, err := op(ctx); err == nil {
					c.Succeed()
				}
			}
		})
	})
	b.Run("impl=do", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := engine.Do(ctx, e, op); err != nil {
					panic(err)
				}
			}
		})
	})
}
