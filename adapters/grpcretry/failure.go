package grpcretry

import (
	"errors"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// failure is what a failed attempt means.
type failure struct {
	err        error
	code       codes.Code // OK if the error is no status
	verdict    classify.Verdict
	retryAfter time.Duration // that the server asks for; 0 for none
	refused    error         // why the call cannot be sent again; nil: it can
}

// classes is what codes mean, but for those that are not retryable. gRPC's
// INTERNAL, UNKNOWN and ABORTED are among these: see the package comment.
var classes = map[codes.Code]classify.Class{
	codes.Unavailable:       classify.Transient,
	codes.DeadlineExceeded:  classify.Transient, // the caller's own is the engine's to notice (R3.6)
	codes.ResourceExhausted: classify.Throttling,
}

// examine finds out what a failed attempt means, and what the server asks for in
// its trailer.
func (i *Interceptor) examine(e *engine.Engine, err error, trailer metadata.MD) failure {
	c := e.Classifier()
	f := failure{err: err, verdict: c.ExplainError(err)}
	f.retryAfter = f.verdict.RetryAfter
	st := statusOf(err)
	if st == nil {
		return f
	}
	f.code = st.Code()
	d := detailsOf(st)
	var pushback time.Duration
	pushback, f.refused = pushbackOf(trailer)
	f.retryAfter = max(f.retryAfter, d.retryDelay, pushback)

	class := i.classOf(st, trailer)
	switch f.verdict.Rule {
	case classify.RuleMarkedRetryable:
		if class == classify.Throttling { // a marker says whether, not how slowly
			f.verdict.Class, f.verdict.Rule = class, classify.RuleMarkedThrottled
		}
	case classify.RuleUnrecognized:
		if v := c.ExplainResponse(0, d.reason); d.reason != "" && recognized(v.Rule) {
			f.verdict.Class, f.verdict.Rule = v.Class, v.Rule
		} else {
			f.verdict.Class = class
		}
	}
	return f
}

// recognized reports whether a code was found in R3.1, R3.2 or the classifier's
// overrides.
func recognized(r classify.Rule) bool {
	return r == classify.RuleThrottlingCode || r == classify.RuleTransientCode || r == classify.RuleCodeOverride
}

// classOf returns the class of a status.
func (i *Interceptor) classOf(st *status.Status, trailer metadata.MD) classify.Class {
	if class, ok := i.codes[st.Code()]; ok {
		return class
	}
	if st.Code() == codes.ResourceExhausted && !ofServer(st, trailer) {
		return classify.NonRetryable
	}
	return classes[st.Code()]
}

// outcome is what a call needs to know of the failure.
func (f *failure) outcome() engine.Outcome {
	o := engine.OutcomeOf(f.verdict)
	o.RetryAfter = f.retryAfter
	o.Cancelled = o.Cancelled || f.code == codes.Canceled || f.code == codes.DeadlineExceeded
	o.NotReplayable = f.refused != nil
	return o
}

// hasStatus is what an error of grpc's says of itself.
type hasStatus interface {
	error
	GRPCStatus() *status.Status
}

// statusOf returns the status in an error's chain as it came, other than
// status.FromError, which changes the message of one that is wrapped; nil if there
// is none.
func statusOf(err error) *status.Status {
	if s, ok := errors.AsType[hasStatus](err); ok {
		if st := s.GRPCStatus(); st.Code() != codes.OK {
			return st
		}
	}
	return nil
}

// details is what the details of a status say.
type details struct {
	reason     string        // ErrorInfo's
	retryDelay time.Duration // RetryInfo's; 0 for none
}

// detailsOf reads the details of a status; what is broken says nothing (R5.1), and
// a delay too long for a Duration is the longest there is (R5.2).
func detailsOf(st *status.Status) (d details) {
	for _, any := range st.Proto().GetDetails() {
		switch {
		case any.MessageIs((*errdetails.RetryInfo)(nil)):
			var info errdetails.RetryInfo
			if any.UnmarshalTo(&info) == nil {
				d.retryDelay = max(d.retryDelay, info.GetRetryDelay().AsDuration())
			}
		case any.MessageIs((*errdetails.ErrorInfo)(nil)):
			var info errdetails.ErrorInfo
			if any.UnmarshalTo(&info) == nil && d.reason == "" {
				d.reason = info.GetReason()
			}
		}
	}
	return d
}
