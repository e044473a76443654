package awsretry

import (
	"context"
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// NewRetryer returns a Retryer that decides as e does, for code that takes a
// Retryer and nothing else. It has the one engine, for whatever services its
// clients call, so give each client an engine that names its service
// (engine.WithService). e is derived from once: a later Reconfigure of its
// attempts or classifier is not seen.
//
// The SDK's loop asks it and sleeps for itself; the package comment says what
// that loses. Above all, a retry that is cancelled in its delay does not give its
// tokens back (R6.3), because the loop tells nobody: 100 calls given up in the
// delay after a throttle, or 35 after another failure, empty a full quota for
// every call that pays from e. [Apply] loses none.
//
// A nil or zero engine and an option that is wrong are errors.
func NewRetryer(e *engine.Engine, opts ...Option) (aws.RetryerV2, error) {
	c, err := newConfig(e, "NewRetryer", opts)
	if err != nil {
		return nil, err
	}
	open, err := e.Derive(engine.WithMaxAttempts(math.MaxInt32))
	if err != nil {
		return nil, err
	}
	final, err := e.Derive(engine.WithMaxAttempts(1))
	if err != nil {
		return nil, err
	}
	return &retryer{engine: e, open: open, final: final, class: c.class}, nil
}

// retryer is [NewRetryer]'s. The SDK calls, for each attempt and in this order:
// GetAttemptToken; then the release of the token that GetRetryToken gave for the
// attempt, and that of its own; then, after a failure, IsErrorRetryable,
// GetRetryToken and RetryDelay. Nothing but the attempt's number connects them.
type retryer struct {
	engine *engine.Engine
	// The SDK counts attempts, and may have been told another maximum.
	open  *engine.Engine // engine with no maximum of its own
	final *engine.Engine // engine for which each attempt is the last
	class func(error) (classify.Class, bool)
}

var _ aws.RetryerV2 = (*retryer)(nil)

func (r *retryer) MaxAttempts() int { return r.engine.MaxAttempts() }

func (r *retryer) examine(err error) engine.Outcome {
	return examine(r.engine.Classifier(), r.class, err)
}

func (r *retryer) IsErrorRetryable(err error) bool {
	return r.examine(err).Class != classify.NonRetryable
}

// retryable is examine for an error that the SDK is about to retry: somebody has
// said that it is retryable, if not we.
func (r *retryer) retryable(err error) engine.Outcome {
	o := r.examine(err)
	if o.Class == classify.NonRetryable {
		o.Class = classify.Transient
	}
	return o
}

// RetryDelay draws the backoff; what the server asks for is the SDK's to add
// (R5).
func (r *retryer) RetryDelay(attempt int, err error) (time.Duration, error) {
	return r.engine.Backoff(r.retryable(err).Class, attempt-1), nil
}

// GetAttemptToken waits for the limiter in adaptive mode (R8.1). What it returns
// tells the engine of the attempt's end, as far as nothing else does.
func (r *retryer) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	number, most := countOf(ctx)
	number = max(number, 1)
	c := r.open.Resume(number, false)
	if d := c.AdmitWait(ctx); d.Reason != engine.ReasonRetry {
		return release, callFailure(ctx, &c, nil, false, engine.Outcome{}, d)
	}
	return func(err error) error {
		switch {
		case err != nil:
			r.failed(ctx, err, number, most)
		case number == 1:
			c.Succeed()
		} // else the retry's own token tells
		return nil
	}, nil
}

// failed tells the engine of a failure that no GetRetryToken will follow. It
// keeps silent about those that the SDK may yet retry for the clock's sake, so of
// them the engine never hears if it does not.
func (r *retryer) failed(ctx context.Context, err error, number, most int) {
	o := r.examine(err)
	switch {
	case o.Class != classify.NonRetryable && (most == 0 || number < most):
	case o.Class == classify.NonRetryable && maySkew(err):
	default:
		c := r.final.Resume(number, false)
		c.FailIn(ctx, o)
	}
}

// maySkew reports whether the SDK may yet find that a failure comes from a wrong
// clock, and retry it (R3.10).
func maySkew(err error) bool {
	return classify.SkewRetry(codeOf(err), 0, math.MaxInt64, true)
}

// GetRetryToken pays for a retry (R6). What it returns is called when the retry
// is over, and never if it was not sent.
func (r *retryer) GetRetryToken(ctx context.Context, err error) (func(error) error, error) {
	number, _ := countOf(ctx)
	c := r.open.Resume(max(number, 1), false)
	o := r.retryable(err)
	if d := c.FailIn(ctx, o); d.Reason != engine.ReasonRetry {
		return release, callFailure(ctx, &c, nil, cancelledInFlight(err), o, d)
	}
	return func(err error) error {
		if err == nil {
			c.Succeed()
		}
		return nil
	}, nil
}

// GetInitialToken is never called of an aws.RetryerV2.
func (r *retryer) GetInitialToken() func(error) error {
	return func(err error) error {
		if err == nil {
			c := r.engine.Begin()
			c.Succeed()
		}
		return nil
	}
}
