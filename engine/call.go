package engine

import (
	"math"
	"time"

	"github.com/reprise-go/reprise/atomicbucket"
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/fastbackoff"
)

// Call is one call from its first attempt to its end: a value on its caller's
// stack that one goroutine uses at a time. [Engine.Begin] makes it; the zero
// Call has ended and cannot retry. It must not be copied.
//
// After Begin, [Call.Admit] and send. Then either [Call.Succeed], which ends the
// call, or [Call.Fail], which says whether the call goes on: if the [Decision]'s
// Reason is ReasonRetry, wait its Delay, call [Call.Admit] and send again; any
// other Reason has ended the call. [Call.Abandon] ends it at any time. A call that
// has ended ignores whatever follows, so no token is given back twice.
// [Call.AdmitWait] and [Call.FailWait] do the waiting too.
type Call struct {
	_ noCopy

	engine *Engine
	// quick is what the two fast paths look at:
	//
	//	nil        the call has ended, or is the zero Call
	//	the quota  a first attempt, whose success concerns the quota alone
	//	outOfLine  anything else
	//
	// A full one tells Succeed that there is nothing to do; one that is not
	// outOfLine tells Admit that no leave is needed and nothing is granted.
	quick         *atomicbucket.Bucket
	admittedNanos int64  // by the limiter, if throttles are coalesced
	before        uint32 // attempts before the one that is under way, or granted next; noneSent if even that was not sent
	paid          uint32 // tokens that the latest granted retry took
	flags         callFlags
}

// outOfLine is a bucket that is never full, in the place of a quota that may be.
var outOfLine = func() *atomicbucket.Bucket {
	b, _ := atomicbucket.New(1)
	b.TryTake(1)
	return b
}()

// noneSent is one less than no attempt.
const noneSent = ^uint32(0)

// callFlags are where a call stands, and what its engine does for each of its
// calls. The latter stay in Engine.begin, so that Begin need not copy them.
type callFlags uint8

const (
	granted  callFlags = 1 << iota // a retry is granted and not yet sent
	retried                        // the first attempt is over
	longPoll                       // a refused retry waits (R7)
	observed                       // the engine's alone: a success has a hook to call
	limited                        // the engine's alone: attempts need the limiter's leave (R8)
)

// noCopy makes go vet report copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// Attempts returns the number of the attempt that is under way, or granted
// next, or was the last, from 1; 0 if the limiter let none be sent, and for the
// zero Call. Wait-free.
func (c *Call) Attempts() int {
	if c.engine == nil {
		return 0
	}
	return int(c.before + 1)
}

// Succeed ends the call with success. A first attempt gives the quota one
// token, a retry what it has taken (R6). On a full quota, out of adaptive mode, a
// first attempt's success is one shared load and no shared write. Lock-free,
// allocates nothing; reads no clock out of adaptive mode, and in it where the
// limiter must (see ratelimit.Limiter.Update).
func (c *Call) Succeed() {
	if c.quick.Full() {
		c.quick = nil
	} else {
		c.succeedSlow()
	}
}

func (c *Call) succeedSlow() {
	if c.quick != nil && c.quick != outOfLine {
		c.quick.Give(firstSuccessTokens) // a first attempt's, to a quota that is not full
		c.quick = nil
		return
	}
	if c.limited() {
		e := c.engine
		if e.policy.Load().system {
			e.limiter.Update(false)
		} else {
			e.limiter.UpdateNanos(e.nowNanos(), false)
		}
		if c.over() {
			return
		}
	}
	c.succeed()
}

// SucceedAt is [Call.Succeed] at the time now, which matters only in adaptive
// mode. Lock-free, allocates nothing, reads no clock.
func (c *Call) SucceedAt(now time.Time) {
	if c.limited() {
		l := c.engine.limiter
		l.UpdateNanos(l.Nanos(now), false)
		if c.over() {
			return
		}
	}
	c.succeed()
}

// over ends a first attempt's success if, now that the limiter was told, nothing
// is left to do: no hook to call, and a full quota. It reports whether it did.
func (c *Call) over() bool {
	if c.flags|c.engine.begin != limited || !c.engine.quota.Full() {
		return false
	}
	c.quick, c.flags = nil, 0
	return true
}

// limited reports whether the call goes on and its attempts need the limiter.
func (c *Call) limited() bool {
	return c.quick != nil && c.engine.begin&limited != 0
}

func (c *Call) succeed() {
	if c.quick == nil {
		return
	}
	flags := c.flags
	c.quick, c.flags = nil, 0
	e := c.engine
	if flags&retried == 0 {
		e.quota.Give(firstSuccessTokens)
	} else {
		e.quota.Give(c.paid)
		e.counts.recoveries.Inc()
	}
	if e.begin&observed != 0 {
		notify(e, e.policy.Load().observer.Success, SuccessEvent{Attempts: c.Attempts(), QuotaLeft: int(e.quota.Level())})
	}
}

// Fail reports that the attempt has failed and says what to do, in the order of
// R2.1: retryable, attempts, quota, backoff. In adaptive mode the limiter is told
// first (R2.2), unless the failure was local (R8.3). A refusal takes no tokens.
// It is [Call.FailAt] at the present time, for which the clock is read only if
// the outcome has a deadline, and in adaptive mode.
func (c *Call) Fail(o Outcome) Decision {
	if c.quick == nil {
		return Decision{}
	}
	left := forever
	if !o.Deadline.IsZero() {
		left = o.Deadline.Sub(c.engine.policy.Load().clock.Now())
	}
	if c.limited() && !o.Local {
		c.engine.heardNow(o.Class == classify.Throttling, c.admittedNanos)
	}
	return c.fail(o.Class, o.RetryAfter, left, o.NotReplayable)
}

// FailAt is [Call.Fail] at the time now, which matters only to an outcome with
// a deadline and in adaptive mode. Lock-free, allocates nothing, reads no clock.
func (c *Call) FailAt(now time.Time, o Outcome) Decision {
	if c.quick == nil {
		return Decision{}
	}
	left := forever
	if !o.Deadline.IsZero() {
		left = o.Deadline.Sub(now)
	}
	if c.limited() && !o.Local {
		l := c.engine.limiter
		c.engine.heard(l.Nanos(now), o.Class == classify.Throttling, c.admittedNanos)
	}
	return c.fail(o.Class, o.RetryAfter, left, o.NotReplayable)
}

// forever is longer than any delay: the time left to a call without a deadline.
const forever time.Duration = math.MaxInt64

// fail is the decision; the attempt's outcome comes in registers, left is the
// time until the call must be over.
func (c *Call) fail(class classify.Class, hint, left time.Duration, notReplayable bool) Decision {
	c.flags &^= granted
	e := c.engine
	p := e.policy.Load()
	if class != classify.Transient && class != classify.Throttling {
		return c.stop(class, ReasonNonRetryable)
	}
	if c.before+1 >= p.attempts {
		return c.stop(class, ReasonMaxAttempts)
	}
	if notReplayable {
		return c.stop(class, ReasonNotReplayable)
	}
	cost := e.cost(p, class)
	if !e.quota.Has(cost) {
		if (c.flags|e.begin)&longPoll == 0 {
			return c.stop(class, ReasonQuota) // all that refused would do
		}
		return c.refused(p, class, hint, left)
	}
	delay := c.backoff(p, class, hint)
	if delay >= left {
		return c.stop(class, ReasonDeadline)
	}
	if !e.quota.TryTake(cost) {
		return c.refused(p, class, hint, left)
	}
	c.before++
	c.paid = cost
	c.flags |= granted | retried
	c.quick = outOfLine
	e.counts.retries[class].Inc()
	if p.observer.Retry != nil {
		c.announce(p.observer.Retry, RetryEvent{
			Attempt: int(c.before), Class: class, Delay: delay,
			Cost: int(cost), QuotaLeft: int(e.quota.Level()),
		})
	}
	return Decision{Delay: delay, Reason: ReasonRetry}
}

// announce calls the hook of a granted retry, which is not sent if the hook ends
// the goroutine.
func (c *Call) announce(hook func(RetryEvent), event RetryEvent) {
	returned := false
	defer func() {
		if !returned {
			c.Abandon()
		}
	}()
	notify(c.engine, hook, event)
	returned = true
}

// backoff draws the delay before the next attempt (R4, R5).
func (c *Call) backoff(p *policy, class classify.Class, hint time.Duration) time.Duration {
	delay := p.schedule.Delay(fastbackoff.Class(class), int(c.before), p.source.Uint64())
	return withHint(delay, hint)
}

// refused ends the call for want of tokens. A long poll waits first, unless its
// deadline would come before the end of the wait (R7).
func (c *Call) refused(p *policy, class classify.Class, hint, left time.Duration) Decision {
	var delay time.Duration
	if (c.flags|c.engine.begin)&longPoll != 0 {
		if delay = c.backoff(p, class, hint); delay >= left {
			delay = 0
		}
	}
	c.stop(class, ReasonQuota)
	return Decision{Delay: delay, Reason: ReasonQuota}
}

// stop ends the call without success.
func (c *Call) stop(class classify.Class, reason Reason) Decision {
	c.quick, c.flags = nil, 0
	e := c.engine
	e.counts.stops[reason].Inc()
	if hook := e.policy.Load().observer.Stop; hook != nil {
		notify(e, hook, StopEvent{Attempts: c.Attempts(), Class: class, Reason: reason, QuotaLeft: int(e.quota.Level())})
	}
	return Decision{Reason: reason}
}

// Abandon ends the call as cancelled. A retry that was granted and not sent
// gives its tokens back (R6.3); one that was sent keeps its cost. Lock-free,
// allocates nothing, reads no clock.
func (c *Call) Abandon() { c.abandon(classify.NonRetryable, ReasonCancelled) }

func (c *Call) abandon(class classify.Class, reason Reason) Decision {
	if c.quick == nil {
		return Decision{Reason: reason}
	}
	if c.flags&granted != 0 {
		c.before--
		c.engine.quota.Give(c.paid)
		c.engine.counts.unsent.Inc()
	}
	return c.stop(class, reason)
}
