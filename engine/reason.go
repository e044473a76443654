package engine

import "fmt"

// Reason is why a call goes on or ends. The zero Reason ends it.
type Reason uint8

// The reasons, in the order in which they are looked for (R2.1).
const (
	// ReasonNonRetryable: the failure is of a class that is not retried (R3.3).
	ReasonNonRetryable Reason = iota
	// ReasonRetry: a retry was granted. The only reason that does not end the
	// call.
	ReasonRetry
	// ReasonMaxAttempts: the attempts are used up.
	ReasonMaxAttempts
	// ReasonNotReplayable: the request cannot be sent a second time.
	ReasonNotReplayable
	// ReasonQuota: the retry quota refused the retry (R6.1).
	ReasonQuota
	// ReasonDeadline: the delay does not fit before the caller's deadline, or
	// the deadline has passed.
	ReasonDeadline
	// ReasonCancelled: the caller gave the call up (R3.6).
	ReasonCancelled

	reasonCount
)

// String returns the reason as replay files and metrics spell it.
func (r Reason) String() string {
	switch r {
	case ReasonNonRetryable:
		return "non_retryable"
	case ReasonRetry:
		return "retry"
	case ReasonMaxAttempts:
		return "max_attempts"
	case ReasonNotReplayable:
		return "not_replayable"
	case ReasonQuota:
		return "quota"
	case ReasonDeadline:
		return "deadline"
	case ReasonCancelled:
		return "cancelled"
	default:
		return fmt.Sprintf("Reason(%d)", uint8(r))
	}
}
