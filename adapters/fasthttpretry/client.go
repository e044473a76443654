package fasthttpretry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/internal/mono"
)

// Doer sends one request: a *fasthttp.Client, *fasthttp.HostClient,
// *fasthttp.PipelineClient or *fasthttp.LBClient, or what wraps one. The three
// methods promise what fasthttp's do.
type Doer interface {
	// Do sends req and fills in resp.
	Do(req *fasthttp.Request, resp *fasthttp.Response) error
	// DoTimeout does so for d at the most.
	DoTimeout(req *fasthttp.Request, resp *fasthttp.Response, d time.Duration) error
	// DoDeadline does so until the deadline at the most.
	DoDeadline(req *fasthttp.Request, resp *fasthttp.Response, deadline time.Time) error
}

// Client sends requests through another client, and again where the engine says
// so. It is safe for use by many goroutines and must not be copied; make one
// with [New] for each client and keep it. The zero Client fails every request with an error
// that says so. It is a [Doer], and a fasthttp.BalancingClient.
type Client struct {
	// idle leads, because its word must lie on an 8-byte border on 32-bit
	// machines too.
	idle   idle
	engine *engine.Engine
	doer   Doer
	// takesBody says that doer may keep a request's body when its time is up.
	takesBody bool
	plain     bool // nothing has to be done to a request before it is sent
	config
}

var (
	_ Doer                     = (*Client)(nil)
	_ fasthttp.BalancingClient = (*Client)(nil)
)

// New returns a Client whose calls are e's: it pays from e's quota and
// classifies with e's classifier. A nil or zero engine, a wrong option, and a
// client beneath that sends again by itself are errors: fasthttp's Client and
// HostClient must have MaxIdemponentCallAttempts 1, also where an LBClient holds
// them. client is not changed, and its fields must not be changed later.
func New(e *engine.Engine, client Doer, opts ...Option) (*Client, error) {
	if e == nil {
		return nil, errors.New("reprise/fasthttpretry: New needs an engine; this one is nil (engine.New makes one)")
	}
	if _, err := e.Derive(); err != nil {
		return nil, errors.New("reprise/fasthttpretry: New needs an engine made by engine.New; this one is the zero Engine")
	}
	if err := checkBeneath(client); err != nil {
		return nil, err
	}
	c := &Client{engine: e, doer: client, takesBody: takesBody(client), idle: idle{clients: idleOf(client), anchor: mono.At(time.Now())}}
	for i, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("reprise/fasthttpretry: option %d of %d is nil", i+1, len(opts))
		}
		if err := opt(&c.config); err != nil {
			return nil, err
		}
	}
	c.plain = !c.takesBody && !c.awsHeaders && c.attemptTimeout == 0 && c.engineFor == nil
	return c, nil
}

// Do sends req and, as long as the engine says so, sends it again; resp is the
// last answer, whatever its status, if the error is nil. A time-out that req has
// (fasthttp's Request.SetTimeout) bounds the whole call, delays included; without
// one nothing does but the attempts' own bounds.
//
// An error is the client's own, untouched, if the first attempt's was not
// retryable, else an [*engine.Error] around it: compare with errors.Is. If that
// holds a [*ResponseError], resp still is the last answer. resp may be nil.
//
// Afterwards req is what fasthttp makes of a request that it sends once. Blocks
// for the attempts and the delays between them. A success at the first attempt
// allocates nothing beside what the client beneath does.
func (c *Client) Do(req *fasthttp.Request, resp *fasthttp.Response) error {
	_, err := c.do(context.Background(), time.Time{}, req, resp)
	return err
}

// DoTimeout is [Client.Do] for d at the most, attempts and delays included: what
// is left of it bounds each attempt, and a delay that would not end before it
// ends the call at once. d of zero or below is fasthttp.ErrTimeout, with nothing
// sent.
func (c *Client) DoTimeout(req *fasthttp.Request, resp *fasthttp.Response, d time.Duration) error {
	if d <= 0 {
		return fasthttp.ErrTimeout
	}
	_, err := c.do(context.Background(), time.Now().Add(d), req, resp)
	return err
}

// DoDeadline is [Client.DoTimeout] with the end of the call instead of its
// length.
func (c *Client) DoDeadline(req *fasthttp.Request, resp *fasthttp.Response, deadline time.Time) error {
	if !time.Now().Before(deadline) {
		return fasthttp.ErrTimeout
	}
	_, err := c.do(context.Background(), deadline, req, resp)
	return err
}

// DoContext is [Client.Do] under a context, and says how the call came to its
// end. ctx's deadline bounds the call as DoDeadline's does. Its cancellation ends
// a delay, or the wait for the limiter, at once; fasthttp cannot be stopped in
// the middle of an attempt, so one that is under way runs to its own end, which
// the deadline or [WithAttemptTimeout] bounds. A *fasthttp.RequestCtx is such a
// context: it is done when its server shuts down, and what is in that server's
// hands then is still to be answered. So a call whose context is cancelled
// beforehand makes its first attempt, and no other. One whose deadline has passed
// sends nothing: its error is fasthttp.ErrTimeout and context.DeadlineExceeded.
func (c *Client) DoContext(ctx context.Context, req *fasthttp.Request, resp *fasthttp.Response) (Result, error) {
	if ctx == nil {
		return Result{}, errNilContext
	}
	deadline, bounded := ctx.Deadline()
	if bounded && !time.Now().Before(deadline) {
		return Result{Reason: engine.ReasonDeadline}, errGoneBy
	}
	return c.do(ctx, deadline, req, resp)
}

// PendingRequests returns the number of requests that are under way in the
// client beneath, if that counts them, else 0: calls that wait for their delay
// are not among them. So an LBClient can balance over Clients that have an engine
// each. Takes fasthttp's locks.
func (c *Client) PendingRequests() int {
	if c != nil {
		if p, ok := c.doer.(interface{ PendingRequests() int }); ok {
			return p.PendingRequests()
		}
	}
	return 0
}

// CloseIdleConnections closes the idle connections of the client beneath, or of
// those that an LBClient was made with, where they can. Takes fasthttp's locks.
func (c *Client) CloseIdleConnections() {
	if c != nil {
		c.idle.close()
	}
}

// do is one call. A zero deadline is none. What follows its first lines is for
// calls that need nothing but an attempt that succeeds.
func (c *Client) do(ctx context.Context, deadline time.Time, req *fasthttp.Request, resp *fasthttp.Response) (Result, error) {
	if c == nil || !c.plain || req == nil || resp == nil || !deadline.IsZero() || req.GetTimeOut() > 0 || req.Header.IsConnect() {
		return c.doWith(ctx, deadline, req, resp)
	}
	streamed := req.IsBodyStream() // asked first: it is none any more once it has been sent
	call := begin(c.engine, req)
	if call.Admit() != 0 {
		return c.queue(ctx, req, resp, streamed, &call)
	}
	err := c.doer.Do(req, resp)
	if err == nil && succeeded(c.engine, resp) {
		call.Succeed()
		return Result{Attempts: 1, Succeeded: true}, nil
	}
	return c.goOn(ctx, req, resp, streamed, &call, err)
}

// queue is the rest of a plain call that adaptive mode makes wait.
//
//go:noinline
func (c *Client) queue(ctx context.Context, req *fasthttp.Request, resp *fasthttp.Response, streamed bool, call *engine.Call) (Result, error) {
	x := exchange{c: c, engine: c.engine, ctx: ctx, req: req, resp: resp, streamed: streamed}
	if r, err := x.admit(call); err != nil {
		return r, err
	}
	return x.run(call, x.send(call.Attempts()))
}

// goOn is the rest of a plain call whose first attempt gave err.
//
//go:noinline
func (c *Client) goOn(ctx context.Context, req *fasthttp.Request, resp *fasthttp.Response, streamed bool, call *engine.Call, err error) (Result, error) {
	x := exchange{c: c, engine: c.engine, ctx: ctx, req: req, resp: resp, streamed: streamed}
	return x.run(call, err)
}

// doWith is a call that is not plain.
//
//go:noinline
func (c *Client) doWith(ctx context.Context, deadline time.Time, req *fasthttp.Request, resp *fasthttp.Response) (Result, error) {
	if c == nil || c.engine == nil {
		return Result{}, errZeroClient
	}
	if req == nil {
		return Result{}, errNilRequest
	}
	x := exchange{c: c, engine: c.engine, ctx: ctx, deadline: deadline, req: req, resp: resp}
	if req.Header.IsConnect() {
		return Result{Attempts: 1}, x.sendOnce() // a tunnel, not an answer
	}
	x.open()
	defer x.close()
	call := begin(x.engine, req)
	if call.Admit() != 0 {
		if r, err := x.admit(&call); err != nil {
			return r, err
		}
	}
	return x.run(&call, x.send(1))
}

func begin(e *engine.Engine, req *fasthttp.Request) engine.Call {
	if longPoll(req) {
		return e.BeginLongPoll()
	}
	return e.Begin()
}

// succeeded reports whether an answer is a success: its status is from 100 to 399
// and the classifier has no other word for it. Redirects are the caller's to follow.
// What is below is no status, but for 0, which fasthttp gives out as 200.
func succeeded(e *engine.Engine, resp *fasthttp.Response) bool {
	status := resp.StatusCode()
	return status >= 100 && status < 400 && e.Classifier().Response(status, "") == classify.NonRetryable
}

var (
	errZeroClient = errors.New("reprise/fasthttpretry: this *Client is nil or zero: make one with New")
	errNilRequest = errors.New("reprise/fasthttpretry: the request is nil")
	errNilContext = errors.New("reprise/fasthttpretry: DoContext needs a context; this one is nil (context.Background() will do)")
	errGoneBy     = fmt.Errorf("reprise/fasthttpretry: nothing was sent: %w (%w before the call)", fasthttp.ErrTimeout, context.DeadlineExceeded)
)
