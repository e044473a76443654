package classify

import (
	"strings"
	"time"
)

// R3.10: a request whose signature is refused may have been signed by a wrong
// clock. The caller that signs keeps one skew, what it adds to its clock; each
// response gives a candidate for a new one; a refusal is worth a retry only if
// the two are far enough apart for the clock to be the reason.
const (
	// maxSkew is what a server tolerates; the retry needs strictly more.
	maxSkew = 4 * time.Minute
	// maxSkewRoundTrip is how long a response may have been under way for
	// its Date to be compared with the time of its arrival.
	maxSkewRoundTrip = 15 * time.Minute
)

// dateFormats are the three forms of an HTTP date (RFC 9110, section 5.6.7).
var dateFormats = [...]string{
	"Mon, 02 Jan 2006 15:04:05 GMT",
	"Monday, 02-Jan-06 15:04:05 GMT",
	time.ANSIC,
}

// SkewCandidate returns how far the server's clock is ahead of the local one by
// a response's headers (R3.10): its Date minus the time the response arrived.
// There is none, known is false, if the Date is missing or unparseable, if the
// response has an Age header, for then a cache may have stored it long ago, or
// if the round trip took more than 15 minutes. Wait-free, reads no clock.
func SkewCandidate(date string, hasAge bool, received time.Time, roundTrip time.Duration) (candidate time.Duration, known bool) {
	if hasAge || roundTrip > maxSkewRoundTrip {
		return 0, false
	}
	date = strings.TrimSpace(date)
	if date == "" {
		return 0, false
	}
	for _, format := range dateFormats {
		if t, err := time.Parse(format, date); err == nil {
			return t.Sub(received), true
		}
	}
	return 0, false
}

// SkewRetry reports whether a failure with this code is transient because the
// clock was wrong (R3.10): code is one of the five, in any form of R3.9, the
// candidate is known, and it differs from the skew the attempt was signed with
// by more than 4 minutes, strictly. Wait-free, allocates nothing.
func SkewRetry(code string, attempt, candidate time.Duration, known bool) bool {
	return known && skewCode(NormalizeCode(code)) && apart(attempt, candidate) > uint64(maxSkew)
}

func skewCode(code string) bool {
	switch code {
	case "InvalidSignatureException",
		"SignatureDoesNotMatch",
		"AuthFailure",
		"RequestTimeTooSkewed",
		"AccessDeniedException":
		return true
	}
	return false
}

// apart is |a - b|, which may not fit a Duration.
func apart(a, b time.Duration) uint64 {
	return uint64(max(a, b)) - uint64(min(a, b))
}

// ExplainSkewed is ExplainResponse for a caller that keeps a clock skew: what
// neither a table nor a status decides is transient if R3.10 says so. Wait-free,
// allocates nothing.
func (c *Classifier) ExplainSkewed(status int, code string, attempt, candidate time.Duration, known bool) Verdict {
	v := c.ExplainResponse(status, code)
	if v.Rule <= RuleUnknownCode && SkewRetry(code, attempt, candidate, known) {
		d := RuleClockSkew.decision()
		v.Class, v.Rule = d.class, d.rule
	}
	return v
}
