package httpretry

import (
	"context"
	"net/http"
	"time"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/internal/answer"
)

// failure is what a failed attempt means.
type failure struct {
	resp       *http.Response // the attempt's, or what stands for it from now on
	verdict    classify.Verdict
	code       string        // normalised; "" if the response has none
	retryAfter time.Duration // of the response's headers; 0 if they ask for nothing
	cut        bool          // the caller left before it was clear what it means
}

// succeeded reports whether a response is a success: its status is from 100 to 399
// and the classifier has no other word for it. Redirects are the client's to
// follow, and 101 is where HTTP ends, whatever the classifier says. What is below
// is no status: net/http takes any three digits for one.
func succeeded(e *engine.Engine, resp *http.Response) bool {
	return resp.StatusCode >= 100 && resp.StatusCode < 400 &&
		(e.Classifier().Response(resp.StatusCode, "") == classify.NonRetryable || resp.StatusCode == http.StatusSwitchingProtocols)
}

// examine finds out what a failed attempt means. It may read the beginning of
// resp's body, which then stands before the rest in the failure's response.
func (t *Transport) examine(ctx context.Context, e *engine.Engine, resp *http.Response, err error) failure {
	c := e.Classifier()
	if resp == nil {
		return failure{verdict: failureOf(c, err)}
	}
	var code string
	var cut bool
	if resp.StatusCode >= 400 {
		resp, code, cut = errorCode(ctx, resp)
	}
	return failure{
		resp:       resp,
		verdict:    c.ExplainResponse(resp.StatusCode, code),
		code:       code,
		retryAfter: t.retryAfter(resp),
		cut:        cut,
	}
}

// outcome is what a call needs to know of the failure.
func (f *failure) outcome() engine.Outcome {
	o := engine.OutcomeOf(f.verdict)
	o.Cancelled = o.Cancelled || f.cut
	if f.retryAfter > 0 {
		o.RetryAfter = f.retryAfter
	}
	return o
}

// retryAfter returns the delay that a response asks for (R5).
func (t *Transport) retryAfter(resp *http.Response) time.Duration {
	d := engine.ParseRetryAfter(resp.Header.Get("X-Amz-Retry-After"))
	if d == 0 && t.standardRetryAfter {
		h := resp.Header
		d = answer.RetryAfter(h.Get("Retry-After"), h.Get("Date"), h.Get("Age"))
	}
	return d
}
