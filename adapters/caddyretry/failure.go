package caddyretry

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// failed makes of a call that has no answer what Caddy makes the right status of:
// 504 where time ran out, 499 where the client left, 502 else. Two have an answer
// after all.
func (t *Transport) failed(req *http.Request, err error) (*http.Response, error) {
	var ended *engine.Error
	var lost *httpretry.ResponseError
	switch {
	case req.Context().Err() != nil: // the client has left
		return nil, err
	case errors.As(err, &ended) && ended.Reason == engine.ReasonDeadline && ended.Attempts == 0:
		return throttled(req, ended.Wait), nil
	case errors.As(err, &lost) && lost.Status >= 400:
		return nil, caddyhttp.Error(lost.Status, err)
	case timedOut(err):
		return nil, &lateError{err}
	}
	return nil, err
}

// throttled is the answer to a request that adaptive mode's limiter would not let
// go in time. Not an error: nothing is wrong with the upstream, which was not asked.
func throttled(req *http.Request, wait time.Duration) *http.Response {
	const text = "reprise: 429: the upstream throttles, and the send limiter lets no more be sent in time\n"
	seconds := strconv.FormatFloat(math.Ceil(max(wait, time.Second).Seconds()), 'f', 0, 64)
	return &http.Response{
		Status:     "429 " + http.StatusText(http.StatusTooManyRequests),
		StatusCode: http.StatusTooManyRequests,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{
			"Content-Type":           {"text/plain; charset=utf-8"},
			"X-Content-Type-Options": {"nosniff"},
			"Retry-After":            {seconds},
		},
		Body:          io.NopCloser(strings.NewReader(text)),
		ContentLength: int64(len(text)),
		Request:       req,
	}
}

// timedOut reports whether a call has failed because something took too long.
func timedOut(err error) bool {
	var slow interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &slow) && slow.Timeout()
}

// lateError is an error about time, as Caddy knows it: a net.Error, which is no
// cancellation, whatever is within.
type lateError struct{ err error }

func (e *lateError) Error() string   { return e.err.Error() }
func (e *lateError) Timeout() bool   { return true }
func (e *lateError) Temporary() bool { return true }

// As looks for target within. There is no Unwrap, since a cancellation of ours must
// not be found.
func (e *lateError) As(target any) bool { return errors.As(e.err, target) }

// Is looks for target within, but for a cancellation.
func (e *lateError) Is(target error) bool {
	return target == context.DeadlineExceeded || target != context.Canceled && errors.Is(e.err, target)
}
