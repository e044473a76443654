package classify

// A decision is a rule with its class, which for an override is the caller's.
// The zero value is RuleUnrecognized.
type decision struct {
	rule  Rule
	class Class
}

// decision looks the rule's class up.
func (r Rule) decision() decision { return decision{r, ruleTable[r].class} }
