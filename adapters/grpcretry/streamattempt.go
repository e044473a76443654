package grpcretry

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// streamAttempt is one attempt of a stream, under a context of its own, which
// ends with it.
type streamAttempt struct {
	grpc.ClientStream // nil if it could not be opened
	cancel            context.CancelFunc
	options           *attempt
	timer             *time.Timer // nil: no time-out
	limit             time.Duration
	stopped, late     bool  // the time-out is over; it has passed
	unsent            error // what a replay failed with on this side
	panicked          any   // what a replay panicked with
}

// dial opens the attempt that is due. The attempt is there even with an error.
func (s *stream) dial() (*streamAttempt, error) {
	n := s.call.Attempts()
	ctx, cancel := context.WithCancel(attemptContext(s.ctx, n))
	a := &streamAttempt{cancel: cancel, options: newAttempt(s.opts, s.marks, false)}
	if limit := s.i.attemptTimeout(n); limit > 0 && !s.desc.ClientStreams {
		a.limit, a.timer = limit, time.AfterFunc(limit, cancel)
	}
	opened := false
	defer func() {
		if !opened { // the streamer panicked, too
			a.end()
		}
	}()
	cs, err := s.streamer(ctx, s.desc, s.cc, s.method, a.options.options...)
	if err == nil && cs == nil {
		err = status.Error(codes.Internal, "reprise/grpcretry: the streamer returned neither a stream nor an error")
	}
	if err != nil {
		return a, a.failure(err)
	}
	a.ClientStream, opened = cs, true
	return a, nil
}

// stop ends the time-out and reports whether it had not passed. It is called by
// one at a time.
func (a *streamAttempt) stop() bool {
	if a.timer != nil && !a.stopped {
		a.stopped, a.late = true, !a.timer.Stop()
	}
	return !a.late
}

// failure returns the attempt's error: the one it failed with, or that it was
// ended by its time-out.
func (a *streamAttempt) failure(err error) error {
	if a.stop() || status.Code(err) != codes.Canceled {
		return err
	}
	return a.timeout()
}

func (a *streamAttempt) timeout() error {
	return status.Error(codes.DeadlineExceeded, fmt.Sprintf("reprise/grpcretry: no message within %v (WithAttemptTimeout)", a.limit))
}

// end ends the attempt's context. It may be called at any time.
func (a *streamAttempt) end() { a.cancel() }

// trailers are those of an attempt that has failed.
func (a *streamAttempt) trailers() metadata.MD {
	if !a.options.over.Load() {
		return nil
	}
	return a.options.trailer
}

// neverSent reports whether it is proven that the server never saw the attempt,
// which has failed.
func (a *streamAttempt) neverSent() bool { return a.ClientStream == nil && a.options.neverSent() }
