package engine

import (
	"context"
	"math"
	"time"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/fastbackoff"
)

// Call is one call from its first attempt to its end: a value on its caller's
// stack that one goroutine uses at a time. [Engine.Begin] makes it; the zero
// Call has ended and cannot retry. It must not be copied.
//
// After Begin, send. Then either [Call.Succeed], which ends the call, or
// [Call.Fail], which says whether the call goes on: if the [Decision]'s Reason
// is ReasonRetry, wait its Delay, call [Call.Admit] and send again; any other
// Reason has ended the call. [Call.Abandon] ends it at any time. A call that
// has ended ignores whatever follows, so no token is given back twice.
// [Call.FailWait] does the waiting too.
type Call struct {
	_ noCopy

	engine  *Engine
	attempt uint32 // the attempt under way, or granted next, from 1
	paid    uint32 // tokens that the latest granted retry took
	flags   callFlags
}

// callFlags are where a call stands. A plain first attempt is live and nothing
// else, so that one comparison tells it.
type callFlags uint8

const (
	live     callFlags = 1 << iota // begun and not ended
	granted                        // a retry is granted and not yet sent
	retried                        // the first attempt is over
	longPoll                       // a refused retry waits (R7)
	observed                       // a success has a hook to call
)

// noCopy makes go vet report copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// Attempts returns the number of the attempt that is under way, or granted
// next, or was the last, from 1.
func (c *Call) Attempts() int { return int(c.attempt) }

// Admit marks the next attempt as sent; call it just before sending. It returns
// how long to wait first, which in standard mode is always zero (R2.1). What a
// retry has taken comes back on [Call.Abandon] only before Admit. Wait-free.
func (c *Call) Admit() time.Duration {
	c.flags &^= granted
	return 0
}

// Succeed ends the call with success. A first attempt gives the quota one
// token, a retry what it has taken (R6). On a full quota a first attempt's
// success is one shared load and no shared write. Lock-free, allocates nothing,
// reads no clock.
func (c *Call) Succeed() {
	if c.flags == live && c.engine.quota.Full() {
		c.flags = 0
		return
	}
	c.succeedSlow()
}

func (c *Call) succeedSlow() {
	flags := c.flags
	if flags == 0 {
		return
	}
	c.flags = 0
	e := c.engine
	if flags&retried == 0 {
		e.quota.Give(firstSuccessTokens)
	} else {
		e.quota.Give(c.paid)
		e.counts.recoveries.Inc()
	}
	if flags&observed != 0 {
		notify(e, e.policy.observer.Success, SuccessEvent{Attempts: c.Attempts(), QuotaLeft: int(e.quota.Level())})
	}
}

// Fail reports that the attempt has failed and says what to do, in the order of
// R2.1: retryable, attempts, quota, backoff. A refusal takes no tokens. Like
// [Call.FailAt] with the present time; the clock is read only if the outcome
// has a deadline.
func (c *Call) Fail(o Outcome) Decision {
	left := forever
	if !o.Deadline.IsZero() && c.flags != 0 {
		left = o.Deadline.Sub(c.engine.policy.clock.Now())
	}
	return c.fail(o.Class, o.RetryAfter, left, o.NotReplayable)
}

// FailAt is [Call.Fail] at the time now, which matters only to an outcome with
// a deadline. Lock-free, allocates nothing, reads no clock.
func (c *Call) FailAt(now time.Time, o Outcome) Decision {
	left := forever
	if !o.Deadline.IsZero() {
		left = o.Deadline.Sub(now)
	}
	return c.fail(o.Class, o.RetryAfter, left, o.NotReplayable)
}

// forever is longer than any delay: the time left to a call without a deadline.
const forever time.Duration = math.MaxInt64

// fail is the decision; the attempt's outcome comes in registers, left is the
// time until the call must be over.
func (c *Call) fail(class classify.Class, hint, left time.Duration, notReplayable bool) Decision {
	if c.flags == 0 {
		return Decision{}
	}
	c.flags &^= granted
	e := c.engine
	p := e.policy
	if class != classify.Transient && class != classify.Throttling {
		return c.stop(class, ReasonNonRetryable)
	}
	if c.attempt >= p.attempts {
		return c.stop(class, ReasonMaxAttempts)
	}
	if notReplayable {
		return c.stop(class, ReasonNotReplayable)
	}
	cost := p.costs[class]
	if !e.quota.Has(cost) {
		return c.refused(class, hint, left)
	}
	delay := c.backoff(class, hint)
	if delay >= left {
		return c.stop(class, ReasonDeadline)
	}
	if !e.quota.TryTake(cost) {
		return c.refused(class, hint, left)
	}
	c.attempt++
	c.paid = cost
	c.flags |= granted | retried
	e.counts.retries[class].Inc()
	if p.observer.Retry != nil {
		notify(e, p.observer.Retry, RetryEvent{
			Attempt: int(c.attempt) - 1, Class: class, Delay: delay,
			Cost: int(cost), QuotaLeft: int(e.quota.Level()),
		})
	}
	return Decision{Delay: delay, Reason: ReasonRetry}
}

// backoff draws the delay before the next attempt (R4, R5).
func (c *Call) backoff(class classify.Class, hint time.Duration) time.Duration {
	p := c.engine.policy
	delay := p.schedule.Delay(fastbackoff.Class(class), int(c.attempt)-1, p.source.Uint64())
	return withHint(delay, hint)
}

// refused ends the call for want of tokens. A long poll waits first, unless its
// deadline would come before the end of the wait (R7).
func (c *Call) refused(class classify.Class, hint, left time.Duration) Decision {
	var delay time.Duration
	if c.flags&longPoll != 0 {
		if delay = c.backoff(class, hint); delay >= left {
			delay = 0
		}
	}
	c.stop(class, ReasonQuota)
	return Decision{Delay: delay, Reason: ReasonQuota}
}

// stop ends the call without success.
func (c *Call) stop(class classify.Class, reason Reason) Decision {
	c.flags = 0
	e := c.engine
	e.counts.stops[reason].Inc()
	if hook := e.policy.observer.Stop; hook != nil {
		notify(e, hook, StopEvent{Attempts: c.Attempts(), Class: class, Reason: reason, QuotaLeft: int(e.quota.Level())})
	}
	return Decision{Reason: reason}
}

// Abandon ends the call as cancelled. A retry that was granted and not sent
// gives its tokens back (R6.3); one that was sent keeps its cost. Lock-free,
// allocates nothing, reads no clock.
func (c *Call) Abandon() { c.abandon(classify.NonRetryable, ReasonCancelled) }

func (c *Call) abandon(class classify.Class, reason Reason) Decision {
	if c.flags == 0 {
		return Decision{Reason: reason}
	}
	if c.flags&granted != 0 {
		c.attempt--
		c.engine.quota.Give(c.paid)
		c.engine.counts.unsent.Inc()
	}
	return c.stop(class, reason)
}

// FailWait is [Call.FailIn] followed by [Call.Wait]: it decides, waits, and
// admits the next attempt. If the Reason is ReasonRetry, send again now; any
// other has ended the call and nothing is left to wait for. Blocks for the
// delay, and no longer than ctx lives; allocates at most a timer.
func (c *Call) FailWait(ctx context.Context, o Outcome) Decision {
	return c.Wait(ctx, o, c.FailIn(ctx, o))
}

// FailIn is [Call.Fail] under the caller's context: it obeys the context's
// deadline and cancellation, and waits for nothing. Between it and [Call.Wait]
// is the place to let go of what the failed attempt still holds. Reads the
// clock only if there is a deadline; allocates nothing.
func (c *Call) FailIn(ctx context.Context, o Outcome) Decision {
	if c.flags == 0 {
		return Decision{}
	}
	if ctx.Err() != nil && (o.Class != classify.NonRetryable || o.Cancelled) {
		return c.abandon(o.Class, endOf(ctx))
	}
	if deadline, ok := ctx.Deadline(); ok && (o.Deadline.IsZero() || deadline.Before(o.Deadline)) {
		o.Deadline = deadline
	}
	return c.Fail(o)
}

// Wait waits for the delay of d, which FailIn or Fail has just decided about o,
// and admits the next attempt, if there is one. Of the Decision it returns only
// the Reason counts: ReasonRetry says to send again now, any other has ended
// the call. Blocks for the delay, and no longer than ctx lives; allocates at
// most a timer.
func (c *Call) Wait(ctx context.Context, o Outcome, d Decision) Decision {
	if c.engine == nil {
		return Decision{}
	}
	if d.Delay > 0 {
		c.engine.policy.clock.Sleep(ctx, d.Delay)
	}
	if d.Reason != ReasonRetry {
		return Decision{Reason: d.Reason}
	}
	if c.flags&granted == 0 {
		return Decision{}
	}
	if ctx.Err() != nil {
		return c.abandon(o.Class, endOf(ctx))
	}
	c.Admit()
	return d
}

// endOf says whether a context that is done ran out of time or was cancelled.
func endOf(ctx context.Context) Reason {
	if ctx.Err() == context.DeadlineExceeded {
		return ReasonDeadline
	}
	return ReasonCancelled
}
