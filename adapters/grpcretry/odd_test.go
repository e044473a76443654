package grpcretry_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/reprise-go/reprise/adapters/grpcretry"
	"github.com/reprise-go/reprise/engine"
)

// fakeStream is a stream without grpc.
type fakeStream struct {
	grpc.ClientStream
	ctx  context.Context
	sent []any
	send func(m any) error
	recv func(m any) error
	half bool
}

func (f *fakeStream) SendMsg(m any) error {
	f.sent = append(f.sent, m)
	if f.send == nil {
		return nil
	}
	return f.send(m)
}

func (f *fakeStream) RecvMsg(m any) error {
	if f.recv == nil {
		return io.EOF
	}
	return f.recv(m)
}

func (f *fakeStream) CloseSend() error             { f.half = true; return nil }
func (f *fakeStream) Context() context.Context     { return f.ctx }
func (f *fakeStream) Trailer() metadata.MD         { return metadata.Pairs("key", "value") }
func (f *fakeStream) Header() (metadata.MD, error) { return nil, nil }

// open opens a stream over fakes, one for each attempt, the last one again.
func open(t *testing.T, i *grpcretry.Interceptor, desc *grpc.StreamDesc, fakes []*fakeStream, opts ...grpc.CallOption) (s grpc.ClientStream, attempts *int) {
	t.Helper()
	attempts = new(int)
	s, err := i.Stream(t.Context(), desc, nil, "/a/b", func(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
		f := fakes[min(*attempts, len(fakes)-1)]
		f.ctx = ctx
		*attempts++
		return f, nil
	}, opts...)
	require.NoError(t, err)
	return s, attempts
}

var (
	bidi       = &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	serverOnly = &grpc.StreamDesc{ServerStreams: true}
)

func failing(err error) *fakeStream {
	return &fakeStream{recv: func(any) error { return err }, send: func(any) error { return io.EOF }}
}

// What is no protocol buffer has no size that is known: the only message is kept
// as it is, others end the retries.
func TestOtherMessages(t *testing.T) {
	i := newInterceptor(t, quick(t), grpcretry.WithAnyMethod())
	m := []byte("hello")
	second := &fakeStream{}
	s, attempts := open(t, i, serverOnly, []*fakeStream{{recv: func(any) error { return unavailable }}, second})
	require.NoError(t, s.SendMsg(&m))
	require.NoError(t, s.CloseSend())
	assert.Equal(t, io.EOF, s.RecvMsg(nil))
	assert.Equal(t, 2, *attempts)
	assert.Equal(t, []any{&m}, second.sent)
	assert.True(t, second.half)

	s, attempts = open(t, i, bidi, []*fakeStream{failing(unavailable)})
	assert.Equal(t, io.EOF, s.SendMsg(&m))
	assert.Equal(t, io.EOF, s.SendMsg(nil))
	err := s.RecvMsg(nil)
	require.ErrorIs(t, err, engine.ErrNotReplayable)
	assert.ErrorContains(t, err, "a *[]uint8 is no protocol buffer")
	assert.Equal(t, 1, *attempts)
}

// With a codec of the call's own nothing can be received on the caller's behalf.
func TestOtherCodec(t *testing.T) {
	i := newInterceptor(t, quick(t), grpcretry.WithAnyMethod())
	for name, ask := range map[string]func(s grpc.ClientStream){
		"SendMsg": func(s grpc.ClientStream) { assert.Equal(t, io.EOF, s.SendMsg(request(""))) },
		"Header": func(s grpc.ClientStream) {
			md, err := s.Header()
			require.NoError(t, err)
			assert.Nil(t, md)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, attempts := open(t, i, bidi, []*fakeStream{failing(unavailable), {}}, grpc.CallContentSubtype("json"))
			ask(s)
			err := s.RecvMsg(request(""))
			require.ErrorIs(t, err, engine.ErrNotReplayable)
			assert.ErrorContains(t, err, "a codec of its own")
			assert.Equal(t, 1, *attempts)

			s, attempts = open(t, i, bidi, []*fakeStream{failing(unavailable), {}}, grpc.CallContentSubtype("json"))
			assert.Equal(t, io.EOF, s.RecvMsg(request("")), "the caller's own does")
			assert.Equal(t, 2, *attempts)
		})
	}
}

// What a probe has received goes into whatever the caller receives into.
func TestProbed(t *testing.T) {
	i := newInterceptor(t, quick(t), grpcretry.WithAnyMethod())
	answer := func() *fakeStream {
		n := 0
		return &fakeStream{send: func(any) error { return io.EOF }, recv: func(any) error {
			if n++; n == 1 {
				return nil
			}
			return io.EOF
		}}
	}
	s, _ := open(t, i, bidi, []*fakeStream{answer()})
	assert.Equal(t, io.EOF, s.SendMsg(request("")))
	require.NoError(t, s.RecvMsg(wrapperspb.String("gone")))
	assert.Equal(t, io.EOF, s.RecvMsg(wrapperspb.String("")))

	s, _ = open(t, i, bidi, []*fakeStream{answer()})
	assert.Equal(t, io.EOF, s.SendMsg(request("")))
	assert.ErrorContains(t, s.RecvMsg(new([]byte)), "no protocol buffer")
}

// A failure of this client's own is no reason to send again, on the first attempt
// and in the replay.
func TestLocalFailure(t *testing.T) {
	odd := status.Error(codes.Internal, "cannot be encoded")
	e := quick(t)
	i := newInterceptor(t, e, grpcretry.WithAnyMethod())
	s, attempts := open(t, i, bidi, []*fakeStream{{send: func(any) error { return odd }, recv: func(any) error { return unavailable }}})
	assert.Equal(t, odd, s.SendMsg(request("")))
	assert.Equal(t, odd, s.SendMsg(request("")))
	assert.Equal(t, unavailable, s.RecvMsg(request("")))
	assert.Equal(t, metadata.Pairs("key", "value"), s.Trailer())
	assert.Equal(t, 1, *attempts)
	assert.Equal(t, []engine.Reason{engine.ReasonNonRetryable}, ownCalls(e))

	second := &fakeStream{send: func(any) error { return odd }}
	s, attempts = open(t, i, bidi, []*fakeStream{{recv: func(any) error { return unavailable }}, second})
	require.NoError(t, s.SendMsg(request("")))
	err := s.RecvMsg(request(""))
	require.ErrorIs(t, err, odd)
	var ours *engine.Error
	require.ErrorAs(t, err, &ours)
	assert.Equal(t, engine.ReasonNonRetryable, ours.Reason)
	assert.Equal(t, 2, *attempts)
	assert.Error(t, second.ctx.Err())
	assert.Equal(t, 500-14, level(e))
}

// A streamer that breaks its promise is an error and no crash.
func TestNoStream(t *testing.T) {
	i := newInterceptor(t, quick(t), grpcretry.WithAnyMethod())
	_, err := i.Stream(t.Context(), bidi, nil, "/a/b", func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
		return nil, nil
	})
	assert.Equal(t, codes.Internal, status.Code(err))
}

// An error of a stream beneath that is no status is for classify to know, and the
// streams it leaves open are ended.
func TestErrorsOfStreamsBeneath(t *testing.T) {
	i := newInterceptor(t, quick(t), grpcretry.WithAnyMethod())
	first := failing(io.ErrUnexpectedEOF)
	s, attempts := open(t, i, bidi, []*fakeStream{first, {}})
	assert.Equal(t, io.EOF, s.RecvMsg(nil))
	assert.Equal(t, 2, *attempts)
	assert.Error(t, first.ctx.Err())
	s, attempts = open(t, i, bidi, []*fakeStream{failing(errors.New("odd"))})
	assert.EqualError(t, s.RecvMsg(nil), "odd")
	assert.Equal(t, 1, *attempts)
}

// Whoever leaves a stream without asking what became of it is told by OnFinish, as
// with grpc; what it holds may use the stream.
func TestOnFinishOfStreams(t *testing.T) {
	s := &service{}
	s.duplex = func(n int, stream duplexStream) error {
		if n == 1 {
			<-stream.Context().Done()
		}
		return unavailable
	}
	inBubble(t, s, func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		var ends []codes.Code
		var stream grpc.BidiStreamingClient[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]
		onFinish := grpc.OnFinish(func(err error) {
			ends = append(ends, status.Code(err))
			_ = stream.Trailer()
			_, _ = stream.Header()
			_ = stream.Context()
			_ = stream.CloseSend()
		})
		ctx, cancel := context.WithCancel(t.Context())
		var err error
		stream, err = client.FullDuplexCall(ctx, onFinish)
		require.NoError(t, err)
		cancel()
		synctest.Wait()
		assert.Equal(t, []codes.Code{codes.Canceled}, ends)
		_, err = stream.Recv()
		assert.Equal(t, codes.Canceled, status.Code(err))
		assert.Len(t, ends, 1)

		ends = nil
		stream, err = client.FullDuplexCall(t.Context(), onFinish)
		require.NoError(t, err)
		_, err = stream.Recv()
		require.ErrorIs(t, err, engine.ErrMaxAttempts)
		assert.Equal(t, []codes.Code{codes.Unavailable}, ends)
	})
}

// A message that was on its way when its attempt failed goes with the attempt that
// takes its place, once.
func TestSendingMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newInterceptor(t, newEngine(t), grpcretry.WithAnyMethod())
		sending := make(chan struct{})
		first := &fakeStream{recv: func(any) error { <-sending; return unavailable }}
		first.send = func(any) error {
			close(sending)
			<-first.ctx.Done()
			return io.EOF
		}
		second := &fakeStream{}
		s, attempts := open(t, i, bidi, []*fakeStream{first, second})
		received := make(chan error)
		go func() { received <- s.RecvMsg(request("")) }()
		assert.NoError(t, s.SendMsg(request("a")))
		assert.Equal(t, io.EOF, <-received)
		assert.Len(t, second.sent, 1)
		assert.Equal(t, 2, *attempts)
	})
}

// One at a time receives: the caller waits for a probe, and takes what it brings.
func TestReceivingMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newInterceptor(t, newEngine(t), grpcretry.WithAnyMethod())
		release, under := make(chan struct{}), 0
		f := &fakeStream{send: func(any) error { return io.EOF }, recv: func(any) error {
			under++
			assert.Equal(t, 1, under)
			<-release
			under--
			return nil
		}}
		s, _ := open(t, i, bidi, []*fakeStream{f})
		done := make(chan struct{})
		go func() {
			defer close(done)
			assert.Equal(t, io.EOF, s.SendMsg(request("")))
		}()
		synctest.Wait() // the probe has begun
		received := make(chan error)
		go func() { received <- s.RecvMsg(request("")) }()
		synctest.Wait()
		close(release)
		<-done
		require.NoError(t, <-received)
	})
}

// What SendMsg has ended, RecvMsg does not begin anew.
func TestFailureWhileReceiving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newInterceptor(t, newEngine(t), grpcretry.WithAnyMethod())
		odd := status.Error(codes.Internal, "cannot be encoded")
		f := &fakeStream{send: func(any) error { return odd }}
		f.recv = func(any) error { <-f.ctx.Done(); return unavailable }
		s, attempts := open(t, i, bidi, []*fakeStream{f})
		received := make(chan error)
		go func() { received <- s.RecvMsg(request("")) }()
		synctest.Wait()
		assert.Equal(t, odd, s.SendMsg(request("")))
		assert.Equal(t, unavailable, <-received)
		assert.Equal(t, 1, *attempts)
	})
}

// Of a method that may not be sent twice nothing is kept and nothing is probed.
func TestNothingIsKeptOfOnce(t *testing.T) {
	i := newInterceptor(t, quick(t))
	probed := 0
	f := &fakeStream{send: func(any) error { return io.EOF }, recv: func(any) error { probed++; return unavailable }}
	s, attempts := open(t, i, bidi, []*fakeStream{f})
	assert.Equal(t, io.EOF, s.SendMsg(request("")))
	md, err := s.Header()
	require.NoError(t, err)
	assert.Nil(t, md)
	assert.Zero(t, probed)
	require.ErrorIs(t, s.RecvMsg(nil), engine.ErrNotReplayable)
	assert.Equal(t, 1, *attempts)
}

// Whoever is beneath may add to the options, several times over.
func TestOptionsAreNotShared(t *testing.T) {
	i := newInterceptor(t, quick(t), grpcretry.WithAnyMethod())
	require.NoError(t, i.Unary(t.Context(), "/a/b", nil, nil, nil, func(_ context.Context, _ string, _, _ any, _ *grpc.ClientConn, opts ...grpc.CallOption) error {
		one := append(opts, grpc.WaitForReady(true))
		two := append(opts, grpc.WaitForReady(false))
		assert.NotEqual(t, one[len(one)-1], two[len(two)-1])
		return nil
	}))
}

// A message that comes as the attempt's time-out passes is lost with the attempt,
// whose context has ended.
func TestMessageAtTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newInterceptor(t, newEngine(t), grpcretry.WithAnyMethod(), grpcretry.WithAttemptTimeout(time.Second))
		late := &fakeStream{}
		late.recv = func(any) error { <-late.ctx.Done(); return nil }
		second := &fakeStream{recv: func(any) error { return nil }}
		s, attempts := open(t, i, serverOnly, []*fakeStream{late, second})
		require.NoError(t, s.RecvMsg(request("")))
		assert.Equal(t, 2, *attempts)
		assert.NoError(t, second.ctx.Err())
		<-time.After(time.Minute)
		assert.NoError(t, second.ctx.Err(), "the time-out is over with the first message")
		late.recv = nil
		second.recv = nil
		assert.Equal(t, io.EOF, s.RecvMsg(request("")))
		assert.Error(t, second.ctx.Err())
	})
}

// Each attempt's context ends with the attempt, and the last one's with the call:
// with its reply where there is but one, with its end otherwise.
func TestContextsEnd(t *testing.T) {
	i := newInterceptor(t, quick(t), grpcretry.WithAnyMethod())
	message := func(any) error { return nil }
	for name, desc := range map[string]*grpc.StreamDesc{"client stream": {ClientStreams: true}, "server stream": serverOnly, "bidi": bidi} {
		t.Run(name, func(t *testing.T) {
			first, second := failing(unavailable), &fakeStream{recv: message}
			s, attempts := open(t, i, desc, []*fakeStream{first, second})
			assert.NoError(t, first.ctx.Err())
			require.NoError(t, s.RecvMsg(request("")))
			assert.Equal(t, 2, *attempts)
			assert.Error(t, first.ctx.Err())
			if desc.ServerStreams {
				assert.NoError(t, second.ctx.Err())
				assert.Nil(t, s.Trailer())
				second.recv = nil
				assert.Equal(t, io.EOF, s.RecvMsg(request("")))
			}
			assert.Error(t, second.ctx.Err())
			assert.NotNil(t, s.Trailer())

			refused := &fakeStream{recv: message, send: func(any) error { return status.Error(codes.Internal, "") }}
			s, _ = open(t, i, desc, []*fakeStream{refused})
			require.NoError(t, s.RecvMsg(request("")))
			require.Error(t, s.SendMsg(request("")))
			assert.Error(t, refused.ctx.Err())
		})
	}
	var contexts []context.Context
	bounded := newInterceptor(t, quick(t), grpcretry.WithAnyMethod(), grpcretry.WithAttemptTimeout(time.Hour))
	err := bounded.Unary(t.Context(), "/a/b", nil, nil, nil, func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
		contexts = append(contexts, ctx)
		assert.NoError(t, ctx.Err())
		return unavailable
	})
	require.ErrorIs(t, err, engine.ErrMaxAttempts)
	require.Len(t, contexts, 3)
	for _, ctx := range contexts {
		assert.Error(t, ctx.Err())
	}
}

// While the caller receives, a SendMsg that finds the attempt at its end waits for
// what that brings, and receives nothing itself.
func TestSendingWaitsForTheReceiver(t *testing.T) {
	for name, row := range map[string]struct {
		brings error
		send   error
	}{"a message": {nil, io.EOF}, "a failure": {unavailable, nil}, "a final one": {status.Error(codes.NotFound, ""), io.EOF}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				i := newInterceptor(t, newEngine(t), grpcretry.WithAnyMethod())
				release, under := make(chan struct{}), 0
				first := &fakeStream{send: func(any) error { return io.EOF }}
				first.recv = func(any) error {
					under++
					assert.Equal(t, 1, under)
					<-release
					under--
					return row.brings
				}
				second := &fakeStream{}
				s, _ := open(t, i, bidi, []*fakeStream{first, second})
				received := make(chan error)
				go func() { received <- s.RecvMsg(request("")) }()
				synctest.Wait()
				sent := make(chan error)
				go func() { sent <- s.SendMsg(request("")) }()
				synctest.Wait()
				close(release)
				err := <-received
				assert.Equal(t, row.send, <-sent)
				if row.send == nil {
					assert.Equal(t, io.EOF, err, "of the second")
					assert.Len(t, second.sent, 1)
				} else {
					assert.ErrorIs(t, err, row.brings)
					assert.Empty(t, second.sent)
				}
			})
		})
	}
}

// What the server says as the time-out passes counts more than that.
func TestAnswerAtTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newInterceptor(t, newEngine(t, engine.WithMaxAttempts(1)), grpcretry.WithAnyMethod(), grpcretry.WithAttemptTimeout(time.Second))
		for _, answer := range []error{unavailable, status.Error(codes.Canceled, "by its context")} {
			late := &fakeStream{}
			late.recv = func(any) error { <-late.ctx.Done(); return answer }
			s, _ := open(t, i, serverOnly, []*fakeStream{late})
			err := s.RecvMsg(request(""))
			require.ErrorIs(t, err, engine.ErrMaxAttempts)
			if answer == unavailable {
				assert.ErrorIs(t, err, unavailable)
			} else {
				assert.Equal(t, codes.DeadlineExceeded, status.Code(err))
			}
		}
	})
}
