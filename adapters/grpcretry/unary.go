package grpcretry

import (
	"context"

	"google.golang.org/grpc"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// unary is one call whose first attempt has failed.
type unary struct {
	i          *Interceptor
	engine     *engine.Engine // of this call
	ctx        context.Context
	method     string
	req, reply any
	cc         *grpc.ClientConn
	invoker    grpc.UnaryInvoker
	opts       []grpc.CallOption // the caller's
	marks      marks
	idempotent bool
}

// retry is the call from the end of its first attempt, which was a and gave err.
func (u *unary) retry(c *engine.Call, a *attempt, err error) error {
	for {
		f := u.i.examine(u.engine, err, a.trailer)
		if f.refused == nil && !u.idempotent && !a.neverSent() {
			f.refused = &methodError{u.method}
		}
		if err = decide(u.ctx, c, &f); err != nil {
			return err
		}
		a = newAttempt(u.opts, u.marks, u.idempotent)
		if err = u.i.invoke(u.ctx, c.Attempts(), u.method, u.req, u.reply, u.cc, u.invoker, a.options); err == nil {
			c.Succeed()
			return nil
		}
	}
}

// invoke makes attempt n, from 1.
func (i *Interceptor) invoke(ctx context.Context, n int, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts []grpc.CallOption) error {
	ctx = attemptContext(ctx, n)
	if limit := i.attemptTimeout(n); limit > 0 {
		bounded, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		ctx = bounded
	}
	return invoker(ctx, method, req, reply, cc, opts...)
}

// admit waits for the leave to send the first attempt. Its error ends the call.
func admit(ctx context.Context, c *engine.Call) error {
	d := c.AdmitWait(ctx)
	if d.Reason == engine.ReasonRetry {
		return nil
	}
	return wrap(ctx, c, nil, classify.NonRetryable, d)
}

// decide asks the engine what follows a failure and waits for it. A nil error
// means to send again; any other ends the call.
func decide(ctx context.Context, c *engine.Call, f *failure) error {
	o := f.outcome()
	d := c.FailWait(ctx, o)
	if d.Reason == engine.ReasonRetry {
		return nil
	}
	err := f.err
	if d.Reason == engine.ReasonNotReplayable {
		err = &notReplayableError{err, f.refused}
	}
	return wrap(ctx, c, err, o.Class, d)
}
