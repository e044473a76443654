package classify_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/classify"
)

func TestEveryStatusWithoutACode(t *testing.T) {
	for status := 100; status <= 599; status++ {
		want, rule, clause := final, classify.RuleFinalStatus, "R3.3"
		switch {
		case status == 429:
			want, rule, clause = throttle, classify.RuleThrottleStatus, "R3.4"
		case status == 500 || status == 502 || status == 503 || status == 504:
			want, rule, clause = transient, classify.RuleServerStatus, "R3.2"
		case status >= 200 && status < 300:
			rule = classify.RuleSuccess
		}
		v := classify.Default.ExplainResponse(status, "")
		assert.Equal(t, classify.Verdict{Class: want, Rule: rule}, v, "%d", status)
		assert.Equal(t, clause, v.Rule.Clause(), "%d", status)
		assert.Equal(t, want, classify.Default.Response(status, ""), "%d", status)
		assert.Equal(t, want, classify.Default.Response(status, "ValidationException"), "%d with an unknown code", status)
		assert.Equal(t, want, classify.Default.Error(statusError(status)), "%d as an error", status)
	}
}

func TestStatusThatIsNone(t *testing.T) {
	for _, status := range []int{math.MinInt, -1, 0, 1, 99, 600, 1429, 50300, math.MaxInt} {
		assert.Equal(t, final, classify.Default.Response(status, ""), "%d", status)
		assert.Equal(t, throttle, classify.Default.Response(status, "SlowDown"), "%d", status)
		assert.Equal(t, final, classify.Default.Error(statusError(status)), "%d", status)
	}
}

func FuzzResponse(f *testing.F) {
	f.Add(429, "")
	f.Add(503, "ns#SlowDown:x")
	f.Add(400, "RequestTimeout")
	f.Add(-1, "\xff")
	f.Fuzz(func(t *testing.T, status int, code string) {
		v := classify.Default.ExplainResponse(status, code)
		if got := classify.Default.Response(status, code); got != v.Class {
			t.Fatalf("Response says %v, ExplainResponse %v", got, v.Class)
		}
		if got := classify.Default.ExplainResponse(status, classify.NormalizeCode(code)); got != v {
			t.Fatalf("%q: %v, bare: %v", code, v, got)
		}
		bare := classify.NormalizeCode(code)
		want := final
		switch {
		case slices.Contains(throttlingCodes, bare):
			want = throttle
		case slices.Contains(transientCodes, bare):
			want = transient
		case status == 429:
			want = throttle
		case slices.Contains([]int{500, 502, 503, 504}, status):
			want = transient
		}
		if v.Class != want {
			t.Fatalf("(%d, %q) is %v, want %v", status, code, v.Class, want)
		}
		if status >= 300 || bare != "" {
			if got := classify.Default.Error(&apiError{code, status}); got != want {
				t.Fatalf("(%d, %q) as an error is %v, want %v", status, code, got, want)
			}
		}
	})
}
