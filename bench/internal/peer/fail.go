package peer

import (
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Answer is the error of a service that answered with a status and a code, as the
// SDK's retryer sees it: three errors in a chain.
func Answer(status int, code string) error {
	return &awshttp.ResponseError{
		ResponseError: &smithyhttp.ResponseError{
			Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status, Header: http.Header{}}},
			Err:      &smithy.GenericAPIError{Code: code, Message: "as measured"},
		},
		RequestID: "5a8c1e0e",
	}
}

// Throttled is a throttling answer, Final one that no retry can mend.
func Throttled() error { return Answer(http.StatusBadRequest, "ThrottlingException") }

// Final is an answer that no retry can mend.
func Final() error { return Answer(http.StatusBadRequest, "ValidationException") }
