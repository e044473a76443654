package awsretry

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/reprise-go/reprise/engine"
)

// loopRetryer is the Retryer that [Apply] sets. It holds the SDK's loop to one
// attempt a run, and tells the engine's loop around it that it is in force: a
// client or a call may have brought a Retryer of its own.
type loopRetryer struct{ engines *Engines }

var _ aws.RetryerV2 = (*loopRetryer)(nil)

// MaxAttempts is without a limit, so that a limit which the SDK knows of is
// somebody's RetryMaxAttempts.
func (*loopRetryer) MaxAttempts() int { return 0 }

// IsErrorRetryable leaves it to the loop around.
func (*loopRetryer) IsErrorRetryable(error) bool { return false }

// GetAttemptToken asks the engine whether the attempt may be sent, and waits for
// it in adaptive mode (R8.1).
func (*loopRetryer) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	x := exchangeOf(ctx)
	if x == nil {
		return release, nil
	}
	x.asked = true
	if x.engine == nil {
		_, most := countOf(ctx)
		x.begin(ctx, most)
	}
	if d := x.call.AdmitWait(ctx); d.Reason != engine.ReasonRetry {
		x.refused = d
		return release, errNotAdmitted
	}
	return release, nil
}

// GetRetryToken is asked only if somebody's Retryer around this one has called
// an error retryable, as those of retry.AddWithErrorCodes do. The loop around
// takes that as its word.
func (*loopRetryer) GetRetryToken(ctx context.Context, err error) (func(error) error, error) {
	if x := exchangeOf(ctx); x != nil {
		x.wanted = err
	}
	return release, errOwnLoop
}

// RetryDelay has none: it is the loop around that waits.
func (*loopRetryer) RetryDelay(int, error) (time.Duration, error) { return 0, errOwnLoop }

// GetInitialToken has none.
func (*loopRetryer) GetInitialToken() func(error) error { return release }

func release(error) error { return nil }

var errOwnLoop = errors.New("reprise/awsretry: the engine's own loop retries")
