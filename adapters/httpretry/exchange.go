package httpretry

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// exchange is one call: the caller's request and what its attempts share. It
// lives on RoundTrip's stack.
type exchange struct {
	t        *Transport
	engine   *engine.Engine  // of this call
	req      *http.Request   // the caller's, never written to
	ctx      context.Context // of req
	kept     *keptBody       // the body, where it has no GetBody; else nil
	next     io.ReadCloser   // the next attempt's body, where it has one
	id       string          // amz-sdk-invocation-id, once there is one
	above    int32           // the attempt of a layer above that retries; 0: there is none
	hedged   int32           // attempts that were hedges
	carries  bool            // attempts carry a mark
	hedges   bool            // attempts may run side by side
	longPoll bool
}

// open looks at the request before the first attempt.
func (x *exchange) open() {
	if hasBody(x.req) && x.req.GetBody == nil {
		x.kept = keep(x.req, x.t.bodyLimit)
	}
	x.longPoll = longPollTarget(x.req)
	if m := marksOf(x.ctx); m != nil {
		x.longPoll = x.longPoll || m.longPoll
		x.above = m.retried
	}
	if x.t.retryMark || x.t.hedgeDelay > 0 {
		x.openOptions()
	}
}

// openOptions is open for what options have asked for.
func (x *exchange) openOptions() {
	if x.t.retryMark {
		x.openMark()
	}
	x.hedges = x.t.hedgeDelay > 0 && x.mayHedge()
}

// close ends the call as far as its body is concerned. failed says that no
// attempt is under way any more; else the base still owns the last one's body.
func (x *exchange) close(failed bool) {
	if x.next != nil {
		_ = x.next.Close()
	}
	if x.kept != nil {
		x.kept.end(failed)
	}
}

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

// admit waits for the leave to send the first attempt. Its error ends the call.
func (x *exchange) admit(c *engine.Call) error {
	ctx, stop := x.waiting()
	defer stop()
	d := c.AdmitWait(ctx)
	if d.Reason == engine.ReasonRetry {
		return nil
	}
	x.close(true)
	if x.kept == nil {
		closeBody(x.req)
	}
	return c.Wrap(ctx, nil, classify.NonRetryable, d)
}

// failed decides what follows a failed attempt, waits for it, and says whether to
// send again. judged is what the attempt means, or nil if nobody has looked yet.
// If it is not to be sent again, the response and the error are RoundTrip's.
func (x *exchange) failed(c *engine.Call, resp *http.Response, err error, judged *failure) (again bool, _ *http.Response, _ error) {
	ctx, stop := x.waiting()
	defer stop()

	var f failure
	if judged != nil {
		f = *judged
	} else {
		f = x.t.examine(ctx, x.engine, resp, err)
	}
	resp = f.resp
	o := f.outcome()
	if resp == nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		o.Cancelled = true // net/http returns the cause, which may be of any type
	}
	d, why := x.decide(ctx, c, o, f.verdict.NeverSent)
	var gone, held bool // resp is read and closed; it is kept, and may yet be returned
	if d.Reason == engine.ReasonRetry && resp != nil {
		// Before the wait: the connection is free meanwhile.
		if x.engine.Mode() == engine.Adaptive {
			resp, held = hold(ctx, resp), true // the limiter may yet refuse
		} else {
			discard(ctx, resp)
			gone = true
		}
	}
	if d = c.Wait(ctx, o, d); d.Reason == engine.ReasonRetry {
		if held {
			letGo(x.ctx, resp)
		}
		return true, nil, nil
	}

	gaveUp := gone || ctx.Err() != nil && d.Reason != engine.ReasonNonRetryable
	x.close(resp == nil || gaveUp)
	if d.Reason != engine.ReasonNotReplayable {
		why = nil
	}
	result := Result{Attempts: c.Attempts(), Hedges: int(x.hedged), Reason: d.Reason, Class: o.Class, Code: f.code, NotReplayable: why}
	if d.Reason == engine.ReasonDeadline {
		result.Wait = d.Delay
	}
	switch {
	case resp == nil:
		if why != nil {
			err = &notReplayableError{err, why}
		}
	case gaveUp:
		if !gone {
			_ = bodyOf(resp).Close()
		}
		err = &ResponseError{Status: resp.StatusCode, Code: f.code}
	default:
		if d.Reason != engine.ReasonNonRetryable || result.Attempts > 1 {
			attach(resp, x.req, result)
		}
		return false, resp, nil
	}
	return false, nil, c.Wrap(ctx, err, o.Class, d)
}

// decide asks the engine, having found out whether the request can be sent
// again. why says why not, if that is what ended the call.
func (x *exchange) decide(ctx context.Context, c *engine.Call, o engine.Outcome, neverSent bool) (d engine.Decision, why error) {
	if o.Class == classify.NonRetryable || c.Attempts() >= x.engine.MaxAttempts() || ctx.Err() != nil {
		o.NotReplayable = true // it was not tried, so it must not be relied on
		return c.FailIn(ctx, o), errNotTried
	}
	if x.above > 0 {
		why = &retriedAboveError{x.above}
	} else if !neverSent && !x.repeatable() {
		why = &methodError{x.req.Method}
	} else if x.kept != nil {
		return x.kept.decide(ctx, c, o)
	} else if hasBody(x.req) {
		if x.next, why = reopened(x.req); why != nil {
			why = &getBodyError{why}
		}
	}
	o.NotReplayable = why != nil
	return c.FailIn(ctx, o), why
}

var errNotTried = errors.New("reprise/httpretry: this was the last attempt until Engine.Reconfigure allowed more")

// waiting returns the context that the engine waits under: the request's, and
// done too when the request's Cancel channel is closed, which http.Client still
// uses for its Timeout.
func (x *exchange) waiting() (ctx context.Context, stop func()) {
	//lint:ignore SA1019 deprecated, but http.Client sets it
	cancelled := x.req.Cancel
	if cancelled == nil {
		return x.ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(x.ctx)
	select {
	case <-cancelled:
		cancel(errRequestCancelled)
	default:
		go func() {
			select {
			case <-cancelled:
				cancel(errRequestCancelled)
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func() { cancel(nil) }
}

var errRequestCancelled = errors.New("reprise/httpretry: the request's Cancel channel was closed")
