package fasthttpretry

import (
	"context"
	"io"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/internal/answer"
	"github.com/reprise-go/reprise/internal/invocation"
)

// exchange is one call: the caller's request and what its attempts share. It
// lives on the stack of the call.
type exchange struct {
	c        *Client
	engine   *engine.Engine
	ctx      context.Context // the caller's
	deadline time.Time       // of the whole call; zero: none
	req      *fasthttp.Request
	resp     *fasthttp.Response
	ownResp  bool // the caller wants no response: this one is ours

	timeout  time.Duration // of req, as the caller set it
	streamed bool          // the body is a stream, as far as it has not been sent
	body     keptBody
	id       string // amz-sdk-invocation-id, once there is one
	named    bool   // and it is we who put it in
	asked    string // amz-sdk-request, as the caller set it
}

// open looks at the request before the first attempt.
func (x *exchange) open() {
	c := x.c
	if c.engineFor != nil {
		if e := c.engineFor(x.req); e != nil {
			x.engine = e
		}
	}
	if x.resp == nil {
		x.resp, x.ownResp = fasthttp.AcquireResponse(), true
	}
	if x.timeout = x.req.GetTimeOut(); x.timeout > 0 && x.deadline.IsZero() {
		x.deadline = time.Now().Add(x.timeout)
	}
	x.streamed = x.req.IsBodyStream()
	if c.takesBody && !x.streamed {
		x.body.keep(x.req)
	}
}

// close undoes what the call has done to the request.
func (x *exchange) close() {
	if x.req.GetTimeOut() != x.timeout {
		x.req.SetTimeout(x.timeout)
	}
	if x.c.awsHeaders {
		x.removeHeaders()
	}
	if x.c.takesBody && !x.streamed {
		x.body.release(x.req)
	}
	if x.ownResp {
		// A short body is read to its end, as fasthttp does it, and the connection
		// lives.
		if n := x.resp.Header.ContentLength(); x.resp.IsBodyStream() && n >= 0 && n <= answer.PeekLimit {
			_ = x.resp.BodyWriteTo(io.Discard)
		}
		fasthttp.ReleaseResponse(x.resp)
	}
}

// sendOnce passes the request on without a look.
func (x *exchange) sendOnce() error {
	if x.deadline.IsZero() {
		return x.c.doer.Do(x.req, x.resp)
	}
	timeout := x.req.GetTimeOut()
	defer x.req.SetTimeout(timeout)
	return x.c.doer.DoDeadline(x.req, x.resp, x.deadline)
}

// send makes attempt n, from 1.
func (x *exchange) send(n int) error {
	c := x.c
	if c.awsHeaders {
		x.addHeaders(n)
	}
	deadline := x.deadline
	if limit := c.attemptTimeout; limit > 0 {
		if deadline.IsZero() {
			return c.doer.DoTimeout(x.req, x.resp, limit)
		}
		if end := time.Now().Add(limit); end.Before(deadline) {
			deadline = end
		}
	}
	if deadline.IsZero() {
		return c.doer.Do(x.req, x.resp)
	}
	return c.doer.DoDeadline(x.req, x.resp, deadline)
}

// run is the call from the end of its first attempt, which gave err.
func (x *exchange) run(call *engine.Call, err error) (Result, error) {
	for {
		if err == nil && succeeded(x.engine, x.resp) {
			call.Succeed()
			return Result{Attempts: call.Attempts(), Succeeded: true}, nil
		}
		if again, r, end := x.failed(call, err); !again {
			return r, end
		}
		err = x.send(call.Attempts())
	}
}

// admit waits for the leave to send the first attempt. Its error ends the call.
func (x *exchange) admit(call *engine.Call) (Result, error) {
	ctx, stop := x.waiting()
	defer stop()
	d := call.AdmitWait(ctx)
	if d.Reason == engine.ReasonRetry {
		return Result{}, nil
	}
	return Result{Attempts: call.Attempts(), Reason: d.Reason, Wait: limiterWait(d)}, call.Wrap(ctx, nil, classify.NonRetryable, d)
}

// limiterWait is the wait for which the limiter refused an attempt; 0: it was not
// that.
func limiterWait(d engine.Decision) time.Duration {
	if d.Reason != engine.ReasonDeadline {
		return 0
	}
	return d.Delay
}

// failed decides what follows a failed attempt, waits for it, and says whether
// to send again. If not, the result and the error are the call's. A nil err is
// an answer.
func (x *exchange) failed(call *engine.Call, err error) (again bool, _ Result, _ error) {
	f := x.examine(err)
	if f.diedIdle() {
		x.c.idle.drop() // before the wait, so that what is sent after it dials anew
	}
	ctx, stop := x.waiting() // now, so that a deadline that has passed shows at once
	defer stop()
	o := engine.OutcomeOf(f.verdict)
	if f.retryAfter > 0 {
		o.RetryAfter = f.retryAfter
	}
	why := x.unreplayable(f.verdict.NeverSent)
	o.NotReplayable = why != nil
	d := call.FailIn(ctx, o)
	retrying := d.Reason == engine.ReasonRetry
	held := x.engine.Mode() == engine.Adaptive // the limiter may yet refuse
	if retrying && !held && x.resp.IsBodyStream() {
		x.letGo(call)
	}
	if d = call.Wait(ctx, o, d); d.Reason == engine.ReasonRetry {
		x.again()
		return true, Result{}, nil
	}

	if d.Reason != engine.ReasonNotReplayable {
		why = nil
	}
	r := Result{Attempts: call.Attempts(), Reason: d.Reason, Class: o.Class, Code: f.code, NotReplayable: why, Wait: limiterWait(d)}
	err = f.err
	switch {
	case err != nil:
		if why != nil {
			err = &notReplayableError{err, why}
		}
	case retrying && !held || ctx.Err() != nil && d.Reason != engine.ReasonNonRetryable:
		_ = x.resp.CloseBodyStream()
		err = &ResponseError{Status: x.resp.StatusCode(), Code: f.code}
	default:
		return false, r, nil
	}
	return false, r, call.Wrap(ctx, err, o.Class, d)
}

// letGo closes the streamed body of a failed answer, before the wait, in which no
// connection is held. A retry is not sent if that panics (R6.3).
func (x *exchange) letGo(call *engine.Call) {
	closed := false
	defer func() {
		if !closed {
			call.Abandon()
		}
	}()
	_ = x.resp.CloseBodyStream()
	closed = true
}

// waiting returns the context that the engine waits under: the caller's, with
// the deadline of the call.
func (x *exchange) waiting() (ctx context.Context, stop context.CancelFunc) {
	if x.deadline.IsZero() {
		return x.ctx, func() {}
	}
	return context.WithDeadline(x.ctx, x.deadline)
}

// again makes request and response ready for another attempt.
func (x *exchange) again() {
	if x.c.takesBody && !x.streamed {
		x.body.restore(x.req)
	}
	resp := x.resp
	// Reset forgets that the caller wants no default content type, and there is
	// no getter for it.
	resp.Header.SetContentTypeBytes(nil)
	noDefault := len(resp.Header.ContentType()) == 0
	skip, stream := resp.SkipBody, resp.StreamBody
	resp.Reset()
	resp.SkipBody, resp.StreamBody = skip, stream
	resp.Header.SetNoDefaultContentType(noDefault)
}

// addHeaders adds the headers of attempt n (R9).
func (x *exchange) addHeaders(n int) {
	h := &x.req.Header
	if n == 1 {
		x.asked = string(h.Peek(invocation.AttemptHeader))
		if len(h.Peek(invocation.IDHeader)) == 0 {
			x.named, x.id = true, invocation.NewID()
			h.Set(invocation.IDHeader, x.id)
		}
	}
	h.Set(invocation.AttemptHeader, invocation.Attempt(n, x.engine.MaxAttempts()))
}

func (x *exchange) removeHeaders() {
	if x.asked == "" {
		x.req.Header.Del(invocation.AttemptHeader)
	} else {
		x.req.Header.Set(invocation.AttemptHeader, x.asked)
	}
	if x.named {
		x.req.Header.Del(invocation.IDHeader)
	}
}
