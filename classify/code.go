package classify

import "strings"

// NormalizeCode returns the bare error code in a decorated one (R3.9): blanks
// around it, the namespace up to the last '#' and all from the first ':' on go.
// The case stays, for it matters. The result is a part of code; "" means that
// there is none. Normalising twice changes nothing more. Wait-free, allocates
// nothing.
func NormalizeCode(code string) string {
	if i := strings.IndexByte(code, ':'); i >= 0 {
		code = code[:i]
	}
	if strings.IndexByte(code, '#') >= 0 {
		code = code[strings.LastIndexByte(code, '#')+1:] // the quick search first: most codes have none
	}
	return strings.TrimSpace(code)
}

// codeRule knows the codes of R3.1 and R3.2, and skewCode those of R3.10.
func codeRule(code string) Rule {
	switch code {
	case "Throttling",
		"ThrottlingException",
		"ThrottledException",
		"RequestThrottledException",
		"TooManyRequestsException",
		"ProvisionedThroughputExceededException",
		"TransactionInProgressException",
		"RequestLimitExceeded",
		"BandwidthLimitExceeded",
		"LimitExceededException",
		"RequestThrottled",
		"SlowDown",
		"PriorRequestNotComplete",
		"EC2ThrottledException":
		return RuleThrottlingCode
	case "RequestTimeout",
		"RequestTimeoutException",
		"InternalError",
		"IDPCommunicationError":
		return RuleTransientCode
	}
	return RuleUnrecognized
}

// codeDecision returns what code means by itself; its rule is RuleUnrecognized
// if the code is in no table, and there is false if it holds no code at all.
// Codes mostly come bare, so the tables are asked before it is normalised: none
// of their entries has a decoration.
func (c *Classifier) codeDecision(code string) (d decision, there bool) {
	if code == "" { // as of every success: no table has it
		return d, false
	}
	if d = c.bareCode(code); d.rule != RuleUnrecognized {
		return d, true
	}
	if bare := NormalizeCode(code); len(bare) != len(code) {
		return c.bareCode(bare), bare != ""
	}
	return d, true
}

func (c *Classifier) bareCode(code string) decision {
	if c != nil && c.codes != nil {
		if class, ok := c.codes[code]; ok {
			return decision{RuleCodeOverride, class}
		}
	}
	return codeRule(code).decision()
}
