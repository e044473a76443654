package peer

import (
	"context"

	"github.com/cenkalti/backoff/v5"
)

// Cenkalti is cenkalti/backoff. Its options are a slice made once and passed on.
// A BackOff has a state and belongs to one call at a time; ZeroBackOff is the one
// that has none, so it is shared, where an exponential one would be made for each
// call. No limit on the time in all, which saves a look at the clock before a
// retry; the one at the start of the call cannot be turned off.
type Cenkalti struct{ options []backoff.RetryOption }

// NewCenkalti returns it.
func NewCenkalti() Cenkalti {
	return Cenkalti{[]backoff.RetryOption{
		backoff.WithBackOff(new(backoff.ZeroBackOff)), backoff.WithMaxTries(Attempts), backoff.WithMaxElapsedTime(0),
	}}
}

// Name returns "cenkalti".
func (Cenkalti) Name() string { return "cenkalti" }

// Errors are the service's own and a permanent one.
func (Cenkalti) Errors() (again, final error) { return Throttled(), backoff.Permanent(Final()) }

// Do is backoff.Retry.
func (c Cenkalti) Do(ctx context.Context, op Op) (int, error) {
	return backoff.Retry(ctx, op.Plain, c.options...)
}

// Loop is n times backoff.Retry.
func (c Cenkalti) Loop(ctx context.Context, op Op, n int) {
	plain := op.Plain
	for range n {
		if _, err := backoff.Retry(ctx, plain, c.options...); err != nil {
			fell(err)
		}
	}
}
