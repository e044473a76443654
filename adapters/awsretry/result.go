package awsretry

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go/middleware"
)

// responseMetadata returns the metadata of the one attempt that a run of the
// SDK's loop has made.
func responseMetadata(run middleware.Metadata) middleware.Metadata {
	if attempts, ok := retry.GetAttemptResults(run); ok && len(attempts.Results) > 0 {
		return attempts.Results[len(attempts.Results)-1].ResponseMetadata
	}
	return run
}

// withResults returns the call's metadata: those of its last run with the results
// of all attempts, of which earlier are those before the last.
func withResults(run middleware.Metadata, earlier []retry.AttemptResult, err error, retryable bool) middleware.Metadata {
	last := retry.AttemptResult{Err: err, Retryable: retryable, ResponseMetadata: responseMetadata(run)}
	metadata := run
	if len(earlier) > 0 {
		metadata = roomFor(len(earlier)+1, last.ResponseMetadata)
	}
	if attempts, ok := retry.GetAttemptResults(metadata); ok {
		// The slice is this call's own, and metadata hold the same array.
		n := copy(attempts.Results, earlier)
		copy(attempts.Results[n:], []retry.AttemptResult{last})
	}
	return metadata
}

// roomFor returns a copy of metadata that holds the results of n attempts. Only
// the SDK's loop can put results there, so it is run over attempts that do
// nothing.
func roomFor(n int, metadata middleware.Metadata) middleware.Metadata {
	made := 0
	noAttempt := middleware.FinalizeHandlerFunc(func(context.Context, middleware.FinalizeInput) (
		out middleware.FinalizeOutput, _ middleware.Metadata, err error,
	) {
		if made++; made < n {
			err = errNoAttempt
		}
		return out, metadata, err
	})
	same := func(request any) any { return request }
	sdk := retry.NewAttemptMiddleware(always{}, same, func(a *retry.Attempt) { a.DisableClockSkewCorrection = true })
	_, filled, _ := sdk.HandleFinalize(context.Background(), middleware.FinalizeInput{}, noAttempt)
	return filled
}

var errNoAttempt = errors.New("reprise/awsretry: no attempt")

// always is a Retryer that retries everything at once and at no cost.
type always struct{ aws.NopRetryer }

func (always) MaxAttempts() int                             { return 0 }
func (always) IsErrorRetryable(error) bool                  { return true }
func (always) RetryDelay(int, error) (time.Duration, error) { return 0, nil }
