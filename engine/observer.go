package engine

import (
	"context"
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
	// Decided is called, after the hooks above, with the context of the caller:
	// after a failed attempt, when it is decided what follows, and when a wait for
	// the next attempt has ended the call. It is how a trace finds its span. Only
	// what is given a context can tell it: [Call.FailIn], [Call.Wait],
	// [Call.Pause], [Call.AdmitWait], and so [Do], [Run] and the doors; not Fail,
	// FailAt, Abandon or Succeed.
	Decided func(context.Context, DecisionEvent)
}

// Then returns an observer that calls o's hooks and then those of next, also
// where one of o's panics or ends the goroutine. A hook that both lack stays nil,
// so nobody pays for it.
func (o Observer) Then(next Observer) Observer {
	return Observer{
		Retry:   inTurn(o.Retry, next.Retry),
		Hedge:   inTurn(o.Hedge, next.Hedge),
		Stop:    inTurn(o.Stop, next.Stop),
		Success: inTurn(o.Success, next.Success),
		Decided: inTurnWith(o.Decided, next.Decided),
	}
}

func inTurn[E any](first, second func(E)) func(E) {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func(event E) {
		defer second(event)
		first(event)
	}
}

func inTurnWith[E any](first, second func(context.Context, E)) func(context.Context, E) {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func(ctx context.Context, event E) {
		defer second(ctx, event)
		first(ctx, event)
	}
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

// DecisionEvent is what follows a failed attempt, or how a wait has ended.
type DecisionEvent struct {
	Attempts  int            // attempts made so far; 0 if the limiter let none be sent
	Class     classify.Class // of the last failure; NonRetryable if there was none
	Reason    Reason         // ReasonRetry: a further attempt was granted
	Delay     time.Duration  // before that attempt; else a wait before the error is returned (R7), or one that would have been too long
	QuotaLeft int            // tokens left
}

// told calls the hook of a decision that was made under a context, if there is
// one, and returns the decision.
func (c *Call) told(ctx context.Context, class classify.Class, d Decision) Decision {
	if hook := c.engine.policy.Load().observer.Decided; hook != nil {
		c.tell(ctx, hook, class, d)
	}
	return d
}

// tell calls the hook. A granted retry is not sent if the hook ends the
// goroutine.
func (c *Call) tell(ctx context.Context, hook func(context.Context, DecisionEvent), class classify.Class, d Decision) {
	e, returned := c.engine, false
	defer func() {
		if !returned {
			c.Abandon()
		}
	}()
	event := DecisionEvent{Attempts: c.Attempts(), Class: class, Reason: d.Reason, Delay: d.Delay, QuotaLeft: int(e.quota.Level())}
	if d.Reason == ReasonRetry {
		event.Attempts--
	}
	notify(e, func(event DecisionEvent) { hook(ctx, event) }, event)
	returned = true
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
