package httpretry

import (
	"errors"
	"io"
	"net/http"
	"runtime"
	"time"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// mayHedge reports whether attempts of the request may run side by side: it may
// arrive twice, its body can be had twice at the same time, it is not one that
// takes long on purpose, and no connection is to be handed over.
func (x *exchange) mayHedge() bool {
	return x.kept == nil && x.above == 0 && !x.longPoll && len(x.req.Header["Upgrade"]) == 0 && x.repeatable()
}

// racer is one of two attempts that run side by side, in a goroutine of its own.
type racer struct {
	attempt
	engine *engine.Engine
	hedge  engine.Hedge // zero: the attempt that was sent first
}

// finish is how a racer ended.
type finish struct {
	racer    *racer
	resp     *http.Response
	err      error
	failure  *failure // nil: a success
	aborted  bool     // the base did not return
	panicked any      // what it panicked with; nil if it ended the goroutine
}

// run makes the attempt and hands on how it ended, as long as somebody listens.
func (r *racer) run(finishes chan<- finish, over <-chan struct{}) {
	f := finish{racer: r, aborted: true}
	defer func() {
		if f.aborted {
			f.panicked = recover()
		}
		select {
		case finishes <- f:
		case <-over:
			if f.resp != nil {
				_ = bodyOf(f.resp).Close()
			}
		}
	}()
	f.resp, f.err = r.send()
	if f.err != nil || !succeeded(r.engine, f.resp) {
		// Here, because it may take a second to look at a body, and the other
		// must not wait for that.
		judged := r.t.examine(r.req.Context(), r.engine, f.resp, f.err)
		f.resp, f.failure = judged.resp, &judged
	}
	f.aborted = false
}

// conclusive reports whether nothing that the other racer may bring can matter.
func (f *finish) conclusive() bool {
	return f.failure == nil || f.failure.verdict.Class == classify.NonRetryable
}

var errOutrun = errors.New("reprise/httpretry: another attempt of the same call was quicker")

// race makes the attempt that is due and, if it has brought nothing when the
// hedge's delay is over and the engine lets it, one more beside it. It returns
// what came first that settles the call, be it a success or an answer that is not
// retryable, and else what came last. The other is cancelled. f is nil for a
// success.
func (x *exchange) race(c *engine.Call) (resp *http.Response, f *failure, err error) {
	finishes, over := make(chan finish), make(chan struct{})
	first := &racer{attempt: x.attempt(c.Attempts()), engine: x.engine}
	var second, winner *racer // second: the hedge
	defer func() {
		close(over)
		for _, r := range []*racer{first, second} {
			if r != nil && r != winner {
				r.cancel(errOutrun)
			}
		}
	}()
	go first.run(finishes, over)
	due := make(chan struct{})
	timer := time.AfterFunc(x.t.hedgeDelay, func() { close(due) })
	defer timer.Stop()

	for running := 1; ; {
		var f finish
		select {
		case f = <-finishes:
		case <-due:
			due = nil
			select {
			case f = <-finishes:
			default:
				if second = x.hedge(c); second != nil {
					running++
					go second.run(finishes, over)
				}
				continue
			}
		}
		if f.aborted {
			if f.panicked == nil {
				runtime.Goexit()
			}
			panic(f.panicked)
		}
		if running--; running == 0 || f.conclusive() {
			winner = f.racer
			c.Adopt(winner.hedge)
			x.restore(f.resp)
			return f.resp, f.failure, f.err
		}
		c.FailBeside(f.racer.hedge, f.failure.outcome())
		if f.resp != nil {
			go discard(f.racer.req.Context(), f.resp) // which releases its context
		}
		if f.racer == first {
			first = nil
		} else {
			second = nil
		}
	}
}

// hedge returns the attempt to send beside the one under way, paid for; nil if
// there is to be none.
func (x *exchange) hedge(c *engine.Call) *racer {
	if x.ctx.Err() != nil {
		return nil
	}
	var body io.ReadCloser
	if hasBody(x.req) {
		var err error
		if body, err = reopened(x.req); err != nil {
			return nil // before tokens are taken
		}
	}
	granted := false
	defer func() {
		if !granted && body != nil {
			_ = body.Close()
		}
	}()
	h, ok := c.Hedge()
	if !ok {
		return nil
	}
	granted = true
	x.next = body
	x.hedged++
	return &racer{attempt: x.attempt(h.Attempt()), engine: x.engine, hedge: h}
}
