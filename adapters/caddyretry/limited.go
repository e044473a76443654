package caddyretry

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

// limited is the context of a call with a time limit that holds until the headers
// of the answer are there, and not for its body. Its context is not cancelled then:
// it ends with the request, and the body with it.
type limited struct {
	context.Context // has a cancel of our own
	cancel          context.CancelCauseFunc
	deadline        time.Time
	timer           *time.Timer

	// phase is where the call is: waiting, answered or late.
	// Writers:  the timer and end, each by CAS from waiting; who loses finds out
	//           what the call has become.
	// Ordering: late is stored before the context is cancelled.
	phase atomic.Uint32
}

const (
	waiting uint32 = iota
	answered
	late
)

// limit begins a call under ctx.
func limit(ctx context.Context, timeout time.Duration) *limited {
	l := &limited{deadline: time.Now().Add(timeout)}
	l.Context, l.cancel = context.WithCancelCause(ctx)
	l.timer = time.AfterFunc(timeout, func() {
		if l.phase.CompareAndSwap(waiting, late) {
			l.cancel(errTimeout)
		}
	})
	return l
}

// end says how the call went on.
func (l *limited) end(resp *http.Response, err error) (*http.Response, error) {
	l.timer.Stop()
	inTime := l.phase.CompareAndSwap(waiting, answered)
	switch {
	case err == nil && inTime:
		return resp, nil
	case err == nil: // its body is cut
		if resp.Body != nil {
			_ = resp.Body.Close()
		}
		err = errTimeout
	case !inTime:
		err = &lateError{err}
	}
	l.cancel(err)
	return nil, err
}

// Deadline is that of the headers, as long as they are awaited.
func (l *limited) Deadline() (time.Time, bool) {
	at, ok := l.Context.Deadline()
	if l.phase.Load() == answered || ok && at.Before(l.deadline) {
		return at, ok
	}
	return l.deadline, true
}

// Err tells the end of the time from a cancellation.
func (l *limited) Err() error {
	err := l.Context.Err()
	if err != nil && l.phase.Load() == late {
		return context.DeadlineExceeded
	}
	return err
}

var errTimeout = &timeoutError{}

// timeoutError is the end of a call's time.
type timeoutError struct{}

func (*timeoutError) Error() string {
	return "reprise/caddyretry: no answer within the timeout of the call"
}
func (*timeoutError) Timeout() bool        { return true }
func (*timeoutError) Temporary() bool      { return true }
func (*timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }
