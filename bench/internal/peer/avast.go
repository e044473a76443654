package peer

import (
	"context"
	"time"

	"github.com/avast/retry-go/v4"
)

// Avast is avast/retry-go. Its options are a slice made once and passed on, a
// fixed delay is the cheapest of its delays, and the timer, which it lets one
// choose, is one that has always gone off: no other library is spared its timer
// like this. Only the last error is returned, which saves the list.
type Avast struct{ options []retry.Option }

// NewAvast returns it.
func NewAvast() Avast {
	return Avast{[]retry.Option{
		retry.Attempts(Attempts), retry.Delay(0), retry.DelayType(retry.FixedDelay),
		retry.LastErrorOnly(true), retry.WithTimer(goneOff),
	}}
}

type readyTimer chan time.Time

var goneOff = func() readyTimer { c := make(readyTimer); close(c); return c }()

// After returns a channel that is ready.
func (r readyTimer) After(time.Duration) <-chan time.Time { return r }

// Name returns "avast".
func (Avast) Name() string { return "avast" }

// Errors are the service's own and an unrecoverable one.
func (Avast) Errors() (again, final error) { return Throttled(), retry.Unrecoverable(Final()) }

// Do is retry.DoWithData.
func (a Avast) Do(_ context.Context, op Op) (int, error) {
	return retry.DoWithData(op.Plain, a.options...)
}

// Loop is n times retry.DoWithData.
func (a Avast) Loop(_ context.Context, op Op, n int) {
	plain := op.Plain
	for range n {
		if _, err := retry.DoWithData(plain, a.options...); err != nil {
			fell(err)
		}
	}
}
