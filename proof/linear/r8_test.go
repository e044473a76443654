package linear

import (
	"math"
	"time"
)

// r8 is the limiter of R8 as plainly as it can be written, with the rule for stale
// instants: float64, nanoseconds since the start, no line in fixed point, no slots. It
// is a value: a step returns what comes after.
type r8 struct {
	fill, capacity    float64
	level             float64 // at the instant takenAt; what is before lies on the line behind it
	takenAt, changeAt int64   // the latest admission or change of the rate; the latest change
	enabled, flat     bool    // flat: the rate is at its bound until the half second ends

	measured, lastMax float64
	lastThrottle      int64
	bucket            int64 // half seconds since the whole second in which the limiter began
	heard, counted    int   // responses so far; those that half seconds which have ended took in
}

const (
	halfSecond = int64(500 * time.Millisecond)
	// slackTokens is how far the level may be from a token for either answer: float64 and
	// fixed point differ by far less, and random instants hardly ever come so near.
	slackTokens = 1e-6
)

// seconds multiplies, as the limiter does: whether a rate is the same as before is a matter of its last bit, and decides
// whether a stale instant counts as this response or as the change before.
func seconds(nanos int64) float64 { return float64(nanos) * 1e-9 }

// levelAt is the level at an instant, before the latest admission too, where it may be
// below 0.
func (s r8) levelAt(now int64) float64 {
	now = max(now, s.changeAt)
	level := s.level + seconds(now-s.takenAt)*s.fill
	if now >= s.takenAt {
		level = min(level, s.capacity)
	}
	return level
}

// admit takes a token.
func (s r8) admit(now int64) r8 {
	if now = max(now, s.changeAt); now >= s.takenAt {
		s.level, s.takenAt = s.levelAt(now), now
	}
	s.level--
	return s
}

// acquires reports whether wait is an answer to an attempt at now, and what comes after (R8.1).
func (s r8) acquires(now int64, wait time.Duration) (after r8, ok bool) {
	if !s.enabled {
		return s, wait == 0
	}
	level := s.levelAt(now)
	if wait == 0 {
		return s.admit(now), level >= 1-slackTokens
	}
	want := (1-level)/s.fill + seconds(max(s.changeAt-now, 0))
	return s, level < 1+slackTokens && math.Abs(wait.Seconds()-want) <= 2e-9+slackTokens/s.fill+1e-9*want
}

// floor is where a throttle changes nothing but the time of the last.
func (s r8) floor() bool {
	return s.enabled && s.fill == 0.5 && s.lastMax == min(s.measured, 0.5)
}

// ends reports whether a response at now is the first of a new half second.
func (s r8) ends(now, phase int64) bool {
	return (phase+s.heardAt(now))/halfSecond > s.bucket
}

// heardAt is when a response at now counts as heard.
func (s r8) heardAt(now int64) int64 { return max(now, s.changeAt, s.lastThrottle) }

// hear is R8.2, counted being the responses so far if the half second ends.
func (s r8) hear(now, phase int64, throttled bool, counted int) r8 {
	at := s.heardAt(now)
	if b := (phase + at) / halfSecond; b > s.bucket {
		rate := float64(counted-s.counted) / (float64(b-s.bucket) / 2)
		s.measured = 0.8*rate + 0.2*s.measured
		s.bucket, s.counted, s.flat = b, counted, false
	} else if s.flat && !throttled {
		return s
	}
	var calculated float64
	if throttled {
		r := s.measured
		if s.enabled {
			r = min(r, s.fill)
		}
		s.lastMax, s.lastThrottle, s.enabled = r, at, true
		calculated = 0.7 * r
	} else {
		t := seconds(at-s.lastThrottle) - math.Cbrt(0.3*s.lastMax/0.4)
		calculated = 0.4*t*t*t + s.lastMax
	}
	rate := min(calculated, 2*s.measured)
	s.flat = !throttled && rate < calculated && rate > 0.5
	return s.follow(rate, at)
}

// follow lets the tokens come at a new rate from an instant on.
func (s r8) follow(rate float64, at int64) r8 {
	fill := max(rate, 0.5)
	if fill == s.fill {
		return s
	}
	level := s.levelAt(at)
	if level < 0 { // somebody has taken what comes later: so it is later
		at = s.takenAt - int64(s.level/s.fill*1e9)
		level = 0
	}
	s.fill, s.capacity = fill, max(rate, 1)
	s.level, s.takenAt, s.changeAt = min(level, s.capacity), at, at
	return s
}

// sees is what a look at the limiter says.
type sees struct {
	enabled                         bool
	fill, measured, capacity, level float64
	sinceThrottle                   time.Duration
}

func (s r8) look(now int64) sees {
	at := max(now, s.lastThrottle)
	return sees{s.enabled, s.fill, s.measured, s.capacity, max(s.levelAt(at), 0), time.Duration(at - s.lastThrottle)}
}

// near is equality but for what rounding does: an instant at which a level crosses 0 is a whole nanosecond.
func (a sees) near(b sees) bool {
	apart := a.sinceThrottle - b.sinceThrottle
	return a.enabled == b.enabled && near(a.fill, b.fill) && near(a.measured, b.measured) && near(a.capacity, b.capacity) &&
		math.Abs(a.level-b.level) <= slackTokens && max(apart, -apart) <= 2
}

// near is equality to 1e-8, relative or absolute below 1: a cubic from a nanosecond later is that near. (Where no
// instant is stale the rates are equal to 1e-9; that is ratelimit's own test.)
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-8*max(1, math.Abs(a)) }

// same is equality of states but for what the order of two sums makes of a float.
func (s r8) same(o r8) bool {
	exact := func(s r8) r8 {
		s.fill, s.capacity, s.level, s.measured, s.lastMax, s.takenAt, s.changeAt = 0, 0, 0, 0, 0, 0, 0
		return s
	}
	return exact(s) == exact(o) && near(s.fill, o.fill) && near(s.level, o.level) && near(s.measured, o.measured) && near(s.lastMax, o.lastMax) &&
		max(s.takenAt-o.takenAt, o.takenAt-s.takenAt, s.changeAt-o.changeAt, o.changeAt-s.changeAt) <= 1
}
