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
	// Sleep returns after d, or as soon as ctx is done. d is above zero.
	Sleep(ctx context.Context, d time.Duration)
}

// systemClock is the only place of the library that sleeps.
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) {
	done := ctx.Done()
	if done == nil {
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
	}
}
