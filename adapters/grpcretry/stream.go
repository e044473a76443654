package grpcretry

import (
	"context"
	"errors"
	"io"
	"sync"

	"go.uber.org/atomic"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/reprise-go/reprise/engine"
)

// stream is one streaming call over all its attempts. Until it is settled, mu
// guards what its methods share. While an attempt is replaced, which may take long,
// that belongs to whoever replaces it, and the others wait until it is done: not
// for mu, since in testing/synctest time does not pass for who waits for a lock.
type stream struct {
	i          *Interceptor
	engine     *engine.Engine // of this call
	ctx        context.Context
	desc       *grpc.StreamDesc
	cc         *grpc.ClientConn
	method     string
	streamer   grpc.Streamer
	opts       []grpc.CallOption // the caller's
	marks      marks
	idempotent bool

	// cur is the attempt under way, or the last.
	//   never nil once the caller has the stream
	// Invariant: stays as it is once settled is 1.
	// Writers:   whoever holds mu.
	// Ordering:  publishes the attempt.
	// Overflow:  nothing is added.
	cur atomic.Pointer[streamAttempt]
	// settled says that there will be no further attempt: from then on cur and
	// final stay as they are, and no method needs mu.
	//   0 or 1
	// Invariant: once 1, always 1.
	// Writers:   whoever holds mu.
	// Ordering:  publishes cur, final and held.
	// Overflow:  nothing is added.
	settled atomic.Bool
	// ended says that the stream is over for the caller too.
	//   0 or 1
	// Invariant: once 1, always 1.
	// Writers:   end.
	// Ordering:  publishes that the trailer is there.
	// Overflow:  nothing is added.
	ended atomic.Bool
	// told says that OnFinish has been told of the end.
	//   0 or 1
	// Invariant: once 1, always 1; who makes it so tells.
	// Writers:   tell, by CAS; who loses it has nothing to do.
	// Ordering:  publishes nothing.
	// Overflow:  nothing is added.
	told atomic.Bool
	// unwatch ends what watch has begun; nil if it has begun nothing.
	// Invariant: set once.
	// Writers:   watch, which calls it itself where the end came first.
	// Ordering:  publishes the func.
	// Overflow:  nothing is added.
	unwatch atomic.Pointer[func() bool]

	mu        sync.Mutex
	moved     sync.Cond   // receiving or moving is over
	call      engine.Call // of the engine
	kept      kept
	why       error // why there can be no further attempt; nil: there can
	receiving bool  // a RecvMsg of cur is under way, the caller's or a probe, or its failure is looked at
	moving    bool  // cur is being replaced
	replaying bool  // cur is being sent what is kept, beside whoever receives
	answered  bool  // as settled, which follows as soon as nothing is replayed
	half      bool  // the caller has sent all
	held      *held // what a probe received; taken by the caller's RecvMsg alone
	final     error // what the caller's RecvMsg returns from now on; nil: what cur's does
}

// open makes the first attempt, and further ones while none can be opened. Nobody
// else has the stream yet.
func (s *stream) open() error {
	for {
		a, err := s.dial()
		if err == nil {
			s.cur.Store(a)
			if !s.idempotent {
				s.why = &methodError{s.method}
			}
			return nil
		}
		if err = s.failed(err, a); err != nil {
			s.settled.Store(true)
			return err
		}
	}
}

// failed decides what follows an attempt that could not be opened, or failed
// later, and waits for it. A nil error means to send again.
func (s *stream) failed(err error, a *streamAttempt) error {
	f := s.i.examine(s.engine, err, a.trailers())
	switch {
	case f.refused != nil:
	case s.why != nil:
		f.refused = s.why
	case !s.idempotent && !a.neverSent():
		f.refused = &methodError{s.method}
	}
	return decide(s.ctx, &s.call, &f)
}

// again replaces a failed attempt by another, which gets what was sent, for as
// long as the engine says so. Its error is the call's. The caller holds mu, which is
// not held meanwhile.
func (s *stream) again(err error) error {
	s.moving = true
	defer func() {
		s.moving = false
		s.moved.Broadcast()
	}()
	a := s.cur.Load()
	a.end() // and the replay to it
	for s.replaying {
		s.moved.Wait()
	}
	s.mu.Unlock()
	defer s.mu.Lock()
	for {
		if err = s.failed(err, a); err != nil {
			return err
		}
		if a, err = s.dial(); err == nil {
			s.cur.Store(a)
			s.replay(a)
			return nil
		}
		a.end()
	}
}

// lock takes mu, once no attempt is being replaced.
func (s *stream) lock() {
	s.mu.Lock()
	for s.moving {
		s.moved.Wait()
	}
}

// lockToSend is lock for who sends: after what is replayed.
func (s *stream) lockToSend() {
	s.mu.Lock()
	for s.moving || s.replaying {
		s.moved.Wait()
	}
}

// replay sends on a new attempt what was sent before. Where both sides send more
// than once it does so beside whoever receives: a server that answers while it reads
// stops reading when nobody takes its answers. What it finds is in a, under mu.
func (s *stream) replay(a *streamAttempt) {
	s.mu.Lock()
	s.replaying = true
	messages := s.kept.messages
	s.mu.Unlock()
	if s.desc.ClientStreams && s.desc.ServerStreams {
		go s.resend(a, messages)
	} else {
		s.resend(a, messages)
	}
}

// resend sends the messages, and the half-close behind them. A panic is for who
// receives.
func (s *stream) resend(a *streamAttempt, messages []any) {
	var err error
	defer func() {
		p := recover()
		s.mu.Lock()
		defer s.mu.Unlock()
		if p == nil && err == nil && s.half {
			err = a.CloseSend()
		}
		if a.panicked = p; p != nil {
			a.end()
		}
		if err != io.EOF { // io.EOF: the next RecvMsg tells
			a.unsent = err
		}
		if s.replaying = false; s.answered {
			s.settled.Store(true)
		}
		s.moved.Broadcast()
	}()
	for _, m := range messages {
		if err = a.SendMsg(m); err != nil {
			return
		}
	}
}

// watch calls what grpc.OnFinish holds, as grpc does, if the caller's context ends
// and nobody asks what became of the stream.
func (s *stream) watch() {
	if s.marks&hasOnFinish == 0 {
		return
	}
	unwatch := context.AfterFunc(s.ctx, func() { s.tell(status.FromContextError(s.ctx.Err()).Err()) })
	if s.unwatch.Store(&unwatch); s.told.Load() {
		unwatch()
	}
}

// settle makes cur the last attempt. The caller holds mu.
func (s *stream) settle() {
	s.kept = kept{}
	s.answered = true
	if !s.replaying {
		s.settled.Store(true)
	}
}

// pin says that cur must not be replaced any more. What becomes of it is still to
// be told to the engine.
func (s *stream) pin(why error) {
	if s.why == nil {
		s.why = why
	}
	s.kept = kept{}
}

// end ends the stream for the caller, who has got err, or is about to.
func (s *stream) end(err error) {
	s.ended.Store(true)
	if a := s.cur.Load(); a != nil {
		a.end()
	}
	if err == io.EOF {
		err = nil
	}
	s.tell(err)
}

// tell calls what grpc.OnFinish holds, once.
func (s *stream) tell(err error) {
	if s.marks&hasOnFinish == 0 || !s.told.CompareAndSwap(false, true) {
		return
	}
	if unwatch := s.unwatch.Load(); unwatch != nil {
		(*unwatch)()
	}
	finished(s.opts, s.marks, err)
}

// SendMsg sends a message, and keeps it until the first message of the answer is
// there. Where the attempt has failed and another is granted, it blocks until that
// has got the message.
func (s *stream) SendMsg(m any) error {
	if s.settled.Load() {
		return s.sent(s.cur.Load().SendMsg(m))
	}
	a := s.sending(m)
	err := a.SendMsg(m)
	if err == nil {
		return nil
	}
	s.lockToSend()
	defer s.mu.Unlock()
	switch {
	case s.cur.Load() != a:
		return nil // the attempt after it has got the message
	case err != io.EOF: // this client's own failure
		s.fail(err)
		return err
	case s.why != nil || !s.settleEnded(a):
		return err
	}
	return nil
}

// sending returns the attempt to send a message on, and keeps the message.
func (s *stream) sending(m any) *streamAttempt {
	s.lockToSend()
	defer s.mu.Unlock()
	if s.why == nil && !s.half && !s.answered {
		if why := s.kept.keep(m, !s.desc.ClientStreams, s.i.bufferLimit); why != nil {
			s.pin(why)
		}
	}
	return s.cur.Load()
}

// sent is what becomes of a message that could not be sent.
func (s *stream) sent(err error) error {
	if err != nil && err != io.EOF {
		s.end(err)
	}
	return err
}

// fail ends a stream that has failed on this side. The caller holds mu.
func (s *stream) fail(err error) {
	if !s.answered {
		s.call.FailIn(s.ctx, engine.Outcome{Local: true})
		s.settle()
	}
	s.end(err)
}

// CloseSend says that nothing more will be sent, on this attempt and those after
// it.
func (s *stream) CloseSend() error {
	if s.settled.Load() {
		return s.cur.Load().CloseSend()
	}
	s.lock()
	defer s.mu.Unlock()
	s.half = true
	if s.replaying {
		return nil // closed behind the last message
	}
	return s.cur.Load().CloseSend()
}

// Header returns the headers of the answer. Once the caller has them there is no
// further attempt, for that would have other ones.
func (s *stream) Header() (metadata.MD, error) {
	for {
		settled := s.settled.Load()
		a := s.cur.Load()
		md, err := a.Header()
		if settled || !s.replaced(a, md != nil || err != nil) {
			return md, err
		}
	}
}

// replaced reports whether a, whose headers were asked for, is no longer the
// attempt to ask. Without headers, an attempt is at its end.
func (s *stream) replaced(a *streamAttempt, seen bool) bool {
	s.lock()
	defer s.mu.Unlock()
	if s.cur.Load() != a {
		return true
	}
	if seen {
		s.pin(errHeaderSeen)
		return false
	}
	return s.why == nil && s.settleEnded(a)
}

var errHeaderSeen = errors.New("reprise/grpcretry: the caller has got the headers of this attempt")

// Trailer returns the trailer of the last attempt, once the stream is over; before
// that nil. It may be called at any time.
func (s *stream) Trailer() metadata.MD {
	if !s.ended.Load() {
		return nil
	}
	return s.cur.Load().Trailer()
}

// Context returns the context of the attempt under way, which is then the last.
func (s *stream) Context() context.Context {
	if s.settled.Load() {
		return s.cur.Load().Context()
	}
	s.lock()
	defer s.mu.Unlock()
	s.pin(errContextSeen)
	return s.cur.Load().Context()
}

var errContextSeen = errors.New("reprise/grpcretry: the caller has got the context of this attempt")
