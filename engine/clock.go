package engine

import (
	"context"
	"time"
)

// Clock is time as an engine sees it. The default is the system's; a test or a
// simulation may bring its own. It must be safe for use by many goroutines.
type Clock interface {
	// Now returns the present, for comparison with deadlines.
	Now() time.Time
	// Sleep returns after d, or as soon as ctx is done or wake is closed. d is
	// above zero; wake is nil, which never wakes, for all but the waits of the
	// send limiter, and there it only makes the wait shorter: a simulation may
	// ignore it.
	Sleep(ctx context.Context, d time.Duration, wake <-chan struct{})
}

// systemClock is the only place of the library that sleeps.
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	done := ctx.Done()
	if done == nil && wake == nil {
		time.Sleep(d)
		return
	}
	// The timer is not pooled: one that was made inside a testing/synctest
	// bubble must never be seen outside of it.
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-done:
	case <-wake:
	}
}
