package engine

import (
	"context"
	"time"

	"github.com/reprise-go/reprise/classify"
)

// Admit asks to send the next attempt now. Zero admits it: the attempt counts as
// sent, and what a retry has taken no longer comes back on [Call.Abandon].
// Otherwise nothing is taken, the attempt must not be sent, and the answer is how
// long to wait before asking again. Only adaptive mode makes anyone wait (R2.1,
// R8.1), and while calls wait in [Call.AdmitWait] this one is admitted only out of
// what they leave over: beside a line that does not end it can starve. Of a call
// that has ended the answer means nothing: only a Decision says whether to go on.
// Lock-free, allocates nothing; reads the clock in adaptive mode, once something
// was throttled.
func (c *Call) Admit() time.Duration {
	if c.quick == outOfLine {
		return c.admitSlow()
	}
	return 0 // a first attempt, or none
}

func (c *Call) admitSlow() time.Duration {
	if c.engine.begin&limited != 0 && c.engine.limiter.Enabled() {
		return c.admit(c.engine.nowNanos())
	}
	c.flags &^= granted
	return 0
}

// AdmitAt is [Call.Admit] at the time now, which matters only in adaptive mode.
// Lock-free, allocates nothing, reads no clock.
func (c *Call) AdmitAt(now time.Time) time.Duration {
	if !c.limited() || !c.engine.limiter.Enabled() {
		c.flags &^= granted
		return 0
	}
	nowNanos := c.engine.limiter.Nanos(now)
	wait := c.engine.limiter.AcquireNanos(nowNanos) // as admit, which is a call more
	if wait == 0 {
		c.admitted(nowNanos)
	}
	return wait
}

func (c *Call) admit(nowNanos int64) time.Duration {
	wait := c.engine.limiter.AcquireNanos(nowNanos)
	if wait == 0 {
		c.admitted(nowNanos)
	}
	return wait
}

func (c *Call) admitted(nowNanos int64) {
	c.admittedNanos = nowNanos
	c.flags &^= granted
}

// AdmitWait is [Call.Admit] with the caller's context: it waits its turn for as
// long as the limiter says. If the Reason is ReasonRetry, send now. Any other
// Reason has ended the call: ReasonDeadline, at once and with the wait as Delay,
// if the wait would take half of the time until ctx's deadline or more;
// ReasonDeadline or ReasonCancelled if ctx ended in the wait. Nothing is taken
// before the attempt may be sent. Outside of adaptive mode it neither waits nor
// looks at ctx. Blocks; callers that wait are served about in the order in which
// they came.
//
// Why half: under overload a line that is served in order grows until its wait is
// as long as the deadlines allow. If they allowed all of the time, every attempt
// would be sent with no time left for its answer, and the server would work for
// nobody. And at a rate so low that a token takes longer to come than a deadline,
// the first in line would always run out of time just when its token comes. No
// answer would ever be in time, the limiter would hear of none, and the rate would
// stay where it is.
func (c *Call) AdmitWait(ctx context.Context) Decision {
	if c.quick == nil {
		return Decision{}
	}
	if c.Admit() == 0 {
		return Decision{Reason: ReasonRetry}
	}
	return c.queue(ctx, Outcome{})
}

// queue waits in the limiter's line until the attempt is admitted; o is the
// latest failure.
func (c *Call) queue(ctx context.Context, o Outcome) Decision {
	e, class := c.engine, o.Class
	deadline := sooner(ctx, o.Deadline)
	clock := e.policy.Load().clock
	place := e.limiter.Wait()
	defer place.Leave()
	defer c.unsentByPanic()
	turn := place.Turn()
	for {
		if ctx.Err() != nil {
			return c.told(ctx, class, c.unsent(class, endOf(ctx)))
		}
		select {
		case <-turn:
			turn = nil // first in line: from now on only time can help
		default:
		}
		left := forever
		if !deadline.IsZero() {
			if left = deadline.Sub(clock.Now()); left <= 0 {
				return c.told(ctx, class, c.unsent(class, ReasonDeadline))
			}
			left /= 2
		}
		nowNanos := e.nowNanos()
		wait, admitted := place.AdmitNanos(nowNanos)
		if admitted {
			c.admitted(nowNanos)
			return Decision{Reason: ReasonRetry}
		}
		if wait >= left {
			d := c.unsent(class, ReasonDeadline)
			d.Delay = wait
			return c.told(ctx, class, d)
		}
		clock.Sleep(ctx, wait, turn)
	}
}

// unsent ends a call whose next attempt the limiter did not admit.
func (c *Call) unsent(class classify.Class, reason Reason) Decision {
	if c.flags&retried == 0 {
		c.before = noneSent
	}
	return c.abandon(class, reason)
}

// FailWait is [Call.FailIn] followed by [Call.Wait]: it decides, waits, and
// admits the next attempt. If the Reason is ReasonRetry, send again now; any
// other has ended the call and nothing is left to wait for. Blocks for the
// delay, and no longer than ctx lives; allocates at most a timer and, in
// adaptive mode, a place in line.
func (c *Call) FailWait(ctx context.Context, o Outcome) Decision {
	return c.Wait(ctx, o, c.FailIn(ctx, o))
}

// FailIn is [Call.Fail] under the caller's context: it obeys the context's
// deadline and cancellation, and waits for nothing. Between it and [Call.Wait]
// is the place to let go of what the failed attempt still holds. Reads the
// clock only if there is a deadline, and in adaptive mode; allocates as FailAt.
func (c *Call) FailIn(ctx context.Context, o Outcome) Decision {
	if c.quick == nil {
		return Decision{}
	}
	c.flags &^= granted // what has failed was sent
	if ctx.Err() != nil && (o.Class != classify.NonRetryable || o.Cancelled) {
		if c.limited() && o.Class == classify.Throttling && !o.Local {
			c.engine.heardNow(true, c.admittedNanos) // a throttle is the server's, whoever listens
		}
		return c.told(ctx, o.Class, c.abandon(o.Class, endOf(ctx)))
	}
	o.Deadline = sooner(ctx, o.Deadline)
	return c.told(ctx, o.Class, c.Fail(o))
}

// Wait waits for the delay of d, which FailIn or Fail has just decided about o,
// and admits the next attempt, if there is one. If the Reason it returns is
// ReasonRetry, send again now; any other has ended the call, and is ready for
// [Call.Wrap]. The limiter's wait is held to the deadlines of ctx and o as in
// [Call.AdmitWait]. Blocks for the delay, and no longer than ctx lives; allocates
// as [Call.FailWait].
func (c *Call) Wait(ctx context.Context, o Outcome, d Decision) Decision {
	if c.engine == nil {
		return Decision{}
	}
	defer c.unsentByPanic()
	if d = c.pause(ctx, o, d); d.Reason != ReasonRetry {
		return d
	}
	if c.Admit() != 0 {
		if admission := c.queue(ctx, o); admission.Reason != ReasonRetry {
			return admission
		}
	}
	return d
}

// Pause is the first half of [Call.Wait]: it waits for the delay and admits
// nothing. If the Reason it returns is ReasonRetry, ask [Call.Admit] or
// [Call.AdmitWait] when the attempt is about to be sent; until then
// [Call.Abandon] gives back what the retry took (R6.3). It is for a loop in
// which something may yet come between the delay and the sending. Blocks for the
// delay, and no longer than ctx lives; allocates at most a timer.
func (c *Call) Pause(ctx context.Context, o Outcome, d Decision) Decision {
	if c.engine == nil {
		return Decision{}
	}
	paused := false
	defer func() {
		if !paused {
			c.unsentByPanic()
		}
	}()
	d = c.pause(ctx, o, d)
	paused = true
	return d
}

func (c *Call) pause(ctx context.Context, o Outcome, d Decision) Decision {
	if d.Delay > 0 {
		c.engine.policy.Load().clock.Sleep(ctx, d.Delay, nil)
	}
	if d.Reason != ReasonRetry {
		return Decision{Reason: d.Reason}
	}
	if c.flags&granted == 0 {
		return Decision{}
	}
	if ctx.Err() != nil {
		return c.told(ctx, o.Class, c.abandon(o.Class, endOf(ctx)))
	}
	return d
}

// unsentByPanic gives back what a granted retry took if a wait ends neither with
// its admission nor with the call: the clock or the context panicked, or the
// goroutine is at its end (R6.3). Else it finds nothing to do.
func (c *Call) unsentByPanic() {
	if c.flags&granted != 0 {
		c.Abandon()
	}
}

// sooner is ctx's deadline or the given one, whichever comes first; zero if there
// is neither.
func sooner(ctx context.Context, deadline time.Time) time.Time {
	if end, ok := ctx.Deadline(); ok && (deadline.IsZero() || end.Before(deadline)) {
		return end
	}
	return deadline
}

// endOf says whether a context that is done ran out of time or was cancelled.
func endOf(ctx context.Context) Reason {
	if ctx.Err() == context.DeadlineExceeded {
		return ReasonDeadline
	}
	return ReasonCancelled
}

// nowNanos is the limiter's present.
func (e *Engine) nowNanos() int64 {
	if p := e.policy.Load(); !p.system {
		return e.limiter.Nanos(p.clock.Now())
	}
	return e.limiter.Now()
}

// heardNow tells the limiter of a response that has come now (R2.2, R8.2).
func (e *Engine) heardNow(throttled bool, admittedNanos int64) {
	if p := e.policy.Load(); p.system && (!throttled || p.coalesce == 0) {
		e.limiter.Update(throttled)
		return
	}
	e.heard(e.nowNanos(), throttled, admittedNanos)
}

// heard tells the limiter of a response.
func (e *Engine) heard(nowNanos int64, throttled bool, admittedNanos int64) {
	if window := e.policy.Load().coalesce; throttled && window > 0 {
		e.limiter.ThrottleNanos(nowNanos, admittedNanos, window)
		return
	}
	e.limiter.UpdateNanos(nowNanos, throttled)
}
