package classify_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/classify"
)

func TestEveryRuleHasAClauseAndASentence(t *testing.T) {
	seen := map[string]classify.Rule{}
	for r := classify.RuleUnrecognized; r <= classify.RuleCancelled; r++ {
		assert.Regexp(t, regexp.MustCompile(`^R3(\.([1-9]|10))?$`), r.Clause(), "%d", r)
		assert.NotEmpty(t, r.String(), "%d", r)
		assert.NotContains(t, seen, r.String(), "two rules with one sentence")
		seen[r.String()] = r
	}
	none := classify.RuleCancelled + 1
	assert.Equal(t, "", none.Clause())
	assert.Regexp(t, `^Rule\(\d+\)$`, none.String())
	assert.Equal(t, "Rule(255)", classify.Rule(255).String())
}

func TestZeroValuesFailSafe(t *testing.T) {
	var v classify.Verdict
	assert.Equal(t, classify.NonRetryable, v.Class)
	assert.Equal(t, classify.RuleUnrecognized, v.Rule)
	assert.Equal(t, "R3.3", v.Rule.Clause())
	assert.False(t, v.NeverSent)
}

func TestClassNames(t *testing.T) {
	for class, want := range map[classify.Class]string{
		classify.NonRetryable: "non_retryable", classify.Transient: "transient", classify.Throttling: "throttling", 3: "Class(3)", 255: "Class(255)",
	} {
		assert.Equal(t, want, class.String())
		assert.Equal(t, class <= classify.Throttling, class.Valid())
	}
}
