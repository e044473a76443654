package grpcretry

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"

	"github.com/reprise-go/reprise/engine"
)

// Interceptor is a pair of client interceptors that send calls again where the
// engine says so. It is safe for use by many goroutines and immutable; make one
// with [New] for each server and keep it. The zero Interceptor fails every call
// with an error that says so.
type Interceptor struct {
	engine *engine.Engine
	config
	declared declarations
}

// New returns an Interceptor whose calls are e's: they pay from e's quota and are
// classified by e's classifier where an error is no status. A nil or zero engine
// and an option that is wrong are errors.
func New(e *engine.Engine, opts ...Option) (*Interceptor, error) {
	if e == nil {
		return nil, errors.New("reprise/grpcretry: New needs an engine; this one is nil (engine.New makes one)")
	}
	if _, err := e.Derive(); err != nil {
		return nil, errors.New("reprise/grpcretry: New needs an engine made by engine.New; this one is the zero Engine")
	}
	i := &Interceptor{engine: e, config: config{bufferLimit: defaultBufferLimit}}
	for n, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("reprise/grpcretry: option %d of %d is nil", n+1, len(opts))
		}
		if err := opt(&i.config); err != nil {
			return nil, err
		}
	}
	return i, nil
}

// DialOptions returns what grpc.NewClient needs: grpc.WithDisableRetry, and the
// two interceptors, the outermost of those that are added after them.
func (i *Interceptor) DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDisableRetry(),
		grpc.WithChainUnaryInterceptor(i.Unary),
		grpc.WithChainStreamInterceptor(i.Stream),
	}
}

// Unary is a grpc.UnaryClientInterceptor. It makes a call and, as long as the
// engine says so, makes it again. Its error is the last attempt's own, untouched,
// if the first attempt's was not retryable, else one that says why the call ended:
// an [*engine.Error] for errors.As, the last status for status.FromError.
//
// Blocks for the attempts and the delays between them, and no longer than ctx
// lives. A success at the first attempt adds one allocation, and a second where
// the method may not be sent twice, to those of grpc.
func (i *Interceptor) Unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if i == nil || i.engine == nil {
		return errZeroInterceptor
	}
	m := marksOf(opts)
	if m&retriedAbove != 0 {
		return invoker(ctx, method, req, reply, cc, opts...)
	}
	e := i.engine
	if i.engineFor != nil {
		e = i.engineOf(ctx, cc, method)
	}
	c := e.Begin()
	if m&longPoll != 0 {
		c = e.BeginLongPoll()
	}
	if c.Admit() != 0 { // adaptive mode makes it wait
		if err := admit(ctx, &c); err != nil {
			finished(opts, m, err)
			return err
		}
	}
	idempotent := i.idempotent(method, m)
	a := newAttempt(opts, m, idempotent)
	err := i.invoke(ctx, c.Attempts(), method, req, reply, cc, invoker, a.options)
	if err == nil {
		c.Succeed()
	} else {
		u := unary{i: i, engine: e, ctx: ctx, method: method, req: req, reply: reply, cc: cc, invoker: invoker, opts: opts, marks: m, idempotent: idempotent}
		err = u.retry(&c, a, err)
	}
	finished(opts, m, err)
	return err
}

// Stream is a grpc.StreamClientInterceptor. What it returns is sent again, with
// all that the caller has sent, until the first message or the end of the answer
// is there; see the package comment. Its error is as [Interceptor.Unary] has it.
//
// Blocks, as the stream's methods do, for the attempts and the delays between
// them, and no longer than ctx lives.
func (i *Interceptor) Stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if i == nil || i.engine == nil {
		return nil, errZeroInterceptor
	}
	m := marksOf(opts)
	if m&retriedAbove != 0 {
		return streamer(ctx, desc, cc, method, opts...)
	}
	e := i.engine
	if i.engineFor != nil {
		e = i.engineOf(ctx, cc, method)
	}
	s := &stream{i: i, engine: e, ctx: ctx, desc: desc, cc: cc, method: method, streamer: streamer, opts: opts, marks: m, idempotent: i.idempotent(method, m)}
	s.moved.L = &s.mu
	if s.call = e.Begin(); m&longPoll != 0 {
		s.call = e.BeginLongPoll()
	}
	if s.call.Admit() != 0 {
		if err := admit(ctx, &s.call); err != nil {
			finished(opts, m, err)
			return nil, err
		}
	}
	if err := s.open(); err != nil {
		s.end(err)
		return nil, err
	}
	s.watch()
	return s, nil
}

var errZeroInterceptor = errors.New("reprise/grpcretry: this *Interceptor is nil or zero: make one with New")
