package httpretry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// send makes attempt n, from 1. It returns either a response or an error.
func (x *exchange) send(n int) (*http.Response, error) {
	if n == 1 && x.kept == nil && !x.t.ownRequests {
		return x.t.roundTrip(x.req)
	}
	return x.sendOwn(n)
}

// sendOwn is send with a request of the attempt's own.
func (x *exchange) sendOwn(n int) (*http.Response, error) {
	if len(x.t.attemptTimeouts) > 0 {
		a := x.attempt(n)
		resp, err := a.send()
		x.restore(resp)
		return resp, err
	}
	resp, err := x.t.roundTrip(x.request(x.ctx, n))
	if x.carries {
		x.restore(resp)
	}
	return resp, err
}

// request returns the request of attempt n: the caller's, which stays as it is,
// with what belongs to the attempt.
func (x *exchange) request(ctx context.Context, n int) *http.Request {
	if x.carries {
		ctx = withMark(ctx, x.markOf(n))
	}
	req := x.req.WithContext(ctx)
	switch {
	case x.kept != nil:
		body := x.kept.open(ctx, n)
		req.Body, req.GetBody = body, body.reopen
	case n > 1 && x.next != nil:
		req.Body, x.next = x.next, nil
	}
	if x.hedges {
		// Two attempts at once, one of which may outlive the call: a base that
		// writes to what is not its own must not write to the other's.
		req.URL = cloneURL(req.URL)
	}
	if x.hedges || x.carries || x.t.awsHeaders {
		// A map of its own: an earlier attempt may still be writing the caller's.
		if req.Header = req.Header.Clone(); req.Header == nil {
			req.Header = make(http.Header, 3)
		}
	}
	if x.t.awsHeaders {
		x.addAWSHeaders(req.Header, n)
	}
	if x.carries {
		x.addMark(req.Header, n)
	}
	return req
}

func cloneURL(u *url.URL) *url.URL {
	if u == nil {
		return nil
	}
	own := *u
	return &own
}

// restore makes the request of a response the caller's again where it was made
// for an attempt: the attempt's context ends before the caller's, and what its
// marks say is not true of a request that the caller makes of it.
func (x *exchange) restore(resp *http.Response) {
	if resp == nil || resp.Request == nil {
		return
	}
	resp.Request = resp.Request.WithContext(x.ctx)
	if x.carries {
		x.dropMark(resp.Request)
	}
}

// attempt is an attempt under a context of its own, which ends with the
// attempt's time-out, or when another attempt was quicker. The time-out covers
// the time until the headers are there; the context lives until the body has
// been read or closed, because its end would cut the body.
type attempt struct {
	t      *Transport
	req    *http.Request
	cancel context.CancelCauseFunc
	limit  time.Duration // 0: none
}

func (x *exchange) attempt(n int) attempt {
	ctx, cancel := context.WithCancelCause(x.ctx)
	return attempt{x.t, x.request(ctx, n), cancel, x.t.attemptTimeout(n)}
}

func (a *attempt) send() (*http.Response, error) {
	cancel := a.cancel
	stop := func() (late bool) { return false } // the timer, and says whether it came first
	if a.limit > 0 {
		timer := time.AfterFunc(a.limit, func() { cancel(errAttemptTimeout) })
		stop = func() (late bool) { return !timer.Stop() }
	}
	lives := false
	defer func() {
		if !lives { // the base panicked, too
			stop()
			cancel(nil)
		}
	}()
	resp, err := a.t.roundTrip(a.req)
	late := stop()
	switch {
	case err == nil && !late:
		release := func() { cancel(nil) }
		if body := bodyOf(resp); body == http.NoBody {
			release()
		} else {
			resp.Body = releasing(body, release)
		}
		lives = true
		return resp, nil
	case err == nil: // the context ended before the timer was stopped: the body is lost
		_ = bodyOf(resp).Close()
		return nil, &timeoutError{a.limit}
	case late && (errors.Is(err, context.Canceled) || errors.Is(err, errAttemptTimeout)):
		return nil, &timeoutError{a.limit}
	}
	return nil, err
}

// attemptTimeout returns the time-out of attempt n, from 1; 0 is none.
func (t *Transport) attemptTimeout(n int) time.Duration {
	if len(t.attemptTimeouts) == 0 {
		return 0
	}
	return t.attemptTimeouts[min(n, len(t.attemptTimeouts))-1]
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
