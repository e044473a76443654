package ratelimit

import (
	"math"
	"time"
)

// Update is [Limiter.UpdateAt] at this instant, but does not always look at the
// clock. It does for every response once anything was throttled, and as long as
// fewer than 2,048 responses come in a half second (4,096 on two processors, twice
// that on three or four, up to 64): then it is R8. From that on, and before the first
// throttle, all successes are counted but only a sample looks at the clock, such
// that those which miss the end of a half second together are less than a
// 1,024th of the count of the one before. A timer ends the sampling at each
// border, so that the first success after it is seen however sharply the rate
// has fallen. So the measured rate is within a 1,024th of R8's, or within what
// came while the timer was late.
func (l *Limiter) Update(throttled bool) {
	if l.gate.enabled() {
		l.UpdateNanos(l.anchor.Now(), throttled)
		return
	}
	n := l.counts.Add()
	if !throttled && l.gate.skips(n) {
		return
	}
	now := l.anchor.Now()
	l.respond(now, throttled, 1, now, 0)
	if !throttled {
		l.watch(now)
	}
}

// UpdateAt tells the limiter that a response came, whether a success or any
// error; throttled says that its class was throttling (R8.2, R2.2). Call it
// after every real response and before the retry decision; never for what was
// refused locally (R8.3).
//
// A success that changes no rate is one add on the processor's own line, one that
// does writes a slot and publishes it. Lock-free: a failed CAS means that another
// operation succeeded. Never blocks, reads no clock, allocates nothing but what the
// package comment names. A now before one that was already seen counts as the later
// one.
func (l *Limiter) UpdateAt(now time.Time, throttled bool) {
	l.UpdateNanos(l.anchor.Nanos(now), throttled)
}

// UpdateNanos is [Limiter.UpdateAt] for a count of nanoseconds.
func (l *Limiter) UpdateNanos(nowNanos int64, throttled bool) {
	if throttled {
		l.throttle(nowNanos)
		return
	}
	// What respond does, for a success that changes nothing.
	if l.quiet.holds(nowNanos) {
		l.counts.Add()
		return
	}
	l.respond(nowNanos, false, 0, nowNanos, 0)
}

// throttle is UpdateNanos for a throttle, and like it does first what publishes
// nothing.
func (l *Limiter) throttle(nowNanos int64) {
	counted := uint64(0)
	if p := l.current.Load(); p != nil {
		word := p.word.Load()
		t := p.at(word)
		version, tags := t.version.Load(), t.tags.Load()
		at := max(nowNanos, t.at.Load(), t.lastThrottleNanos.Load())
		if _, same := p.is(word, version); same && at < l.border(uint32(tags)) && tags&openTag != 0 {
			reach(beforeMark)
			l.counts.Mark(at, 1)
			if _, same = p.is(word, version); same {
				return
			}
			counted = 1
		}
	}
	l.respond(nowNanos, true, counted, nowNanos, 0)
}

// ThrottleAt is [Limiter.UpdateAt] for a throttle, with one cut for each burst of
// them. One that answers an attempt admitted before the last cut, and that comes
// less than window after it, tells what that cut has already answered: it is
// counted and does not cut. Nor does one before the first cut of all while there is
// no rate to cut: until a whole half second was measured of the traffic that began
// at New, or after the last half second without a response. Once a throttle has
// waited so, pauses begin nothing anew: one that comes a second later cuts. Any
// other cuts to 0.85 of what R8.2 cuts to 0.7 of, with the K that belongs to it, and,
// above the minimum rate, empties the bucket, so that the burst does not go on out
// of what was saved up. It reports whether it cut. window 0 is R8.
//
// Ours, not the page's: see One cut for a burst in the package comment. The window
// only bounds how late a throttle may come and still count as part of the burst;
// longer than any response takes is right. Progress as in [Limiter.UpdateAt], but
// each cut is published, also at the minimum rate.
func (l *Limiter) ThrottleAt(now, admitted time.Time, window time.Duration) (cut bool) {
	return l.ThrottleNanos(l.anchor.Nanos(now), l.anchor.Nanos(admitted), window)
}

// ThrottleNanos is [Limiter.ThrottleAt] for counts of nanoseconds.
func (l *Limiter) ThrottleNanos(nowNanos, admittedNanos int64, window time.Duration) (cut bool) {
	return l.respond(nowNanos, true, 0, admittedNanos, int64(window))
}

// respond is R8.2. counted is 1 if the caller has put the response in the
// counter, else 0: one that is published goes along with the snapshot. It
// reports whether the rate was cut.
//
// It ends: a failed CAS means that another operation succeeded or has frozen the
// page, which happens once.
func (l *Limiter) respond(nowNanos int64, throttled bool, counted uint64, admittedNanos, windowNanos int64) (cut bool) {
	if l.current.Load() == nil {
		return false
	}
	var s snapshot
	for {
		p, word := l.state(&s)
		at := s.seen(nowNanos)
		inside := at < l.border(s.bucket)
		if inside && !throttled && s.unmoved(at) {
			l.quiet.say(l.quietUntil(&s))
			l.count(counted)
			return false
		}
		if inside && throttled && windowNanos <= 0 && s.floor == open && word&frozenBit == 0 {
			reach(beforeMark)
			l.counts.Mark(at, 1-counted)
			if _, same := p.is(word, s.version); same {
				return true
			}
			counted = 1 // but the mark may have come too late
			continue
		}
		next := s
		if s.floor == open {
			next.floor = closed
			l.replace(p, word, &s, &next, s.used(word))
			continue // with the marks, which nobody makes any more
		}
		var used int64
		next.lastThrottleNanos = s.lastThrottle(&l.counts)
		at = max(at, next.lastThrottleNanos)
		next.uncounted += 1 - counted
		if !inside {
			l.measure(&next, at)
		}
		if throttled {
			used, cut = next.throttled(&s, at, s.used(word), admittedNanos, windowNanos)
		} else {
			used, cut = next.succeeded(&s, at, s.used(word)), false
		}
		if inside && next.sameRates(&s) {
			l.count(counted)
			return cut
		}
		if l.replace(p, word, &s, &next, used) {
			return cut
		}
	}
}

// rebase starts the line afresh at now, before its numbers grow too large. It ends
// as respond does.
func (l *Limiter) rebase(nowNanos int64) {
	var s snapshot
	for {
		p, word := l.state(&s)
		next := s
		next.level, next.atNanos = s.refill(s.seen(nowNanos), s.used(word))
		if l.replace(p, word, &s, &next, 0) {
			return
		}
	}
}

// replace is publish, and tells those who do not look at the page: of the first
// cut before there is one, of a state that is no longer quiet before it is
// replaced, of one that is quiet after.
func (l *Limiter) replace(p *page, word uint64, s, next *snapshot, used int64) (ok bool) {
	if next.enabled && !s.enabled {
		l.gate.enable()
	}
	until := l.quietUntil(next)
	if was := l.quietUntil(s); was != until {
		l.quiet.withdraw(was)
	}
	reach(beforeChange)
	if !l.publish(p, word, next, used) {
		return false
	}
	reach(beforeSaying)
	l.quiet.say(until)
	return true
}

// count puts a response that is not in it yet in the counter.
func (l *Limiter) count(counted uint64) {
	if counted == 0 {
		l.counts.Add()
	}
}

// measure takes s over the border that at lies behind. The last bucket that can
// be counted, 68 years away, never ends, and neither does what was measured.
func (l *Limiter) measure(s *snapshot, at int64) {
	bucket := uint32(min((l.phaseNanos+at)/halfSecond, math.MaxUint32))
	if bucket == s.bucket {
		return
	}
	sum := l.counts.Sum()
	count := sum + s.uncounted
	rate := float64(count) / (float64(bucket-s.bucket) / 2)
	s.measured = smooth*rate + (1-smooth)*s.measured
	s.run = l.runs(s.run, s.bucket, bucket, at)
	s.bucket = bucket
	s.uncounted = -sum
	s.skip = skipBits(count, l.counts.Cells())
	s.flat = false
}

// border returns when the bucket ends, in nanoseconds since New.
func (l *Limiter) border(bucket uint32) int64 {
	return (int64(bucket)+1)*halfSecond - l.phaseNanos
}

// quietUntil returns when the bucket of s ends, if s is flat and lies in it: an
// instant before the end is then in it too, for it counts as no earlier than what s
// has seen.
func (l *Limiter) quietUntil(s *snapshot) int64 {
	border := l.border(s.bucket)
	if !s.flat || max(s.atNanos, s.lastThrottleNanos) >= border { // the last bucket that there is
		return never
	}
	return border
}

// watch lets [Limiter.Update] sample until the current bucket ends.
func (l *Limiter) watch(nowNanos int64) {
	if l.current.Load() == nil {
		return
	}
	var s snapshot
	l.state(&s)
	if left := l.border(s.bucket) - nowNanos; s.skip != 0 && !s.enabled && left > 0 {
		l.gate.watch(s.bucket, uint32(1)<<s.skip-1, left)
	}
}
