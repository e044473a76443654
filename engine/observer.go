package engine

import (
	"time"

	"github.com/reprise-go/reprise/classify"
)

// Observer is a set of hooks, each of which may be nil. They are called by the
// goroutine that drives the call, in the order of the events. The call waits for
// them, so a hook must return soon and wait for nothing of the call's own, such
// as the reading of its request's body. A hook that panics does not fail the
// call; the panic is counted in [Stats].HookPanics and dropped. The zero Observer
// observes nothing and costs nothing.
type Observer struct {
	// Retry is called when a retry was granted, before its delay.
	Retry func(RetryEvent)
	// Hedge is called when a hedge was granted, before it is sent.
	Hedge func(HedgeEvent)
	// Stop is called when a call has ended without success, but for one that a
	// panic ended.
	Stop func(StopEvent)
	// Success is called when a call has succeeded. It is the one hook that first
	// attempts pay for.
	Success func(SuccessEvent)
}

// RetryEvent is a granted retry.
type RetryEvent struct {
	Attempt   int            // number of the attempt that failed, from 1
	Class     classify.Class // of its failure
	Delay     time.Duration  // before the next attempt
	Cost      int            // tokens taken
	QuotaLeft int            // tokens left after that
}

// HedgeEvent is a granted hedge (see [Call.Hedge]).
type HedgeEvent struct {
	Attempt   int // its number, from 2
	Cost      int // tokens taken
	QuotaLeft int // tokens left after that
}

// StopEvent is the end of a call without success.
type StopEvent struct {
	Attempts  int            // attempts made
	Class     classify.Class // of the last failure; NonRetryable if none was reported
	Reason    Reason         // never ReasonRetry
	QuotaLeft int            // tokens left
}

// SuccessEvent is a success.
type SuccessEvent struct {
	Attempts  int // attempts made, the successful one included
	QuotaLeft int // tokens left, with what the success gave back
}

// notify calls a hook; what it panics with goes no further.
func notify[E any](e *Engine, hook func(E), event E) {
	if hook == nil {
		return
	}
	defer func() {
		if recover() != nil {
			e.counts.hookPanics.Inc()
		}
	}()
	hook(event)
}
