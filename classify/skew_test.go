package classify_test

import (
	"encoding/json"
	"math"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
)

func TestClockSkewVectors(t *testing.T) {
	data, err := os.ReadFile("../testdata/vectors/clock_skew.json")
	require.NoError(t, err)
	var rows []struct {
		Code      string   `json:"code"`
		Candidate *float64 `json:"candidate_skew_s"`
		Attempt   float64  `json:"attempt_skew_s"`
		Retry     bool     `json:"retry"`
	}
	require.NoError(t, json.Unmarshal(data, &rows))
	require.NotEmpty(t, rows)
	for _, r := range rows {
		var candidate time.Duration
		if r.Candidate != nil {
			candidate = time.Duration(*r.Candidate * float64(time.Second))
		}
		attempt := time.Duration(r.Attempt * float64(time.Second))
		assert.Equal(t, r.Retry, classify.SkewRetry(r.Code, attempt, candidate, r.Candidate != nil), "%+v", r)

		v := classify.Default.ExplainSkewed(403, r.Code, attempt, candidate, r.Candidate != nil)
		assert.Equal(t, r.Retry, v.Class == transient, "%+v", r)
		assert.Equal(t, r.Retry, v.Rule == classify.RuleClockSkew, "%+v", r)
	}
}

func TestClockSkewNeedsStrictlyMoreThanFourMinutes(t *testing.T) {
	// R3.10, both signs, and differences that no Duration holds.
	for _, code := range []string{"InvalidSignatureException", "SignatureDoesNotMatch", "AuthFailure", "RequestTimeTooSkewed", "AccessDeniedException", "ns#AuthFailure:http://x/"} {
		for _, c := range []struct {
			attempt, candidate time.Duration
			want               bool
		}{
			{0, 4 * time.Minute, false},
			{0, -4 * time.Minute, false},
			{0, 4*time.Minute + 1, true},
			{0, -4*time.Minute - 1, true},
			{4*time.Minute + 1, 0, true},
			{10 * time.Minute, 10 * time.Minute, false},
			{-2 * time.Minute, 2*time.Minute + 1, true},
			{math.MinInt64, math.MaxInt64, true},
			{math.MaxInt64, math.MinInt64, true},
			{math.MinInt64, math.MinInt64, false},
		} {
			assert.Equal(t, c.want, classify.SkewRetry(code, c.attempt, c.candidate, true), "%s %v %v", code, c.attempt, c.candidate)
			assert.False(t, classify.SkewRetry(code, c.attempt, c.candidate, false), "no candidate")
		}
	}
	for _, code := range []string{"", "authfailure", "RequestExpired", "RequestInTheFuture", "SlowDown"} {
		assert.False(t, classify.SkewRetry(code, 0, time.Hour, true), code)
	}
}

func TestSkewCandidate(t *testing.T) {
	received := time.Date(2026, 11, 6, 8, 49, 37, 500, time.FixedZone("", 3600))
	utc := "Fri, 06 Nov 2026 07:54:37 GMT" // 5 minutes ahead
	for _, c := range []struct {
		name      string
		date      string
		hasAge    bool
		roundTrip time.Duration
		want      time.Duration
		known     bool
	}{
		{"ahead", utc, false, time.Second, 5*time.Minute - 500, true},
		{"behind", "Fri, 06 Nov 2026 06:49:37 GMT", false, time.Second, -time.Hour - 500, true},
		{"old form", "Friday, 06-Nov-26 07:54:37 GMT", false, 0, 5*time.Minute - 500, true},
		{"oldest form", "Fri Nov  6 07:54:37 2026", false, 0, 5*time.Minute - 500, true},
		{"blanks", " " + utc + "\t", false, 0, 5*time.Minute - 500, true},
		{"round trip at its limit", utc, false, 15 * time.Minute, 5*time.Minute - 500, true},
		{"round trip over it", utc, false, 15*time.Minute + 1, 0, false},
		{"cached", utc, true, 0, 0, false},
		{"no date", "", false, 0, 0, false},
		{"blank date", "  ", false, 0, 0, false},
		{"not a date", "yesterday", false, 0, 0, false},
		{"seconds since 1970", "1793951677", false, 0, 0, false},
		{"another zone", "Fri, 06 Nov 2026 07:54:37 CET", false, 0, 0, false},
		{"no such day", "Fri, 31 Nov 2026 07:54:37 GMT", false, 0, 0, false},
		{"far away", "Sat, 01 Jan 0001 00:00:00 GMT", false, 0, math.MinInt64, true},
	} {
		got, known := classify.SkewCandidate(c.date, c.hasAge, received, c.roundTrip)
		assert.Equal(t, c.known, known, c.name)
		assert.Equal(t, c.want, got, c.name)
	}
}

func TestSkewDecidesOnlyWhatNothingElseDoes(t *testing.T) {
	const far = time.Hour
	code := "AccessDeniedException"
	assert.Equal(t, classify.Verdict{Class: transient, Rule: classify.RuleClockSkew}, classify.Default.ExplainSkewed(403, code, 0, far, true))
	assert.Equal(t, classify.RuleUnknownCode, classify.Default.ExplainSkewed(403, code, 0, 0, true).Rule)
	assert.Equal(t, classify.RuleServerStatus, classify.Default.ExplainSkewed(503, code, 0, far, true).Rule)
	assert.Equal(t, classify.RuleThrottleStatus, classify.Default.ExplainSkewed(429, code, 0, far, true).Rule)
	c := with(t, classify.Default, classify.Overrides{Codes: map[string]classify.Class{code: final}})
	assert.Equal(t, classify.Verdict{Rule: classify.RuleCodeOverride}, c.ExplainSkewed(403, code, 0, far, true))
	assert.Equal(t, final, classify.Default.Response(403, code), "without a skew it is final")
}

// Whatever a Date says, the candidate is its distance from the answer to the
// second, and only a date of RFC 9110 is one.
func FuzzSkewCandidate(f *testing.F) {
	f.Add("Sun, 06 Nov 1994 08:49:37 GMT", false, int64(784111777), int64(0))
	f.Add("Sunday, 06-Nov-94 08:49:37 GMT", false, int64(784111177), int64(1e9))
	f.Add("Sun Nov  6 08:49:37 1994", true, int64(0), int64(-1))
	f.Add(" Sun, 06 Nov 1994 08:49:37 GMT ", false, int64(1<<40), int64(15*time.Minute))
	f.Add("Sun, 31 Feb 2026 25:00:00 UTC", false, int64(0), int64(15*time.Minute+1))
	f.Fuzz(func(t *testing.T, date string, age bool, receivedSeconds, roundTrip int64) {
		received := time.Unix(receivedSeconds%(1<<36), 0)
		candidate, known := classify.SkewCandidate(date, age, received, time.Duration(roundTrip))
		date = strings.TrimSpace(date)
		want, err := http.ParseTime(date)
		if _, ansi := time.Parse(time.ANSIC, date); ansi != nil && !strings.HasSuffix(date, "GMT") {
			err = ansi // net/http takes any letters for the zone of the second form; RFC 9110 has GMT
		}
		assert.Equal(t, !age && roundTrip <= int64(15*time.Minute) && err == nil, known, "R3.10")
		if !known {
			assert.Zero(t, candidate)
			return
		}
		assert.Equal(t, want.Sub(received), candidate, "R3.10")
		assert.Equal(t, classify.SkewRetry("AuthFailure", 0, candidate, true), candidate > 4*time.Minute || candidate < -4*time.Minute)
	})
}
