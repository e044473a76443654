package answer

import (
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/reprise-go/reprise/engine"
)

// RetryAfter reads the Retry-After header: whole seconds, or a date, which counts
// from the answer's own Date, so that no two clocks need agree. age is the header
// Age: a cached Date is an old one, and then the date counts from now, for which
// alone the clock is read. Zero is no header, one that is invalid, or one that
// asks for nothing. What is too large for a Duration gives the largest one.
// Wait-free.
func RetryAfter(value, date, age string) time.Duration {
	value = strings.Trim(value, " \t")
	if value == "" {
		return 0
	}
	if digit := value[0] - '0'; digit <= 9 {
		return seconds(value)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	from, err := http.ParseTime(date)
	if err != nil || age != "" {
		from = time.Now()
	}
	return max(0, at.Sub(from))
}

// seconds parses a number of seconds without a sign, by the same rules as
// milliseconds.
func seconds(digits string) time.Duration {
	const thousand = time.Second / time.Millisecond
	if millis := engine.ParseRetryAfter(digits); millis <= math.MaxInt64/thousand {
		return millis * thousand
	}
	return math.MaxInt64
}
