package peer

import (
	"context"
	"time"

	"github.com/sethvargo/go-retry"
)

// Sethvargo is sethvargo/go-retry. A limit on the retries is counted in the
// backoff, so a backoff belongs to one call and is made for each, as all of its
// documentation's examples do; a constant one is the cheapest. DoValue is the
// generic function that its Do wraps.
type Sethvargo struct{}

// Name returns "sethvargo".
func (Sethvargo) Name() string { return "sethvargo" }

// Errors are one marked as retryable, once, and the service's own.
func (Sethvargo) Errors() (again, final error) { return retry.RetryableError(Throttled()), Final() }

func (Sethvargo) backoff() retry.Backoff {
	return retry.WithMaxRetries(Attempts-1, retry.NewConstant(time.Nanosecond))
}

// Do is retry.DoValue.
func (s Sethvargo) Do(ctx context.Context, op Op) (int, error) {
	return retry.DoValue(ctx, s.backoff(), op.Context)
}

// Loop is n times retry.DoValue.
func (s Sethvargo) Loop(ctx context.Context, op Op, n int) {
	f := op.Context
	for range n {
		if _, err := retry.DoValue(ctx, s.backoff(), f); err != nil {
			fell(err)
		}
	}
}
