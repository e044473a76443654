package sim

import (
	"math"
	"time"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// answered takes an attempt's answer to what decides.
func (w *world) answered(i uint32, f *flight, shard uint32, r result) {
	c := w.callerOf(f)
	f.gen++ // the attempt's time-out is void
	if r == succeeded {
		switch {
		case c.engine == nil:
			c.own.Succeed(time.Duration(w.now), f.attempts())
		case c.limited:
			f.call.SucceedAt(w.time())
		default:
			f.call.Succeed()
		}
		w.ends(i, f, engine.ReasonRetry)
		return
	}
	f.class = r
	d := w.decide(c, f, classify.Class(r))
	switch {
	case d.Reason == engine.ReasonRetry && d.Delay == 0:
		w.result.Retries++
		w.admit(i, f, shard)
	case d.Reason == engine.ReasonRetry:
		w.result.Retries++
		f.standing = backing
		w.later(w.now+int64(d.Delay), backoffEnds, request{i, f.gen, shard}, 0)
	case d.Reason == engine.ReasonQuota && d.Delay > 0:
		f.standing = pausing
		w.later(w.now+int64(d.Delay), pauseEnds, request{i, f.gen, shard}, 0)
	default:
		w.ends(i, f, d.Reason)
	}
}

func (w *world) decide(c *caller, f *flight, class classify.Class) engine.Decision {
	l := &w.layers[f.layer]
	if c.engine == nil {
		d := c.own.Fail(time.Duration(w.now), f.attempts(), class, l.jitter.Uint64())
		if d.Reason == engine.ReasonRetry && l.Deadline > 0 && int64(d.Delay) >= f.began+int64(l.Deadline)-w.now {
			c.own.Abandon(time.Duration(w.now), f.attempts(), true)
			d = engine.Decision{Reason: engine.ReasonDeadline}
		}
		return d
	}
	o := engine.Outcome{Class: class}
	if l.Deadline > 0 {
		o.Deadline = epoch.Add(time.Duration(f.began) + l.Deadline)
	}
	return f.call.FailAt(w.time(), o)
}

// outOfTime ends a call at its deadline.
func (w *world) outOfTime(i uint32, f *flight) {
	switch f.standing {
	case nowhere, lost:
	case pausing:
		w.ends(i, f, engine.ReasonQuota)
	default:
		w.abandon(i, f, engine.ReasonDeadline)
	}
}

// abandon ends a call that is under way.
func (w *world) abandon(i uint32, f *flight, reason engine.Reason) {
	c := w.callerOf(f)
	if c.engine != nil {
		f.call.Abandon()
	} else {
		c.own.Abandon(time.Duration(w.now), f.attempts(), f.standing == backing)
	}
	w.ends(i, f, reason)
}

// ends is the end of every call. ReasonRetry, which ends none, stands for success.
func (w *world) ends(i uint32, f *flight, reason engine.Reason) {
	ok := reason == engine.ReasonRetry
	w.result.EndedAt = time.Duration(w.now)
	if f.layer == 0 {
		w.countEnd(f, reason, ok)
	} else {
		r := succeeded
		switch {
		case ok:
		case reason == engine.ReasonDeadline:
			r = transient // a gateway's 504
		default:
			r = f.class
		}
		w.reply(w.flights.cargo(i).from, r)
	}
	c := w.callerOf(f)
	if f.standing == inLine {
		// It leaves the line when its turn comes.
		f.standing = lost
		c.waiting--
		w.waiting--
		return
	}
	w.flights.put(i, f)
}

func (w *world) countEnd(f *flight, reason engine.Reason, ok bool) {
	w.point.Ended++
	if ok {
		w.point.Succeeded++
		w.result.Latency += min(time.Duration(w.now-f.began), math.MaxInt64-w.result.Latency)
	} else {
		w.result.Stops[reason]++
	}
	if f.looped {
		w.again(f.caller, f.began)
	}
	if w.watch.Ended != nil {
		w.watch.Ended(Ended{
			Caller: int(f.caller), Began: time.Duration(f.began), At: time.Duration(w.now),
			Attempts: f.attempts(), OK: ok, Reason: reason,
		})
	}
}
