package classify

import "time"

// Verdict is a class with its reasons. The zero value is not retryable.
type Verdict struct {
	// RetryAfter is a delay that the server asked for and that an error of
	// the chain carried (RetryAfter() time.Duration); 0 means none. It never
	// makes an error retryable (R5.1).
	RetryAfter time.Duration
	// Class is the answer.
	Class Class
	// Rule is what decided it; Rule.Clause names its clause.
	Rule Rule
	// NeverSent is true when the failure proves that the request never
	// reached the server, so that a resend is safe whatever its method.
	// False means unknown.
	NeverSent bool
}
