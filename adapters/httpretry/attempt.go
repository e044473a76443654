package httpretry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// send makes attempt n, from 1. It returns either a response or an error.
func (x *exchange) send(n int) (*http.Response, error) {
	t, req := x.t, x.req
	if t.attemptTimeout > 0 {
		return x.sendWithin(n)
	}
	if n > 1 || x.kept != nil || t.awsHeaders {
		req = x.request(x.ctx, n)
	}
	return t.roundTrip(req)
}

// sendWithin is send under the attempt's own time-out. That covers the time
// until the headers are there; the context it needs lives until the body has
// been read or closed, because its end would cut the body.
func (x *exchange) sendWithin(n int) (*http.Response, error) {
	limit := x.t.attemptTimeout
	ctx, cancel := context.WithCancelCause(x.ctx)
	timer := time.AfterFunc(limit, func() { cancel(errAttemptTimeout) })
	resp, err := x.t.roundTrip(x.request(ctx, n))
	late := !timer.Stop()
	switch {
	case err == nil && !late:
		release := func() { cancel(nil) }
		if body := bodyOf(resp); body == http.NoBody {
			release()
		} else {
			resp.Body = releasing(body, release)
		}
		if resp.Request != nil {
			resp.Request = resp.Request.WithContext(x.ctx)
		}
		return resp, nil
	case err == nil: // the context ended before the timer was stopped: the body is lost
		_ = bodyOf(resp).Close()
		err = &timeoutError{limit}
	case late && (errors.Is(err, context.Canceled) || errors.Is(err, errAttemptTimeout)):
		err = &timeoutError{limit}
	}
	cancel(nil)
	return nil, err
}

// request returns the request of attempt n: the caller's, which stays as it is,
// with what belongs to the attempt.
func (x *exchange) request(ctx context.Context, n int) *http.Request {
	req := x.req.WithContext(ctx)
	switch {
	case x.kept != nil:
		body := x.kept.open(n)
		req.Body, req.GetBody = body, body.reopen
	case n > 1 && x.next != nil:
		req.Body, x.next = x.next, nil
	}
	if x.t.awsHeaders {
		x.addHeaders(req, n)
	}
	return req
}

// roundTrip holds the base to what a RoundTripper promises.
func (t *Transport) roundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(req)
	switch {
	case err != nil && resp != nil:
		_ = bodyOf(resp).Close()
	case err == nil && resp == nil:
		return nil, fmt.Errorf("reprise/httpretry: the base RoundTripper, a %T, returned neither a response nor an error", t.base)
	case err == nil:
		return resp, nil
	}
	return nil, err
}

// bodyOf returns the body of a response, which a RoundTripper may have left
// out.
func bodyOf(resp *http.Response) io.ReadCloser {
	if resp.Body == nil {
		return http.NoBody
	}
	return resp.Body
}

var errAttemptTimeout = errors.New("reprise/httpretry: the attempt took too long")

// timeoutError is an attempt that took longer than it may. It is transient
// (R3.6): a deadline, and not a cancellation, whatever the base made of it.
type timeoutError struct{ limit time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("reprise/httpretry: no response within %v (WithAttemptTimeout)", e.limit)
}

// Timeout makes it a time-out to net.Error's users.
func (e *timeoutError) Timeout() bool { return true }

// Is makes it a context.DeadlineExceeded to errors.Is.
func (e *timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// releasing returns body so that release is called when it has been read to its
// end or closed. What can be written to stays so, for 101 Switching Protocols.
func releasing(body io.ReadCloser, release func()) io.ReadCloser {
	r := releasingBody{body, release}
	if w, ok := body.(io.Writer); ok {
		return struct {
			releasingBody
			io.Writer
		}{r, w}
	}
	return r
}

type releasingBody struct {
	body    io.ReadCloser
	release func()
}

func (r releasingBody) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	if err != nil {
		r.release()
	}
	return n, err
}

func (r releasingBody) Close() error {
	err := r.body.Close()
	r.release()
	return err
}
