package proxy

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/reprise-go/reprise/adapters/httpretry"
)

// call is a request on its way through, and the context that its attempts have:
// the client's, with a time limit that holds until the headers of the answer are
// there and not for its body.
type call struct {
	context.Context // has a cancel of our own
	cancel          context.CancelCauseFunc
	client          context.Context // done when the client has left
	upstream        *upstream
	body            *clientBody // nil: none
	began           time.Time
	deadline        time.Time   // zero: none
	timer           *time.Timer // nil: none

	// phase is where the call is: waiting, answered or late.
	// Writers:  the timer and ModifyResponse, each by CAS from waiting; who loses
	//           finds out what the call has become.
	// Ordering: late is stored before the context is cancelled.
	phase atomic.Uint32

	attempts atomic.Int32 // sent so far
	last     atomic.Int32 // number of the replica last asked, from 1; 0: none
	status   int          // of the answer
	result   httpretry.Result
	failure  error // why the answer is ours, or nil
}

const (
	waiting uint32 = iota
	answered
	late
)

var (
	errTimeout  = &timeoutError{}
	errShutdown = errors.New("the proxy is ending")
	errOver     = errors.New("the request is over")
)

// timeoutError is the end of a call's time.
type timeoutError struct{}

func (*timeoutError) Error() string        { return "no answer within the upstream's timeout" }
func (*timeoutError) Timeout() bool        { return true }
func (*timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

type callKey struct{}

// begin makes the call of a request.
func begin(r *http.Request, u *upstream) *call {
	c := &call{client: r.Context(), upstream: u, began: time.Now()}
	c.Context, c.cancel = context.WithCancelCause(r.Context())
	if u.Timeout > 0 {
		c.deadline = c.began.Add(u.Timeout)
		c.timer = time.AfterFunc(u.Timeout, func() {
			if c.phase.CompareAndSwap(waiting, late) {
				c.cancel(errTimeout)
			}
		})
	}
	return c
}

// callOf returns the call that a request of the proxy belongs to.
func callOf(r *http.Request) *call {
	c, _ := r.Context().Value(callKey{}).(*call)
	return c
}

// answer says that the headers of the answer are there; false if the time was up
// before.
func (c *call) answer() bool {
	if c.timer != nil {
		c.timer.Stop()
	}
	return c.phase.CompareAndSwap(waiting, answered)
}

// end lets go of what the call holds.
func (c *call) end() {
	if c.timer != nil {
		c.timer.Stop()
	}
	c.cancel(errOver)
}

// stopped reports whether the client has stopped in the middle of its body.
func (c *call) stopped() bool { return c.body != nil && c.body.stopped() }

// left reports whether the client is gone: it is not us who ended its request.
func (c *call) left() bool {
	return c.client.Err() != nil && context.Cause(c.client) != errShutdown && !c.stopped() && c.phase.Load() != late
}

// Deadline is that of the headers, as long as they are awaited.
func (c *call) Deadline() (time.Time, bool) {
	if c.deadline.IsZero() || c.phase.Load() == answered {
		return c.Context.Deadline()
	}
	return c.deadline, true
}

// Err tells the end of the time from a cancellation.
func (c *call) Err() error {
	err := c.Context.Err()
	if err != nil && c.phase.Load() == late {
		return context.DeadlineExceeded
	}
	return err
}

// Value finds the call itself, besides what the client's context holds.
func (c *call) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.Context.Value(key)
}
