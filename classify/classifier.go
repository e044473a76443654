package classify

// Classifier turns errors and responses into classes (R3). It is immutable, so
// any number of goroutines may share one, and reads no clock. The zero value
// and a nil *Classifier hold the rules without overrides; With makes others.
//
// Its methods are wait-free and allocate nothing, as long as the methods of the
// errors they ask do not.
type Classifier struct {
	codes    map[string]Class // nil without overrides
	statuses map[int]Class    // nil without overrides
	nxDomain Class            // R3.7
}

// Default holds the rules of R3 without overrides.
var Default = new(Classifier)

// Error returns the class of err and all that it wraps (R3). A nil error is
// NonRetryable: there is nothing to retry.
func (c *Classifier) Error(err error) Class { return c.ExplainError(err).Class }

// Response returns the class of a response with this HTTP status (0 if there
// is none to go by) and error code ("" if none, else in any form of R3.9).
func (c *Classifier) Response(status int, code string) Class {
	return c.ExplainResponse(status, code).Class
}

// ExplainError is Error with its reasons: the rule that decided, whether the
// request can have been sent, and how long the server asked to wait.
func (c *Classifier) ExplainError(err error) Verdict {
	if err == nil {
		return Verdict{Rule: RuleSuccess}
	}
	x := exam{c: c, nodes: maxNodes}
	x.visit(err, false)
	return x.decide()
}

// ExplainResponse is Response with its reasons. A response was sent for, so
// NeverSent is false, and a delay it asks for is in a header that is not seen
// here, so RetryAfter is 0.
func (c *Classifier) ExplainResponse(status int, code string) Verdict {
	d, hasCode := c.codeDecision(code)
	d = c.answer(d, hasCode, status)
	return Verdict{Class: d.class, Rule: d.rule}
}
