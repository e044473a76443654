package engine

import (
	"time"

	"github.com/reprise-go/reprise/classify"
)

// Outcome is what a call needs to know of a failed attempt. The zero Outcome is
// not retryable.
type Outcome struct {
	// Class is what the failure means for a retry (R3).
	Class classify.Class
	// RetryAfter is the delay the server asked for, as [ParseRetryAfter] reads
	// it. It can only lengthen the backoff, by 5 s at the most (R5); zero and
	// below ask for nothing.
	RetryAfter time.Duration
	// NotReplayable says that the request cannot be sent again, so that no
	// tokens are taken for a retry that cannot happen.
	NotReplayable bool
	// Deadline is when the call must be over: a retry whose delay does not end
	// before it is refused as ReasonDeadline, with no tokens taken. The zero
	// time is no deadline; any other costs a look at the clock.
	Deadline time.Time
	// Cancelled says that the failure is itself a cancellation. If the caller's
	// context is done the call then ends as ReasonCancelled or ReasonDeadline,
	// and not as an answer of the server's (R3.6).
	Cancelled bool
	// Local says that the failure is this client's own and that nothing was
	// asked of the server, such as a pool of connections that has none left. The
	// limiter of adaptive mode hears nothing of it (R8.3), and the token that the
	// attempt took when it was admitted stays spent: R8 gives none back. All else
	// is as without it. Say it only where it is certain.
	Local bool
}

// OutcomeOf returns what a verdict on an error means for a call. It is Local if
// this machine had no file, port or memory for the connection, or the address
// cannot be one.
func OutcomeOf(v classify.Verdict) Outcome {
	return Outcome{
		Class: v.Class, RetryAfter: v.RetryAfter, Cancelled: v.Rule == classify.RuleCancelled,
		Local: v.NeverSent && (v.Rule == classify.RuleLocalFault || v.Rule == classify.RuleBadRequest),
	}
}

// Decision is what to do after a failed attempt. The zero Decision ends the
// call.
type Decision struct {
	// Delay is how long to wait: before the next attempt if Reason is
	// ReasonRetry; before returning the error if a long-polling call was
	// refused by the quota (R7); what the limiter asked for if that is what did
	// not fit before the deadline; else zero.
	Delay time.Duration
	// Reason is ReasonRetry, or why the call is over.
	Reason Reason
}
