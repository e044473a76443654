package classify

// Classifier turns errors and responses into classes. It is immutable, so any
// number of goroutines may share it, and holds no clock. The zero value and a
// nil *Classifier both hold the rules of R3 without overrides; With makes
// others.
type Classifier struct {
	codes    map[string]Class
	statuses map[int]Class
	nxdomain Class
}

// Default holds the rules of R3 without overrides.
var Default = new(Classifier)

// Error returns the class of err; a nil error is NonRetryable.
func (c *Classifier) Error(err error) Class { return c.ExplainError(err).Class }

// Response returns the class of an answer with this HTTP status (0: unknown)
// and error code ("": none).
func (c *Classifier) Response(status int, code string) Class {
	return c.ExplainResponse(status, code).Class
}

// ExplainError is Error with its reasons.
func (c *Classifier) ExplainError(err error) Verdict { return Verdict{} }

// ExplainResponse is Response with its reasons.
func (c *Classifier) ExplainResponse(status int, code string) Verdict { return Verdict{} }
