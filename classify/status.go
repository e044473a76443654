package classify

// statusRule implements R3.2, R3.3 and R3.4 for a status that comes without a
// recognised code.
func statusRule(status int) Rule {
	switch status {
	case 0:
		return RuleUnrecognized
	case 429:
		return RuleThrottleStatus
	case 500, 502, 503, 504:
		return RuleServerStatus
	}
	if status >= 200 && status <= 299 {
		return RuleSuccess
	}
	return RuleFinalStatus
}

func (c *Classifier) statusDecision(status int) decision {
	if c != nil && c.statuses != nil {
		if class, ok := c.statuses[status]; ok {
			return decision{RuleStatusOverride, class}
		}
	}
	return statusRule(status).decision()
}

// overrides reports whether status is in the override table.
func (c *Classifier) overrides(status int) bool {
	if c == nil || c.statuses == nil {
		return false
	}
	_, ok := c.statuses[status]
	return ok
}

// answer decides by code, then by status.
func (c *Classifier) answer(code decision, hasCode bool, status int) decision {
	if code.rule != RuleUnrecognized {
		return code
	}
	d := c.statusDecision(status)
	if hasCode && d.rule < RuleUnknownCode {
		return RuleUnknownCode.decision()
	}
	return d
}
