package httpretry

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// Result is how a call came to its response. The zero Result is a single
// attempt about which there is nothing to say.
type Result struct {
	// Attempts is the number of attempts made, from 1.
	Attempts int
	// Hedges is how many of them were sent beside another ([WithHedge]).
	Hedges int
	// Succeeded says that the call ended in a success; what follows is then
	// zero.
	Succeeded bool
	// Reason is why there was no further attempt.
	Reason engine.Reason
	// Class is that of the response.
	Class classify.Class
	// Code is the error code found in the response, "" if there is none.
	Code string
	// NotReplayable says what kept the request from being sent again if Reason
	// is engine.ReasonNotReplayable, else it is nil.
	NotReplayable error
	// Wait is how long the limiter of adaptive mode would have made the next attempt
	// wait, if that did not fit before the deadline; else zero. Reason is then
	// engine.ReasonDeadline.
	Wait time.Duration
}

// ResultOf returns how the call came to resp, which a [Transport] has returned.
// It is false for a first response that was a success or not retryable, where
// no decision was made, and for a response from elsewhere. The result travels in
// the context of resp.Request, so it survives http.Client. Wait-free.
func ResultOf(resp *http.Response) (Result, bool) {
	if resp == nil || resp.Request == nil {
		return Result{}, false
	}
	a, _ := resp.Request.Context().Value(resultKey{}).(*attachment)
	if a == nil || a.resp != resp {
		return Result{}, false
	}
	return a.result, true
}

type resultKey struct{}

// attachment names its response: the context may be used for other requests.
type attachment struct {
	resp   *http.Response
	result Result
}

func attach(resp *http.Response, req *http.Request, r Result) {
	if resp.Request != nil {
		req = resp.Request
	}
	resp.Request = req.WithContext(context.WithValue(req.Context(), resultKey{}, &attachment{resp, r}))
}

// ResponseError stands for a response that could not be returned, since the
// caller's context had ended: before it came, or in the wait for a retry that was
// then not sent. It is found in the [*engine.Error] by errors.As.
type ResponseError struct {
	// Status is the HTTP status.
	Status int
	// Code is the error code that the response held, or "".
	Code string
}

// Error gives status and code.
func (e *ResponseError) Error() string {
	s := fmt.Sprintf("reprise/httpretry: the server answered %d %s", e.Status, http.StatusText(e.Status))
	if e.Code != "" {
		s += fmt.Sprintf(" (%q)", e.Code)
	}
	return s
}

// HTTPStatusCode returns Status, for classify.
func (e *ResponseError) HTTPStatusCode() int { return e.Status }

// ErrorCode returns Code, for classify.
func (e *ResponseError) ErrorCode() string { return e.Code }
