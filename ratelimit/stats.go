package ratelimit

import "time"

// Stats is the limiter's state at one instant.
type Stats struct {
	FillRate      float64       // tokens/s, 0 before the first response, then at least 0.5
	MeasuredRate  float64       // responses/s, smoothed
	Capacity      float64       // tokens, 0 before the first response, then at least 1
	Level         float64       // tokens, 0..Capacity (at most 2^24)
	Enabled       bool          // a throttle was seen: attempts are limited
	SinceThrottle time.Duration // since the last cut, or since New if there was none
	Waiting       int           // callers that wait their turn
}

// Snapshot is [Limiter.SnapshotAt] at this instant, for which it reads the clock.
func (l *Limiter) Snapshot() Stats {
	return l.SnapshotAt(time.Now())
}

// SnapshotAt returns the state as it is at now, as of one instant but for
// Waiting. Lock-free, stores nothing, reads no clock. The zero Limiter's is the
// zero Stats.
func (l *Limiter) SnapshotAt(now time.Time) Stats {
	if l.current.Load() == nil {
		return Stats{}
	}
	var s snapshot
	var word uint64
	var last int64
	for {
		var p *page
		p, word = l.state(&s)
		last = s.lastThrottle(&l.counts)
		// A mark may be of a later state, or from after an admission that is not
		// seen. It ends: another word or page means that an operation succeeded.
		if s.floor == off || p.word.Load() == word && l.current.Load() == p {
			break
		}
	}
	at := max(min(l.anchor.Nanos(now), maxNanos), last)
	level, _ := s.refill(at, s.used(word))
	return Stats{
		FillRate:      s.fillRate,
		MeasuredRate:  s.measured,
		Capacity:      s.capacity(),
		Level:         level,
		Enabled:       s.enabled,
		SinceThrottle: time.Duration(at - last),
		Waiting:       int(l.queue.waiting.Load()),
	}
}
