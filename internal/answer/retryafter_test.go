package answer_test

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/internal/answer"
)

// Peer faults 106 and 107: seconds and dates, nothing negative, nothing that
// wraps.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where it is 2000-01-01 00:00:00 UTC
		for _, row := range []struct {
			value, date, age string
			want             time.Duration
		}{
			{"", "", "", 0},
			{"0", "", "", 0},
			{"1", "", "", time.Second},
			{" 10", "", "", 10 * time.Second},
			{"10\t", "", "", 10 * time.Second},
			{"010", "", "", 10 * time.Second},
			{"-1", "", "", 0},
			{"+1", "", "", 0},
			{"1.5", "", "", 0},
			{"1e3", "", "", 0},
			{"1 0", "", "", 0},
			{"10s", "", "", 0},
			{"soon", "", "", 0},
			{"9223372036", "", "", 9223372036 * time.Second},
			{"9223372037", "", "", math.MaxInt64},
			{"9223372036854775807", "", "", math.MaxInt64},
			{"18446744073709551617", "", "", math.MaxInt64},
			{strings.Repeat("9", 400), "", "", math.MaxInt64},
			{strings.Repeat("9", 400) + "x", "", "", 0},

			{"Sat, 01 Jan 2000 00:00:30 GMT", "", "", 30 * time.Second},
			{"Saturday, 01-Jan-00 00:00:30 GMT", "", "", 30 * time.Second},
			{"Sat Jan  1 00:00:30 2000", "", "", 30 * time.Second},
			{"Fri, 31 Dec 1999 23:59:59 GMT", "", "", 0},
			{"Sat, 01 Jan 2000 00:00:30", "", "", 0},
			{"Fri, 31 Dec 9999 23:59:59 GMT", "", "", math.MaxInt64},
			{"Wed, 01 Jan 0001 00:00:00 GMT", "", "", 0},
			// By the server's own clock, which is an hour behind.
			{"Fri, 31 Dec 1999 23:00:30 GMT", "Fri, 31 Dec 1999 23:00:00 GMT", "", 30 * time.Second},
			{"Sat, 01 Jan 2000 00:00:30 GMT", "not a date", "", 30 * time.Second},
			{"Sat, 01 Jan 2000 00:00:30 GMT", "Fri, 31 Dec 1999 23:00:00 GMT", "3600", 30 * time.Second},
		} {
			assert.Equal(t, row.want, answer.RetryAfter(row.value, row.date, row.age), "%+v", row)
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("120", "")
	f.Add("Sat, 01 Jan 2000 00:00:30 GMT", "Sat, 01 Jan 2000 00:00:00 GMT")
	f.Add("99999999999999999999", "x")
	f.Add("-1", "")
	f.Fuzz(func(t *testing.T, value, date string) {
		d := answer.RetryAfter(value, date, "")
		assert.GreaterOrEqual(t, d, time.Duration(0))
		if n := strings.Trim(value, "0123456789"); n == "" && strings.Trim(value, "0") != "" {
			assert.GreaterOrEqual(t, d, time.Second)
		} else if strings.HasPrefix(value, "-") {
			assert.Zero(t, d)
		}
	})
}
