package grpcretry

import (
	"context"
	"strconv"

	"go.uber.org/atomic"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// previousAttempts is the metadata by which gRPC tells a server that a call was
// sent before, and how often.
const previousAttempts = "grpc-previous-rpc-attempts"

// attempt is the options of one attempt and what they bring back. It is not used
// again for another: who is beneath may keep the options for longer than the
// attempt takes.
type attempt struct {
	// trailer is nil as long as grpc has opened no stream for the attempt: then it
	// never runs the option that sets it.
	trailer metadata.MD
	// over says that grpc has ended the attempt, so that the options did come
	// through to it.
	//   0 or 1
	// Invariant: once 1, always 1.
	// Writers:   grpc's OnFinish, in whichever goroutine ends the attempt.
	// Ordering:  publishes trailer.
	// Overflow:  nothing is added.
	over    atomic.Bool
	options []grpc.CallOption
	room    [6]grpc.CallOption
}

// newAttempt returns an attempt with the options of the call, and with its own.
// unproven leaves out the one that is needed to prove something.
func newAttempt(opts []grpc.CallOption, m marks, unproven bool) *attempt {
	a := new(attempt)
	all := a.room[:0]
	if len(opts)+3 > len(a.room) {
		all = make([]grpc.CallOption, 0, len(opts)+3)
	}
	if m&hasOnFinish == 0 {
		all = append(all, opts...)
	} else {
		for _, opt := range opts {
			if _, is := opt.(grpc.OnFinishCallOption); !is {
				all = append(all, opt)
			}
		}
	}
	all = append(all, above, grpc.TrailerCallOption{TrailerAddr: &a.trailer})
	if !unproven {
		all = append(all, grpc.OnFinishCallOption{OnFinish: func(error) { a.over.Store(true) }})
	}
	a.options = all[:len(all):len(all)]
	return a
}

// neverSent reports whether it is proven that the server never saw the attempt,
// which has failed: grpc has ended it and had no stream for it.
func (a *attempt) neverSent() bool { return a.over.Load() && a.trailer == nil }

// attemptContext returns what attempt n, from 1, is made under.
func attemptContext(ctx context.Context, n int) context.Context {
	if n <= 1 {
		return ctx
	}
	md, ok := metadata.FromOutgoingContext(ctx) // a copy
	if !ok {
		md = make(metadata.MD, 1)
	}
	md.Set(previousAttempts, strconv.Itoa(n-1))
	return metadata.NewOutgoingContext(ctx, md)
}
