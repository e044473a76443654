package fasthttpretry

import (
	"fmt"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// Result is how a call came to its end.
type Result struct {
	// Attempts is the number of attempts made; 0 if the limiter of adaptive mode
	// let none be sent.
	Attempts int
	// Succeeded says that the call ended in a success; what follows is then
	// zero.
	Succeeded bool
	// Reason is why there was no further attempt.
	Reason engine.Reason
	// Class is that of the last failure.
	Class classify.Class
	// Code is the error code found in the last answer, "" if there is none.
	Code string
	// NotReplayable says what kept the request from being sent again if Reason
	// is engine.ReasonNotReplayable, else it is nil.
	NotReplayable error
	// Wait is how long the limiter of adaptive mode would have made the next attempt
	// wait, if that did not fit before the deadline; else zero. Reason is then
	// engine.ReasonDeadline.
	Wait time.Duration
}

// ResponseError stands in an [*engine.Error] for an answer, where a retry that
// was granted after it was not sent because the caller's time was up, or where
// the caller had gone by the time it came. The response that was given to the
// call holds that answer, but for a streamed body, which is closed.
type ResponseError struct {
	// Status is the HTTP status.
	Status int
	// Code is the error code that the answer held, or "".
	Code string
}

// Error gives status and code.
func (e *ResponseError) Error() string {
	s := fmt.Sprintf("reprise/fasthttpretry: the server answered %d %s", e.Status, fasthttp.StatusMessage(e.Status))
	if e.Code != "" {
		s += fmt.Sprintf(" (%q)", e.Code)
	}
	return s
}

// HTTPStatusCode returns Status, for classify.
func (e *ResponseError) HTTPStatusCode() int { return e.Status }

// ErrorCode returns Code, for classify.
func (e *ResponseError) ErrorCode() string { return e.Code }
