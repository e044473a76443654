package path

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/bench/internal/peer"
	"github.com/reprise-go/reprise/classify"
)

// asked is an error whose As the classifier does ask, around the SDK's, which it
// does not.
type asked struct{ *awshttp.ResponseError }

func (a asked) As(target any) bool { return errors.As(a.ResponseError, target) }

type speaks struct{ again bool }

func (speaks) Error() string          { return "speaks" }
func (s speaks) RetryableError() bool { return s.again }

// The SDK's answer loses nothing by not being asked for what Unwrap leads to (R3).
func TestAnswerErrorLosesNothing(t *testing.T) {
	inner := []error{
		nil, speaks{true}, speaks{false}, refusedDial(), errors.New("plain"),
		&smithy.GenericAPIError{}, &smithy.GenericAPIError{Code: "ThrottlingException"},
		&smithy.GenericAPIError{Code: "ValidationException"}, &smithy.GenericAPIError{Code: "RequestTimeout"},
		fmt.Errorf("around: %w", &smithy.GenericAPIError{Code: "SlowDown"}),
		errors.Join(errors.New("one"), speaks{true}),
	}
	for _, status := range []int{200, 400, 404, 429, 500, 503} {
		for _, err := range inner {
			answer := peer.Answer(status, "").(*awshttp.ResponseError)
			answer.Err = err
			assert.Equal(t, classify.Default.ExplainError(asked{answer}), classify.Default.ExplainError(answer), "%d %v", status, err)
		}
	}
}

// The walk asks the SDK's As nothing: seven questions would take far longer than
// the rest of it, whatever the machine.
func TestAnswerErrorIsNotAsked(t *testing.T) {
	answer := peer.Answer(http.StatusBadRequest, "ThrottlingException").(*awshttp.ResponseError)
	took := func(err error) time.Duration {
		least := time.Duration(1<<63 - 1)
		for range 20 {
			start := time.Now()
			for range 200 {
				require.Equal(t, classify.Throttling, classify.Default.Error(err))
			}
			least = min(least, time.Since(start))
		}
		return least
	}
	assert.Less(t, took(answer), took(asked{answer}))
}
