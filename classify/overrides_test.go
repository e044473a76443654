package classify_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
)

func with(t *testing.T, c *classify.Classifier, o classify.Overrides) *classify.Classifier {
	t.Helper()
	n, err := c.With(o)
	require.NoError(t, err)
	return n
}

func TestOverriddenCodeBeatsTheTables(t *testing.T) {
	c := with(t, classify.Default, classify.Overrides{Codes: map[string]classify.Class{
		"LimitExceededException": final,    // R3.1 says throttling
		"ValidationException":    throttle, // R3.3
		"RequestTimeout":         final,    // R3.2
		"Busy":                   transient,
	}})
	for _, status := range []int{0, 400, 429, 503} {
		assert.Equal(t, final, c.Response(status, "LimitExceededException"), "%d", status)
		assert.Equal(t, throttle, c.Response(status, "ns#ValidationException"), "%d", status)
		assert.Equal(t, final, c.Response(status, "RequestTimeout"), "%d", status)
		v := c.ExplainError(&apiError{" Busy", status})
		assert.Equal(t, classify.Verdict{Class: transient, Rule: classify.RuleCodeOverride}, v)
	}
	assert.Equal(t, throttle, c.Response(400, "SlowDown"), "the others stay")
	assert.Equal(t, throttle, classify.Default.Response(400, "LimitExceededException"), "Default stays")
	// R3.5: a marker still wins.
	assert.Equal(t, transient, c.Error(&markedError{true, &apiError{"LimitExceededException", 400}}))
	assert.Equal(t, final, c.Error(&markedError{false, &apiError{"Busy", 400}}))
}

func TestModelledErrorWith429IsNotRetried(t *testing.T) {
	// R3.4: the override table is how a client says that it models a code.
	assert.Equal(t, throttle, classify.Default.Response(429, "QuotaSpentException"))
	c := with(t, classify.Default, classify.Overrides{Codes: map[string]classify.Class{"QuotaSpentException": final}})
	assert.Equal(t, final, c.Response(429, "QuotaSpentException"))
	assert.Equal(t, throttle, c.Response(429, ""))
}

func TestOverriddenStatus(t *testing.T) {
	c := with(t, classify.Default, classify.Overrides{Statuses: map[int]classify.Class{
		408: transient, 429: transient, 500: final, 100: throttle, 200: transient, 599: throttle,
	}})
	for status, want := range map[int]classify.Class{408: transient, 429: transient, 500: final, 100: throttle, 200: transient, 599: throttle, 503: transient, 403: final} {
		assert.Equal(t, want, c.Response(status, ""), "%d", status)
		assert.Equal(t, want, c.Response(status, "Unknown"), "%d", status)
		assert.Equal(t, want, c.Error(statusError(status)), "%d", status)
		assert.Equal(t, throttle, c.Response(status, "SlowDown"), "a recognised code comes first")
	}
	assert.Equal(t, classify.RuleStatusOverride, c.ExplainResponse(408, "").Rule)
}

func TestOverriddenNXDomain(t *testing.T) {
	missing := get(dial(&net.DNSError{IsNotFound: true}))
	assert.Equal(t, final, classify.Default.Error(missing))
	for _, class := range []classify.Class{transient, throttle} {
		c := with(t, nil, classify.Overrides{NXDomain: class})
		assert.Equal(t, classify.Verdict{Class: class, Rule: classify.RuleDNSNotFound, NeverSent: true}, c.ExplainError(missing))
		assert.Equal(t, final, c.Error(&net.DNSError{}), "other DNS failures stay")
		assert.Equal(t, class, with(t, c, classify.Overrides{}).Error(missing), "the zero Overrides change nothing")
	}
}

func TestWithAddsToWhatIsThere(t *testing.T) {
	codes := map[string]classify.Class{"A": throttle, "B": transient}
	first := with(t, new(classify.Classifier), classify.Overrides{Codes: codes, Statuses: map[int]classify.Class{418: transient}})
	second := with(t, first, classify.Overrides{Codes: map[string]classify.Class{"B": final, "C": throttle}})
	codes["A"] = final
	for code, want := range map[string][2]classify.Class{"A": {throttle, throttle}, "B": {transient, final}, "C": {final, throttle}} {
		assert.Equal(t, want[0], first.Response(400, code), code)
		assert.Equal(t, want[1], second.Response(400, code), code)
	}
	assert.Equal(t, transient, second.Response(418, ""))
}

func TestBadOverridesAreRefused(t *testing.T) {
	for _, c := range []struct {
		o    classify.Overrides
		want []string // the value at fault, and what would be right
	}{
		{classify.Overrides{Codes: map[string]classify.Class{"": transient}}, []string{"Codes", "empty code", "SlowDown"}},
		{classify.Overrides{Codes: map[string]classify.Class{"ns#SlowDown": transient}}, []string{"Codes", `"ns#SlowDown"`, `the bare code, "SlowDown"`}},
		{classify.Overrides{Codes: map[string]classify.Class{"SlowDown ": transient}}, []string{`"SlowDown "`, `"SlowDown"`}},
		{classify.Overrides{Codes: map[string]classify.Class{"X": 3}}, []string{`Codes["X"] is 3`, "Transient (1)"}},
		{classify.Overrides{Statuses: map[int]classify.Class{99: transient}}, []string{"Statuses", "99", "100 to 599"}},
		{classify.Overrides{Statuses: map[int]classify.Class{600: transient}}, []string{"Statuses", "600", "100 to 599"}},
		{classify.Overrides{Statuses: map[int]classify.Class{-503: transient}}, []string{"-503"}},
		{classify.Overrides{Statuses: map[int]classify.Class{503: 255}}, []string{"Statuses[503] is 255", "Throttling (2)"}},
		{classify.Overrides{NXDomain: 7}, []string{"NXDomain is 7", "NonRetryable (0)"}},
	} {
		got, err := classify.Default.With(c.o)
		require.Error(t, err)
		assert.Nil(t, got)
		assert.Regexp(t, "^reprise/classify: ", err.Error())
		for _, want := range c.want {
			assert.Contains(t, err.Error(), want)
		}
	}
}
