package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reprise-go/reprise/classify"
)

// What [errors.Is] tells of an [*Error]: why the call ended.
var (
	ErrMaxAttempts   = errors.New("reprise/engine: attempts used up")
	ErrNotReplayable = errors.New("reprise/engine: request not replayable")
	ErrQuota         = errors.New("reprise/engine: retry quota refused")
	ErrDeadline      = errors.New("reprise/engine: no retry before the deadline")
	ErrCancelled     = errors.New("reprise/engine: cancelled by the caller")
)

// Error is a call that ended without success, but for a first attempt that was
// not retryable, whose error comes back untouched. Err, and Cause if there is
// one, are found by [errors.Is] and [errors.As]; the reason by errors.Is with
// [ErrMaxAttempts], [ErrNotReplayable], [ErrQuota], [ErrDeadline] or
// [ErrCancelled].
type Error struct {
	Err      error          // of the last attempt; nil if adaptive mode let none be sent
	Cause    error          // context.Cause of the caller's context if that was done, else nil
	Attempts int            // attempts made
	Class    classify.Class // of Err
	Reason   Reason         // why there was no further one

	// Wait is how long the limiter of adaptive mode would have made the call wait,
	// if that did not fit before the deadline: what a gateway may pass on as
	// Retry-After. Else zero.
	Wait time.Duration

	QuotaLeft     int // tokens left when the call ended
	QuotaCost     int // tokens that a retry after Err takes
	QuotaCapacity int // tokens at the most
}

// Error says how often was tried, why it ended, and the last error.
func (e *Error) Error() string {
	var s string
	switch e.Attempts {
	case 0:
		s = fmt.Sprintf("reprise/engine: %s before the first attempt", e.why())
	case 1:
		s = fmt.Sprintf("reprise/engine: %s after 1 attempt", e.why())
	default:
		s = fmt.Sprintf("reprise/engine: %s after %d attempts", e.why(), e.Attempts)
	}
	if e.Cause != nil {
		s += fmt.Sprintf(" (%v)", e.Cause)
	}
	if e.Wait > 0 {
		s += fmt.Sprintf(" (the send limiter asks to wait %v)", e.Wait.Round(time.Millisecond))
	}
	if e.Err == nil {
		return s
	}
	return fmt.Sprintf("%s: %v", s, e.Err)
}

func (e *Error) why() string {
	switch e.Reason {
	case ReasonMaxAttempts:
		return "attempts used up"
	case ReasonNotReplayable:
		return "request not replayable"
	case ReasonQuota:
		return fmt.Sprintf("retry quota refused (a retry costs %d tokens, %d of %d are left)", e.QuotaCost, e.QuotaLeft, e.QuotaCapacity)
	case ReasonDeadline:
		if e.Attempts == 0 {
			return "deadline too near"
		}
		return "no time for a retry before the deadline"
	case ReasonCancelled:
		return "cancelled"
	default:
		return "not retryable"
	}
}

// Unwrap returns the error of the last attempt.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the reason's error or found in Cause.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrMaxAttempts:
		return e.Reason == ReasonMaxAttempts
	case ErrNotReplayable:
		return e.Reason == ReasonNotReplayable
	case ErrQuota:
		return e.Reason == ReasonQuota
	case ErrDeadline:
		return e.Reason == ReasonDeadline
	case ErrCancelled:
		return e.Reason == ReasonCancelled
	}
	return e.Cause != nil && errors.Is(e.Cause, target)
}

// As looks for target in Cause, after the last attempt's error was searched.
func (e *Error) As(target any) bool {
	return e.Cause != nil && errors.As(e.Cause, target)
}

// Timeout reports whether the last attempt, or the caller's context, ran out of
// time. It is net.Error's question, which url.Error asks of what it holds: whoever
// asked it of an error before there were retries gets the same answer.
func (e *Error) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.Err, &t) && t.Timeout() || errors.As(e.Cause, &t) && t.Timeout()
}

// Wrap returns the error to hand to the caller of a call that [Call.FailWait],
// or, with a nil err, [Call.AdmitWait] ended with d: err itself if the first
// attempt was not retryable, else an [*Error] about it. class is the class the
// failure had. Lock-free, allocates the error, reads no clock.
func (c *Call) Wrap(ctx context.Context, err error, class classify.Class, d Decision) error {
	if d.Reason == ReasonNonRetryable && c.Attempts() <= 1 {
		return err
	}
	out := &Error{Err: err, Cause: context.Cause(ctx), Attempts: c.Attempts(), Class: class, Reason: d.Reason}
	if d.Reason == ReasonDeadline {
		out.Wait = d.Delay
	}
	if e := c.engine; e != nil {
		level, capacity := e.quota.Load()
		out.QuotaLeft, out.QuotaCapacity = int(level), int(capacity)
		if class <= classify.Throttling {
			out.QuotaCost = int(e.cost(e.policy.Load(), class))
		}
	}
	return out
}
