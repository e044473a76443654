package engine

import (
	"math"
	"strings"
	"time"
)

// hintWindow is how much a server may add to the backoff (R5).
const hintWindow = 5 * time.Second

// ParseRetryAfter reads the value of an x-amz-retry-after header: a whole
// number of milliseconds, blanks around it aside. Anything else (empty, text, a
// sign, a decimal point) is no hint and gives 0, as does "0", which asks for
// nothing (R5.1). A number too large for a Duration gives the largest one; it
// never wraps (R5.2). Wait-free, allocates nothing.
func ParseRetryAfter(header string) time.Duration {
	header = strings.Trim(header, " \t")
	if header == "" {
		return 0
	}
	const most = math.MaxInt64 / int64(time.Millisecond)
	var millis int64
	for i := range len(header) {
		digit := header[i] - '0'
		if digit > 9 {
			return 0
		}
		if millis <= most {
			millis = millis*10 + int64(digit)
		}
	}
	if millis > most {
		return math.MaxInt64
	}
	return time.Duration(millis) * time.Millisecond
}

// withHint returns the backoff lengthened to what the server asked for, within
// the window it is given: clamp(hint, backoff, backoff + 5 s) (R5).
func withHint(backoff, hint time.Duration) time.Duration {
	return max(backoff, min(hint, backoff+hintWindow))
}
