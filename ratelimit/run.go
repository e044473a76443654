package ratelimit

// run is when the traffic that is going on began, and whether a throttle has
// waited for its rate. It began at New, or with the response that ended the last
// pause, which is a half second without any. What was measured over a pause says
// nothing of the traffic after it, so the first cut of [Limiter.ThrottleAt] waits
// for known. R8.2 does not ask, and after the first cut nothing does.
type run uint8

const (
	begun run = iota // within the half second that is going on
	going            // no later than that
	known            // no later than the one before: four fifths of the measured rate are its
	// held is added when a throttle waits, for good. Pauses begin nothing from then
	// on, so that it waits no second time, however slow the traffic is.
	held run = 4
)

// beginsAt returns the run that begins at an instant. On a border that is the
// whole half second's.
func (l *Limiter) beginsAt(at int64) run {
	if (l.phaseNanos+at)%halfSecond == 0 {
		return going
	}
	return begun
}

// runs returns what becomes of r where a response, at an instant in bucket, is the
// first behind the end of the bucket from.
func (l *Limiter) runs(r run, from, bucket uint32, at int64) run {
	// The first that there is may end before New (R8.2).
	borders := bucket - max(from, uint32(l.phaseNanos/halfSecond))
	if borders > 1 && r&held == 0 {
		return l.beginsAt(at)
	}
	return r&held | min(r&^held+run(min(borders, 2)), known)
}

// measured reports whether a whole half second of the traffic was.
func (r run) measured() bool { return r&^held == known }
