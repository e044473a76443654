package peer

import "context"

// Bare is the operation alone: what a ratio of calls takes off both its sides.
type Bare struct{}

// Name returns "bare".
func (Bare) Name() string { return "bare" }

// Errors are the service's own.
func (Bare) Errors() (again, final error) { return Throttled(), Final() }

// Do calls op once.
func (Bare) Do(ctx context.Context, op Op) (int, error) { return op.Context(ctx) }

// Loop calls op n times.
func (Bare) Loop(ctx context.Context, op Op, n int) {
	f := op.Context
	for range n {
		if _, err := f(ctx); err != nil {
			fell(err)
		}
	}
}

// fell keeps an error alive that nobody reads.
//
//go:noinline
func fell(error) {}
