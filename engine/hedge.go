package engine

import "github.com/reprise-go/reprise/classify"

// Hedge is an attempt that was sent beside another of the same call, because
// that one took long. [Call.Hedge] makes it; the zero Hedge stands for the
// attempt that a hedge was sent beside.
type Hedge struct {
	admittedNanos int64
	attempt       uint32
	paid          uint32 // tokens
}

// hedges is where counters.retries counts hedges: at the class after which there
// are no retries.
const hedges = classify.NonRetryable

// Attempt returns the number of the hedge among the attempts of its call, from
// 2; 0 for the zero Hedge. Wait-free.
func (h Hedge) Attempt() int { return int(h.attempt) }

// Hedge asks to send one more attempt beside the one that is under way. If ok,
// send it now: whoever asks runs both, tells the call of the one that counts, and
// cancels the other. A hedge is an attempt like any other (R1.1), and takes from
// the quota what a retry after a transient failure takes (R6), because that is
// what its cause would have become. Not ok means that the attempts are used up,
// or that the quota or, in adaptive mode, the limiter does not let one be sent
// now; nothing is taken and the call goes on. A hedge never waits. One at a time:
// of several only the latest can be adopted.
//
// The tokens come back as a retry's do (R6): if [Call.Adopt] and then
// [Call.Succeed] say that the hedge is what succeeded. Those of a hedge that
// failed, or was cancelled because the other was quicker, are spent: it was sent,
// and calls that are all slow must not all be sent twice for nothing.
// Lock-free, allocates nothing; reads the clock in adaptive mode, once something
// was throttled.
func (c *Call) Hedge() (h Hedge, ok bool) {
	if c.quick == nil || c.flags&granted != 0 {
		return Hedge{}, false
	}
	e := c.engine
	p := e.policy.Load()
	if c.before+1 >= p.attempts {
		return Hedge{}, false
	}
	cost := e.cost(p, classify.Transient)
	if !e.quota.TryTake(cost) {
		return Hedge{}, false
	}
	admittedNanos := c.admittedNanos
	if c.limited() && e.limiter.Enabled() {
		if admittedNanos = e.nowNanos(); e.limiter.AcquireNanos(admittedNanos) != 0 {
			e.quota.Give(cost) // never sent (R6.3)
			return Hedge{}, false
		}
	}
	c.before++
	e.counts.retries[hedges].Inc()
	if hook := p.observer.Hedge; hook != nil {
		c.announceHedge(hook, cost)
	}
	return Hedge{admittedNanos: admittedNanos, attempt: c.before + 1, paid: cost}, true
}

// announceHedge calls the hook of a hedge, which is not sent if the hook ends
// the goroutine.
func (c *Call) announceHedge(hook func(HedgeEvent), cost uint32) {
	e, returned := c.engine, false
	defer func() {
		if !returned {
			c.before--
			e.quota.Give(cost)
			e.counts.unsent.Inc()
		}
	}()
	notify(e, hook, HedgeEvent{Attempt: c.Attempts(), Cost: int(cost), QuotaLeft: int(e.quota.Level())})
	returned = true
}

// Adopt makes a hedge the attempt that [Call.Succeed] and [Call.Fail] speak of,
// in the place of the one that it was sent beside: a retry, with the tokens that
// the hedge took. Without effect if h is zero or not the latest attempt of the
// call, or if the call has ended. Wait-free, allocates nothing, reads no clock.
func (c *Call) Adopt(h Hedge) {
	if c.quick == nil || c.flags&granted != 0 || h.attempt == 0 || h.attempt != c.before+1 {
		return
	}
	c.paid, c.admittedNanos = h.paid, h.admittedNanos
	c.flags |= retried
	c.quick = outOfLine
}

// FailBeside reports that one of two attempts has failed while the other is
// still under way: h, or, with the zero Hedge, the one that h was sent beside. It
// decides nothing and moves no token. In adaptive mode the limiter hears of the
// response (R2.2), unless the failure was local (R8.3), and there the clock is
// read. Lock-free, allocates nothing.
func (c *Call) FailBeside(h Hedge, o Outcome) {
	if !c.limited() || o.Local {
		return
	}
	admittedNanos := c.admittedNanos
	if h.attempt != 0 {
		admittedNanos = h.admittedNanos
	}
	c.engine.heardNow(o.Class == classify.Throttling, admittedNanos)
}
