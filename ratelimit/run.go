package ratelimit

// run is how far the traffic that is going on has been measured. It runs since
// New, or since the response that ended a pause: one before which a whole half
// second had none. What was measured across the pause says nothing of the traffic
// after it, so that [Limiter.ThrottleAt] waits for known; R8 asks for none of this.
type run uint8

const (
	begun run = iota // within the half second that is going on
	going            // before that began
	known            // before the last one began, of which the measured rate is then four fifths
	// held is added once a throttle has waited. From then on pauses count as
	// traffic: it waits no second time, however slow the traffic is.
	held run = 4
)

// beginsAt returns the run that begins at an instant: on a border it has the half
// second that begins there.
func (l *Limiter) beginsAt(at int64) run {
	if (l.phaseNanos+at)%halfSecond == 0 {
		return going
	}
	return begun
}

// runs returns what becomes of r at the response, at an instant in bucket, that is
// the first after s's.
func (l *Limiter) runs(r run, from, bucket uint32, at int64) run {
	// The first bucket may begin half a second before New (R8.2).
	borders := bucket - max(from, uint32(l.phaseNanos/halfSecond))
	if borders > 1 && r&held == 0 {
		return l.beginsAt(at)
	}
	return r&held | min(r&^held+run(min(borders, 2)), known)
}

// measuredWhole reports whether the rate is that of traffic, and of a whole half
// second.
func (r run) measuredWhole() bool { return r&^held == known }
