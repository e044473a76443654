package peer

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go/middleware"
)

// Standard returns the SDK's standard retryer, made once for a client as its
// documentation asks, with a quota of that capacity of which so many tokens are
// left. Its delays are cut off at a nanosecond, so they are drawn and come to
// nothing.
func Standard(capacity, tokens uint) *retry.Standard {
	return retry.NewStandard(standardOptions(capacity, tokens))
}

func standardOptions(capacity, tokens uint) func(*retry.StandardOptions) {
	return func(o *retry.StandardOptions) {
		quota := ratelimit.NewTokenRateLimit(capacity)
		if _, err := quota.GetToken(context.Background(), capacity-tokens); err != nil {
			panic(err)
		}
		o.RateLimiter, o.MaxAttempts, o.MaxBackoff = quota, Attempts, time.Nanosecond
	}
}

// Adaptive returns the SDK's adaptive retryer around the same. It fails rather
// than waits for a token: nothing that is measured may sleep.
func Adaptive(capacity, tokens uint) *retry.AdaptiveMode {
	return retry.NewAdaptiveMode(func(o *retry.AdaptiveModeOptions) {
		o.FailOnNoAttemptTokens = true
		o.StandardOptions = append(o.StandardOptions, standardOptions(capacity, tokens))
	})
}

// AWSTokens is one of the SDK's retryers without the SDK's loop: tokens are asked
// for, kept and released in the order of its Attempt middleware, by the shortest
// loop there can be around them. It is the least that a call with this retryer
// costs.
type AWSTokens struct {
	Impl string
	R    aws.RetryerV2
}

// Name returns what Impl says.
func (a AWSTokens) Name() string { return a.Impl }

// Errors are the service's own.
func (AWSTokens) Errors() (again, final error) { return Throttled(), Final() }

// Do is one call.
func (a AWSTokens) Do(ctx context.Context, op Op) (int, error) {
	release, err := a.R.GetAttemptToken(ctx)
	if err != nil {
		panic(err) // a limiter that ran dry; a measurement of that would be of nothing
	}
	v, err := op.Context(ctx)
	if releaseErr := release(err); releaseErr != nil {
		return v, releaseErr
	}
	for attempt := 1; err != nil; attempt++ {
		if !a.R.IsErrorRetryable(err) || attempt >= a.R.MaxAttempts() {
			return v, err
		}
		release, refused := a.R.GetRetryToken(ctx, err)
		if refused != nil {
			return v, err
		}
		delay, delayErr := a.R.RetryDelay(attempt, err)
		if delayErr != nil {
			return v, delayErr
		}
		if delay > 0 {
			time.Sleep(delay)
		}
		v, err = op.Context(ctx)
		if releaseErr := release(err); releaseErr != nil {
			return v, releaseErr
		}
	}
	return v, nil
}

// Loop is n calls.
func (a AWSTokens) Loop(ctx context.Context, op Op, n int) {
	for range n {
		if _, err := a.Do(ctx, op); err != nil {
			fell(err)
		}
	}
}

// AWSMiddleware is the SDK's Attempt middleware, which every operation of every
// client goes through, alone: no other middleware, no clock skew, no meter and a
// request that is not cloned. A real client's costs more. It always sets a timer
// before a retry.
type AWSMiddleware struct{ loop *retry.Attempt }

// NewAWSMiddleware returns the middleware around r.
func NewAWSMiddleware(r aws.RetryerV2) AWSMiddleware {
	return AWSMiddleware{retry.NewAttemptMiddleware(r, func(request any) any { return request }, func(a *retry.Attempt) {
		a.DisableClockSkewCorrection = true
	})}
}

// Name returns "aws-middleware".
func (AWSMiddleware) Name() string { return "aws-middleware" }

// Errors are the service's own.
func (AWSMiddleware) Errors() (again, final error) { return Throttled(), Final() }

type handler func(context.Context) (int, error)

// HandleFinalize is the rest of the stack: the operation.
func (h handler) HandleFinalize(ctx context.Context, _ middleware.FinalizeInput) (out middleware.FinalizeOutput, md middleware.Metadata, err error) {
	_, err = h(ctx)
	return out, md, err
}

// Do is one operation.
func (a AWSMiddleware) Do(ctx context.Context, op Op) (int, error) {
	var v int
	_, _, err := a.loop.HandleFinalize(ctx, middleware.FinalizeInput{}, handler(func(ctx context.Context) (int, error) {
		var err error
		v, err = op.Context(ctx)
		return v, err
	}))
	return v, err
}

// Loop is n operations, whose results nobody hands out.
func (a AWSMiddleware) Loop(ctx context.Context, op Op, n int) {
	next := middleware.FinalizeHandler(handler(op.Context))
	for range n {
		if _, _, err := a.loop.HandleFinalize(ctx, middleware.FinalizeInput{}, next); err != nil {
			fell(err)
		}
	}
}
