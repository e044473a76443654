package peer

import (
	"context"
	"math"

	uber "go.uber.org/ratelimit"
	"golang.org/x/time/rate"
)

// XTime is golang.org/x/time/rate before an operation that is sent once: what a
// client does that paces itself by hand. The rate and the burst are so large that
// every Allow is granted; a rate of Inf would skip the limiter.
type XTime struct{ l *rate.Limiter }

// NewXTime returns it.
func NewXTime() XTime { return XTime{rate.NewLimiter(1e12, math.MaxInt32)} }

// Name returns "x-time".
func (XTime) Name() string { return "x-time" }

// Errors are the service's own.
func (XTime) Errors() (again, final error) { return Throttled(), Final() }

// Do asks and calls op.
func (x XTime) Do(ctx context.Context, op Op) (int, error) {
	if !x.l.Allow() {
		panic("refused")
	}
	return op.Context(ctx)
}

// Loop is n such calls.
func (x XTime) Loop(ctx context.Context, op Op, n int) {
	l, f := x.l, op.Context
	for range n {
		if !l.Allow() {
			panic("refused")
		}
		if _, err := f(ctx); err != nil {
			fell(err)
		}
	}
}

// Uber is go.uber.org/ratelimit before an operation that is sent once, its atomic
// limiter, which is the one that New returns, at a rate of one in a nanosecond,
// the highest it can be told, with no slack to compute.
type Uber struct{ l uber.Limiter }

// NewUber returns it.
func NewUber() Uber { return Uber{uber.New(1e9, uber.WithoutSlack)} }

// Name returns "uber-ratelimit".
func (Uber) Name() string { return "uber-ratelimit" }

// Errors are the service's own.
func (Uber) Errors() (again, final error) { return Throttled(), Final() }

// Do takes leave and calls op.
func (u Uber) Do(ctx context.Context, op Op) (int, error) {
	u.l.Take()
	return op.Context(ctx)
}

// Loop is n such calls.
func (u Uber) Loop(ctx context.Context, op Op, n int) {
	l, f := u.l, op.Context
	for range n {
		l.Take()
		if _, err := f(ctx); err != nil {
			fell(err)
		}
	}
}
