package awsretry

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"

	"github.com/reprise-go/reprise/engine"
)

// callError is an [engine.Error] that answers for the SDK's error too: for
// whoever asks with errors.As for what the SDK's own loop would have returned.
// The chain stays a single one.
type callError struct {
	engine *engine.Error
	sdk    error
}

func (e *callError) Error() string { return e.engine.Error() }
func (e *callError) Unwrap() error { return e.engine }

// Is knows the context's error in a RequestCanceledError.
func (e *callError) Is(target error) bool {
	cancelled, ok := e.sdk.(*aws.RequestCanceledError)
	return ok && target == cancelled.Err
}

// Timeout reports whether the SDK's error would: a deadline that no delay fits
// before is a timeout, although it has not come yet.
func (e *callError) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.sdk, &t) && t.Timeout() || e.engine.Timeout()
}

// As knows the SDK's types.
func (e *callError) As(target any) bool {
	switch target := target.(type) {
	case **retry.MaxAttemptsError:
		return as(e.sdk, target)
	case *ratelimit.QuotaExceededError:
		return as(e.sdk, target)
	case **aws.RequestCanceledError:
		return as(e.sdk, target)
	case *interface{ CanceledError() bool }:
		return as(e.sdk, target)
	}
	return false
}

func as[T any](err error, target *T) bool {
	v, ok := err.(T)
	if ok {
		*target = v
	}
	return ok
}

// failure returns the error of a call that ended with d after the last attempt's
// error; that is nil if there was no attempt.
func (x *exchange) failure(ctx context.Context, err error, o engine.Outcome, d engine.Decision) error {
	x.logEnd(ctx, err, d)
	return callFailure(ctx, &x.call, err, cancelledInFlight(err), o, d)
}

// callFailure is failure for any call; inFlight says that the last attempt ended
// as the caller's time did.
func callFailure(ctx context.Context, c *engine.Call, err error, inFlight bool, o engine.Outcome, d engine.Decision) error {
	wrapped := c.Wrap(ctx, err, o.Class, d)
	own, ok := wrapped.(*engine.Error)
	if !ok || wrapped == err {
		return err
	}
	out := &callError{engine: own}
	switch own.Reason {
	case engine.ReasonMaxAttempts:
		out.sdk = &retry.MaxAttemptsError{Attempt: own.Attempts, Err: err}
	case engine.ReasonQuota:
		out.sdk = ratelimit.QuotaExceededError{Available: uint(own.QuotaLeft), Requested: uint(own.QuotaCost)}
	case engine.ReasonDeadline, engine.ReasonCancelled:
		if !inFlight {
			out.sdk = &aws.RequestCanceledError{Err: contextError(ctx)}
		}
	}
	return out
}

// cancelledInFlight reports whether an attempt's error is the SDK's for a caller
// who went away while it was under way.
func cancelledInFlight(err error) bool {
	var cancelled *smithy.CanceledError
	return errors.As(err, &cancelled)
}

// contextError is the error of a context that is done, or that will be before a
// retry could be sent.
func contextError(ctx context.Context) error {
	if err := ctx.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return context.DeadlineExceeded
}
