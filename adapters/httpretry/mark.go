package httpretry

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
)

// RetryMarkHeader is the request header by which a layer says that it retries
// the request itself, with the number of its attempt: "Retry-Attempt: 1" is its
// first. A layer beneath that honours it makes one attempt; else the attempts of
// layers multiply, and three layers of three send 27 requests to a server that is
// down. See [WithRetryMark] and [RetryMarkHandler].
//
// A value that is not a number from 1 to 999999999, in digits alone and without
// leading zeros, is no mark, nor are two values. A mark takes retries from the
// request that bears it and gives none to anybody, so it may be taken from
// strangers.
const RetryMarkHeader = "Retry-Attempt"

// marks is what a context says of the requests that are made under it: one value
// under one key, so that there is one look-up.
type marks struct {
	longPoll bool
	retried  int32 // the attempt of the layer above, from 1; 0: none
}

type marksKey struct{}

// marksOf returns a context's marks; nil if it has none.
func marksOf(ctx context.Context) *marks {
	m, _ := ctx.Value(marksKey{}).(*marks)
	return m
}

// withMarks adds to a context's marks.
func withMarks(ctx context.Context, add func(*marks)) context.Context {
	var m marks
	if known := marksOf(ctx); known != nil {
		m = *known
	}
	add(&m)
	return context.WithValue(ctx, marksKey{}, &m)
}

// RetryMark marks the requests made under the context it returns as retried by a
// layer above, which is at its attempt-th attempt, from 1; below 1 counts as 1. A
// [Transport] makes one attempt of them, whether it has [WithRetryMark] or not.
// It is for a layer that retries in the same process, such as an [engine.Do]
// around an http.Client; the Transports of this package with WithRetryMark, and
// [RetryMarkHandler], call it by themselves. What is done for several callers at
// once, such as filling a cache, should not be done under the marked context of
// one of them.
func RetryMark(ctx context.Context, attempt int) context.Context {
	return withMark(ctx, int32(min(max(1, attempt), math.MaxInt32)))
}

// RetryMarked returns the attempt that [RetryMark] said last, from 1, and whether
// it did; 0 and false if not. Wait-free.
func RetryMarked(ctx context.Context) (attempt int, marked bool) {
	m := marksOf(ctx)
	if m == nil {
		return 0, false
	}
	return int(m.retried), m.retried > 0
}

func withMark(ctx context.Context, attempt int32) context.Context {
	return withMarks(ctx, func(m *marks) { m.retried = attempt })
}

// RetryMarkHandler returns a handler that hands next the requests with the mark of
// their [RetryMarkHeader], if that is one, in their contexts: what next sends
// under such a context through a [Transport], the client above will send again,
// so it is sent once. It panics if next is nil.
func RetryMarkHandler(next http.Handler) http.Handler {
	if next == nil {
		panic("reprise/httpretry: RetryMarkHandler needs a handler; this one is nil")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if attempt := markIn(req.Header); attempt > 0 {
			req = req.WithContext(withMark(req.Context(), attempt))
		}
		next.ServeHTTP(w, req)
	})
}

// maxMarkDigits keeps the number within 32 bits.
const maxMarkDigits = 9

// markIn returns the mark in a request's header, or 0.
func markIn(h http.Header) int32 {
	values := h[RetryMarkHeader]
	if len(values) != 1 {
		return 0
	}
	value := values[0]
	if value == "" || len(value) > maxMarkDigits || value[0] == '0' {
		return 0
	}
	attempt := int32(0)
	for i := range len(value) {
		digit := value[i] - '0'
		if digit > 9 {
			return 0
		}
		attempt = attempt*10 + int32(digit)
	}
	return attempt
}

// openMark finds out whether a layer above says in the header that it retries the
// request, and whether the attempts are to carry a mark. They carry none where
// this layer would send again only what has never arrived: there is nothing to
// multiply then, and a layer beneath may know better what can be repeated.
func (x *exchange) openMark() {
	if attempt := markIn(x.req.Header); attempt > 0 {
		x.above = attempt
	}
	x.carries = x.above > 0 || x.engine.MaxAttempts() > 1 && x.repeatable()
}

// repeatable reports whether the request may arrive twice.
func (x *exchange) repeatable() bool { return x.t.anyMethod || idempotent(x.req) }

// markOf returns what attempt n is marked with: its number, or that of the layer
// above.
func (x *exchange) markOf(n int) int32 {
	if x.above > 0 {
		return x.above
	}
	return int32(n)
}

func (x *exchange) addMark(h http.Header, n int) {
	h[RetryMarkHeader] = []string{strconv.Itoa(int(x.markOf(n)))}
}

// dropMark gives a request the mark of the caller's, or none. The base may still
// be sending the attempt's header, so that stays as it is.
func (x *exchange) dropMark(req *http.Request) {
	h := req.Header.Clone()
	if own, ok := x.req.Header[RetryMarkHeader]; ok {
		h[RetryMarkHeader] = own
	} else {
		delete(h, RetryMarkHeader)
	}
	req.Header = h
}

// retriedAboveError is why a marked request is not sent again.
type retriedAboveError struct{ attempt int32 }

func (e *retriedAboveError) Error() string {
	return fmt.Sprintf("reprise/httpretry: a layer above retries this request, which is its attempt %d (%s)", e.attempt, RetryMarkHeader)
}
