package ratelimit

import (
	"math"

	"github.com/reprise-go/reprise/internal/invariant"
)

// What a response makes of the rates (R8.2). Each method works on a copy; old is the
// state that it is a copy of, used what was taken from that one's line and, returned,
// from the line that the copy has.

// unmoved reports whether a success before the next border changes nothing: the
// rate is held where it is, or it is at the minimum and, whatever was marked, will
// not rise from there.
func (s *snapshot) unmoved(atNanos int64) bool {
	return s.flat || s.floor == open && s.bounded(s.cubic(atNanos)) <= minFillRate
}

// succeeded is R8.2 for what was not throttled.
func (s *snapshot) succeeded(old *snapshot, atNanos, used int64) (usedAfter int64) {
	calculated := s.cubic(atNanos)
	rate := s.bounded(calculated)
	s.flat = rate < calculated && rate > minFillRate
	used = s.setRate(old, rate, atNanos, used)
	if s.fillRate != old.fillRate {
		s.floor = off
	}
	return used
}

// throttled is R8.2 for a throttle, or [Limiter.ThrottleAt]'s if there is a window. It
// reports whether the rate was cut.
func (s *snapshot) throttled(old *snapshot, atNanos, used, admittedNanos, windowNanos int64) (usedAfter int64, cut bool) {
	switch {
	case windowNanos <= 0:
		used = s.setRate(old, s.bounded(s.cut(atNanos, false)), atNanos, used)
		s.settle()
		return used, true
	case !s.enabled && !s.run.measured():
		s.run |= held // there is no rate yet to take a share of
		return used, false
	case s.enabled && admittedNanos < s.lastThrottleNanos && atNanos-s.lastThrottleNanos < windowNanos:
		return used, false // it tells what the last cut has answered
	default:
		return s.empty(old, s.bounded(s.cut(atNanos, true)), atNanos, used), true
	}
}

// cubic is R8.2's calculated rate when nothing is throttled.
func (s *snapshot) cubic(atNanos int64) (calculated float64) {
	t := seconds(atNanos-s.lastThrottleNanos) - s.windowSeconds
	return scale*t*t*t + s.lastMax
}

// window is R8.2's K: the seconds in which the cubic is back at lastMax, of which
// the cut has taken a share.
func window(lastMax, lost float64) float64 {
	return math.Cbrt(lastMax * lost / scale)
}

// bounded is R8.2's bound on the rate.
func (s *snapshot) bounded(calculated float64) float64 {
	return min(calculated, 2*s.measured)
}

// cut is the first half of R8.2's cut, or of the gentle one. It returns the
// calculated rate.
func (s *snapshot) cut(atNanos int64, gentle bool) (calculated float64) {
	now := s.measured
	if s.enabled {
		now = min(now, s.fillRate)
	}
	// The share that is lost is a constant too: 1 - keep at run time has another
	// last bit than R8.2's 0.3.
	keep, lost := beta, 1-beta
	if gentle {
		keep, lost = gentleBeta, 1-gentleBeta
	}
	if now != s.lastMax || gentle != s.gentle || s.windowSeconds == 0 {
		s.lastMax = now
		s.windowSeconds = window(now, lost)
	}
	s.lastThrottleNanos = atNanos
	s.gentle = gentle
	s.enabled = true
	s.flat = false
	return keep * now
}

// setRate is the end of R8.2: fill rate and capacity for a new rate. The line
// begins anew where s ends, unless it stays the same line; then so does used,
// and that is what it returns.
func (s *snapshot) setRate(old *snapshot, wanted float64, nowNanos, used int64) (usedAfter int64) {
	fill := minFillRate
	if wanted > fill { // so what is no number is the minimum
		fill = min(wanted, maxFillRate)
	}
	if fill == old.fillRate {
		return used
	}
	s.level, s.atNanos = old.refill(nowNanos, used)
	s.fillRate = fill
	s.capacityTicks = int64(min(max(fill, minCapacity), maxTokens) * float64(ticksPerToken))
	s.level = min(s.level, max(fill, minCapacity))
	if invariant.Enabled {
		invariant.Check(s.level >= 0 && s.level <= s.capacity(), "ratelimit: level outside [0, capacity]")
	}
	return 0
}

// empty is setRate for a gentle cut: what was saved up goes, because it would
// carry on the burst that the cut has ended. Not at the minimum rate: a bucket holds
// but one token there, and clients that were throttled together, all of them
// emptied, would be back together.
func (s *snapshot) empty(old *snapshot, wanted float64, nowNanos, used int64) (usedAfter int64) {
	s.floor = off
	usedAfter = s.setRate(old, wanted, nowNanos, used)
	if s.fillRate == minFillRate {
		return usedAfter
	}
	_, s.atNanos = old.refill(nowNanos, used)
	s.level = 0
	return 0
}

// settle opens the floor after a cut if the next cut would change nothing.
func (s *snapshot) settle() {
	s.floor = off
	if s.fillRate == minFillRate && s.lastMax == min(s.measured, minFillRate) {
		s.floor = open
	}
}

// sameRates reports whether s differs from old in nothing that a response can
// change, but for the count.
func (s *snapshot) sameRates(old *snapshot) bool {
	return s.fillRate == old.fillRate && s.lastThrottleNanos == old.lastThrottleNanos &&
		s.lastMax == old.lastMax && s.flat == old.flat && s.floor == old.floor && s.enabled == old.enabled &&
		s.gentle == old.gentle && s.run == old.run
}
