package classify

import "time"

// SkewCandidate returns the clock skew that a response shows (R3.10).
func SkewCandidate(date string, hasAge bool, received time.Time, roundTrip time.Duration) (skew time.Duration, ok bool) {
	return 0, false
}

// SkewVerdict decides R3.10.
func (c *Classifier) SkewVerdict(status int, code string, attempt, candidate time.Duration, known bool) Verdict {
	return Verdict{}
}
