package grpcretry

import (
	"context"
	"errors"

	"google.golang.org/grpc"

	"github.com/reprise-go/reprise/engine"
)

// chooser returns the engine of a call; nil is the one given to New.
type chooser func(ctx context.Context, cc *grpc.ClientConn, method string) *engine.Engine

// WithEngineFor chooses the engine of each call, by its context, the target of its
// connection in canonical form ("dns:///service:443") and its full method name.
// That engine's quota pays, its attempts and schedule hold. Where choose returns
// nil it is the one that [New] was given. choose is called once for each call, by
// many goroutines; an engine that [engine.New] or a group did not make panics there.
// A nil choose is an error. Default: every call has New's engine.
func WithEngineFor(choose func(ctx context.Context, target, method string) *engine.Engine) Option {
	return func(c *config) error {
		if choose == nil {
			return errors.New("reprise/grpcretry: WithEngineFor(nil): want a func; leave the option out for the engine given to New")
		}
		c.engineFor = func(ctx context.Context, cc *grpc.ClientConn, method string) *engine.Engine {
			return choose(ctx, targetOf(cc), method)
		}
		return nil
	}
}

// WithEngineByTarget is [WithEngineFor] with an engine for each target, for an
// Interceptor that serves several connections. The group bounds how many there
// are. The engine that [New] was given is then not used. A nil group is an error.
// Default: every call has New's engine.
func WithEngineByTarget(group *engine.Group[string]) Option {
	return byKey("WithEngineByTarget", group, func(cc *grpc.ClientConn, _ string) string { return targetOf(cc) })
}

// WithEngineByMethod is [WithEngineFor] with an engine for each method, by its full
// name: a method that fails then uses up its own retries and no other's. The group
// bounds how many there are. The engine that [New] was given is then not used. A
// nil group is an error. Default: every call has New's engine.
func WithEngineByMethod(group *engine.Group[string]) Option {
	return byKey("WithEngineByMethod", group, func(_ *grpc.ClientConn, method string) string { return method })
}

func byKey(name string, group *engine.Group[string], key func(cc *grpc.ClientConn, method string) string) Option {
	return func(c *config) error {
		if group == nil {
			return errors.New("reprise/grpcretry: " + name + "(nil): want a group (engine.NewGroup makes one); leave the option out for the engine given to New")
		}
		c.engineFor = func(_ context.Context, cc *grpc.ClientConn, method string) *engine.Engine {
			return group.For(key(cc, method))
		}
		return nil
	}
}

// targetOf is "" for an interceptor that is called without a connection.
func targetOf(cc *grpc.ClientConn) string {
	if cc == nil {
		return ""
	}
	return cc.CanonicalTarget()
}

// engineOf returns the engine of a call where one is chosen.
func (i *Interceptor) engineOf(ctx context.Context, cc *grpc.ClientConn, method string) *engine.Engine {
	if e := i.engineFor(ctx, cc, method); e != nil {
		return e
	}
	return i.engine
}
