package httpretry

import (
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/reprise-go/reprise/engine"
)

// standardRetryAfter reads the Retry-After header: whole seconds, or a date,
// which counts from the response's own Date, so that no two clocks need agree.
// Zero is no header, one that is invalid, or one that asks for nothing. What is
// too large for a Duration gives the largest one.
func standardRetryAfter(h http.Header) time.Duration {
	value := strings.Trim(h.Get("Retry-After"), " \t")
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
	from, err := http.ParseTime(h.Get("Date"))
	if err != nil || h.Get("Age") != "" { // a cached Date is an old one
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
