package grpcretry

import (
	"errors"
	"io"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/emptypb"
)

// RecvMsg receives a message. Where the attempt has failed and another is granted,
// it blocks until that has a message, or has ended.
func (s *stream) RecvMsg(m any) error {
	if s.settled.Load() {
		return s.receiveSettled(m)
	}
	if done, err := s.receiveFirst(m); done {
		return err
	}
	return s.receiveSettled(m)
}

// receiveFirst receives the first message; not done means that a probe has.
func (s *stream) receiveFirst(m any) (done bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.receiving {
		s.moved.Wait()
	}
	if s.answered {
		return false, nil
	}
	for {
		if again, err := s.receive(m, nil); !again {
			return true, err
		}
	}
}

// receive receives the first message or the end of the answer from the attempt
// under way. again says that it has failed and that another has taken its place;
// else the stream is settled. A probe keeps in h what it receives. The caller holds
// mu, which is not held while the attempt receives or is replaced.
func (s *stream) receive(m any, h *held) (again bool, _ error) {
	s.receiving = true
	defer func() {
		s.receiving = false
		s.moved.Broadcast()
	}()
	a := s.cur.Load()
	err := s.receiveFrom(a, m)
	for err != nil && s.replaying { // not for long, now that the attempt is at its end
		s.moved.Wait()
	}
	if a.panicked != nil {
		panic(a.panicked)
	}
	if s.answered { // a SendMsg has failed meanwhile
		return false, err
	}
	if err != nil && a.unsent != nil {
		err = a.unsent
	}
	if err == nil && !a.stop() { // its context has ended, and the rest is lost
		err = a.timeout()
	}
	if err == nil || err == io.EOF {
		a.stop()
		s.call.Succeed()
		if h != nil {
			h.err = err
			s.held = h
		}
		s.settle()
		if err != nil || !s.desc.ServerStreams {
			s.end(err)
		}
		return false, err
	}
	if err = s.again(a.failure(err)); err == nil {
		return true, nil
	}
	s.final = err
	s.settle()
	s.end(err)
	return false, err
}

func (s *stream) receiveFrom(a *streamAttempt, m any) error {
	s.mu.Unlock()
	defer s.mu.Lock()
	return a.RecvMsg(m)
}

// receiveSettled receives from the last attempt.
func (s *stream) receiveSettled(m any) error {
	if h := s.held; h != nil {
		s.held = nil
		return h.into(m)
	}
	if s.final != nil {
		return s.final
	}
	err := s.cur.Load().RecvMsg(m)
	if err != nil || !s.desc.ServerStreams {
		s.end(err)
	}
	return err
}

// held is what came while the caller was not receiving.
type held struct {
	message emptypb.Empty // whose unknown fields are the message
	err     error         // io.EOF, or what ended the answer
}

func (h *held) into(m any) error {
	if h.err != nil {
		return h.err
	}
	p, ok := m.(proto.Message)
	if v1, is := m.(protoadapt.MessageV1); !ok && is {
		p, ok = protoadapt.MessageV2Of(v1), true
	}
	if !ok {
		return errNotProto
	}
	b, err := proto.Marshal(&h.message)
	if err != nil {
		return err
	}
	return proto.Unmarshal(b, p)
}

var errNotProto = errors.New("reprise/grpcretry: what is received into is no protocol buffer, as what was received")

// settleEnded finds out what became of an attempt that has ended, of which so far
// only SendMsg or Header has told, and reports whether another has taken its
// place. If the caller is receiving, that tells; else it is received here, into a
// message that takes anything. The caller holds mu.
func (s *stream) settleEnded(a *streamAttempt) bool {
	for s.receiving && (s.moving || s.cur.Load() == a) && !s.answered {
		s.moved.Wait()
	}
	if s.cur.Load() != a || s.answered {
		return s.cur.Load() != a
	}
	if s.marks&hasCodec != 0 {
		s.pin(errOtherCodec)
		return false
	}
	h := new(held)
	_, _ = s.receive(&h.message, h)
	return s.cur.Load() != a
}

var errOtherCodec = errors.New("reprise/grpcretry: the call has a codec of its own, so nothing can be received before the caller does")
