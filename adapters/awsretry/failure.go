package awsretry

import (
	"context"
	"errors"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// examine finds out what a failed attempt means for the call.
func (x *exchange) examine(ctx context.Context, err error) engine.Outcome {
	class := x.loop.engines.class
	// The SDK says so of an attempt's own deadline too, and that is transient while
	// the caller is there (R3.6).
	gone := ctx.Err() != nil && cancelledInFlight(err)
	if gone {
		class = nil
	}
	o := examine(x.engine.Classifier(), class, err)
	if gone {
		o.Class, o.Cancelled = classify.NonRetryable, true
	}
	if x.wanted != nil && o.Class == classify.NonRetryable && !o.Cancelled {
		o.Class = classify.Transient
	}
	return o
}

// examine finds out what a failure means (R3, R5).
func examine(c *classify.Classifier, class func(error) (classify.Class, bool), err error) engine.Outcome {
	v := c.ExplainError(err)
	o := engine.OutcomeOf(v)
	o.Local = o.Local || local(c, v, err)
	if v.Rule == classify.RuleThrottleStatus && modelled(err) {
		o.Class = classify.NonRetryable // R3.4
	}
	if class != nil && !o.Cancelled {
		if told, ok := class(err); ok && told.Valid() {
			o.Class = told
		}
	}
	if asked := engine.ParseRetryAfter(retryAfter(err)); asked > 0 {
		o.RetryAfter = asked
	}
	return o
}

// local reports whether the failure is this machine's own and nothing was asked of
// the service (R8.3). What the HTTP client returned proves it; the response error
// that the SDK puts around it, for want of a response, hides the proof.
func local(c *classify.Classifier, v classify.Verdict, err error) bool {
	if v.Rule != classify.RuleLocalFault && v.Rule != classify.RuleBadRequest {
		return false
	}
	var send *smithyhttp.RequestSendError
	return errors.As(err, &send) && engine.OutcomeOf(c.ExplainError(send.Err)).Local
}

// retryAfter returns the x-amz-retry-after header of the response in an error,
// "" if there is none.
func retryAfter(err error) string {
	var response *smithyhttp.ResponseError
	if !errors.As(err, &response) || response.Response == nil || response.Response.Response == nil {
		return ""
	}
	return response.Response.Header.Get("X-Amz-Retry-After")
}

// modelled reports whether the service's model knows the error: whether it was
// read into a type of its own (R3.4).
func modelled(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	_, generic := api.(*smithy.GenericAPIError)
	return !generic
}

// codeOf returns the code of the service's error, "" if there is none.
func codeOf(err error) string {
	var coded interface{ ErrorCode() string }
	if !errors.As(err, &coded) {
		return ""
	}
	return coded.ErrorCode()
}
