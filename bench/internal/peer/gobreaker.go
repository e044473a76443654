package peer

import (
	"context"

	"github.com/sony/gobreaker/v2"
)

// Gobreaker is sony/gobreaker, a breaker and no retrier: it sends an operation
// once. It is here because its counting is to it what the quota is to a retrier.
// An interval of 0 keeps one window and saves rolling it; no callback is set but
// the one that keeps it closed, as an open breaker would call nothing.
type Gobreaker struct {
	b *gobreaker.CircuitBreaker[int]
}

// NewGobreaker returns it.
func NewGobreaker() Gobreaker {
	return Gobreaker{gobreaker.NewCircuitBreaker[int](gobreaker.Settings{
		ReadyToTrip: func(gobreaker.Counts) bool { return false },
	})}
}

// Name returns "gobreaker".
func (Gobreaker) Name() string { return "gobreaker" }

// Errors are the service's own.
func (Gobreaker) Errors() (again, final error) { return Throttled(), Final() }

// Do is CircuitBreaker.Execute.
func (g Gobreaker) Do(_ context.Context, op Op) (int, error) { return g.b.Execute(op.Plain) }

// Loop is n times CircuitBreaker.Execute.
func (g Gobreaker) Loop(_ context.Context, op Op, n int) {
	b, plain := g.b, op.Plain
	for range n {
		if _, err := b.Execute(plain); err != nil {
			fell(err)
		}
	}
}
