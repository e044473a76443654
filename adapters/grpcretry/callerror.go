package grpcretry

import (
	"context"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// callError is an engine.Error to errors.As, and a status to grpc's users: that of
// the last attempt as it came, with its message and details.
type callError struct {
	err    *engine.Error
	status *status.Status // nil if the last attempt's error had none
}

func (e *callError) Error() string              { return e.err.Error() }
func (e *callError) Unwrap() error              { return e.err }
func (e *callError) GRPCStatus() *status.Status { return e.status }

// wrap returns the error of a call that ended with d: err itself if the first
// attempt was not retryable, else one that says why.
func wrap(ctx context.Context, c *engine.Call, err error, class classify.Class, d engine.Decision) error {
	if d.Reason == engine.ReasonNonRetryable && c.Attempts() <= 1 {
		return err
	}
	e, ok := c.Wrap(ctx, err, class, d).(*engine.Error)
	if !ok {
		return err
	}
	return &callError{e, statusFor(ctx, e)}
}

// statusFor says what a call came to in gRPC's words.
func statusFor(ctx context.Context, e *engine.Error) *status.Status {
	last := statusOf(e.Err)
	gone := e.Reason == engine.ReasonCancelled || e.Reason == engine.ReasonDeadline && ctx.Err() != nil
	switch {
	case gone && (last == nil || last.Code() != codeOf(ctx)): // the caller's end, but what the server said is kept
		p := last.Proto()
		if p == nil {
			return status.New(codeOf(ctx), e.Error())
		}
		p.Code, p.Message = int32(codeOf(ctx)), e.Error()
		return status.FromProto(p)
	case e.Err == nil: // the limiter let nothing be sent
		st := status.New(codes.ResourceExhausted, e.Error())
		wait := max(e.Wait, time.Millisecond)
		if detailed, err := st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(wait)}); err == nil {
			return detailed
		}
		return st
	}
	return last
}

// codeOf is the code for a context that is done.
func codeOf(ctx context.Context) codes.Code {
	if ctx.Err() == context.DeadlineExceeded {
		return codes.DeadlineExceeded
	}
	return codes.Canceled
}
