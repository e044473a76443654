package grpcretry_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/reprise-go/reprise/adapters/grpcretry"
	"github.com/reprise-go/reprise/engine"
)

type (
	outputStream = grpc.ServerStreamingServer[testpb.StreamingOutputCallResponse]
	inputStream  = grpc.ClientStreamingServer[testpb.StreamingInputCallRequest, testpb.StreamingInputCallResponse]
	duplexStream = grpc.BidiStreamingServer[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]
)

var unavailable = status.Error(codes.Unavailable, "not now")

// inBubble runs a test against s in virtual time.
func inBubble(t *testing.T, s *service, test func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient), opts ...grpcretry.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t)
		test(t, e, newClient(t, s, e, append([]grpcretry.Option{grpcretry.WithAnyMethod()}, opts...)...))
	})
}

// R4: a stream that ends before its first message is opened anew and gets what
// was sent, the half-close with it.
func TestStreamIsReplayed(t *testing.T) {
	s := &service{input: func(n int, stream inputStream) error {
		sum := receiveAll(stream)
		if n < 3 {
			return unavailable
		}
		return stream.SendAndClose(&testpb.StreamingInputCallResponse{AggregatedPayloadSize: int32(sum)})
	}}
	inBubble(t, s, func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		stream, err := client.StreamingInputCall(t.Context())
		require.NoError(t, err)
		m := input("1")
		require.NoError(t, stream.Send(m))
		m.Payload.Body = append(m.Payload.Body, "23"...) // grpc says not to, and lets one
		require.NoError(t, stream.Send(m))
		resp, err := stream.CloseAndRecv()
		require.NoError(t, err)
		assert.EqualValues(t, 4, resp.GetAggregatedPayloadSize())
		came := s.calls()
		require.Len(t, came, 3)
		assert.Equal(t, 50*ms-near, came[1].at.Sub(came[0].at))
		assert.Equal(t, []string{"2"}, came[2].previous)
		assert.Equal(t, 500-14, level(e))
	})
}

// A stream that has brought a message is not opened again, and what ends it comes
// as it is.
func TestStreamAfterItsFirstMessage(t *testing.T) {
	s := &service{output: func(n int, _ *testpb.StreamingOutputCallRequest, stream outputStream) error {
		if n == 1 {
			return unavailable
		}
		_ = stream.Send(output("hello"))
		return unavailable
	}}
	inBubble(t, s, func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		stream, err := client.StreamingOutputCall(t.Context(), request(""))
		require.NoError(t, err)
		_, err = stream.Recv()
		require.NoError(t, err)
		assert.Equal(t, 500, level(e), "it has succeeded")
		for range 2 {
			_, err = stream.Recv()
			assert.ErrorIs(t, err, unavailable)
			var ours *engine.Error
			assert.NotErrorAs(t, err, &ours)
		}
		assert.Equal(t, 2, s.count())
	})
}

// Headers without a message do not end the retries; to have got them does.
func TestHeaders(t *testing.T) {
	s := &service{output: func(n int, _ *testpb.StreamingOutputCallRequest, stream outputStream) error {
		md := metadata.Pairs("attempt", string('0'+rune(n)))
		stream.SetTrailer(md)
		switch n {
		case 1:
			return unavailable // trailers only
		case 2:
			_ = stream.SendHeader(md)
			return unavailable
		}
		return stream.Send(output("hello"))
	}}
	inBubble(t, s, func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		stream, err := client.StreamingOutputCall(t.Context(), request(""))
		require.NoError(t, err)
		_, err = stream.Recv()
		require.NoError(t, err)
		assert.Equal(t, 3, s.count())
		_, err = stream.Recv()
		assert.Equal(t, io.EOF, err)
		assert.Equal(t, []string{"3"}, stream.Trailer().Get("attempt"))
	})
	s.came = nil
	inBubble(t, s, func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		stream, err := client.StreamingOutputCall(t.Context(), request(""))
		require.NoError(t, err)
		assert.Nil(t, stream.Trailer())
		md, err := stream.Header()
		require.NoError(t, err)
		assert.Equal(t, []string{"2"}, md.Get("attempt"), "the first attempt had none")
		_, err = stream.Recv()
		require.ErrorIs(t, err, engine.ErrNotReplayable)
		assert.ErrorContains(t, err, "the caller has got the headers")
		assert.Equal(t, codes.Unavailable, status.Code(err))
		assert.Equal(t, 2, s.count())
		assert.Equal(t, []string{"2"}, stream.Trailer().Get("attempt"))
		assert.Equal(t, 500-14, level(e))
		again, err := stream.Header()
		require.NoError(t, err)
		assert.Equal(t, md, again)
	})
}

// The context of an attempt is not one of the next.
func TestContextEndsRetries(t *testing.T) {
	s := &service{duplex: func(int, duplexStream) error { return unavailable }}
	inBubble(t, s, func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		stream, err := client.FullDuplexCall(t.Context())
		require.NoError(t, err)
		assert.NotNil(t, stream.Context())
		_, err = stream.Recv()
		require.ErrorIs(t, err, engine.ErrNotReplayable)
		assert.Equal(t, 1, s.count())
	})
}

// A caller who only sends for now finds out about a failed attempt in SendMsg,
// which puts another in its place.
func TestSendingFindsTheFailure(t *testing.T) {
	s := &service{}
	s.duplex = func(n int, stream duplexStream) error {
		if n == 1 {
			_, _ = stream.Recv()
			return unavailable
		}
		return echo(stream)
	}
	s.input = func(n int, stream inputStream) error {
		if n == 1 {
			return unavailable
		}
		return stream.SendAndClose(&testpb.StreamingInputCallResponse{AggregatedPayloadSize: int32(receiveAll(stream))})
	}
	inBubble(t, s, func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		stream, err := client.FullDuplexCall(t.Context())
		require.NoError(t, err)
		for _, text := range []string{"a", "b", "c"} {
			require.NoError(t, stream.Send(request(text)))
			synctest.Wait()
		}
		assert.Equal(t, 2, s.count(), "before anybody has received")
		require.NoError(t, stream.CloseSend())
		text, err := all(stream.Recv)
		require.NoError(t, err)
		assert.Equal(t, "abc", text)
	})
	s.came = nil
	inBubble(t, s, func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		stream, err := client.StreamingInputCall(t.Context())
		require.NoError(t, err)
		for range 3 {
			synctest.Wait()
			require.NoError(t, stream.Send(input("x")))
		}
		resp, err := stream.CloseAndRecv()
		require.NoError(t, err)
		assert.EqualValues(t, 3, resp.GetAggregatedPayloadSize())
		assert.Equal(t, 2, s.count())
	})
}

// A server may answer before it has got all. Then there is nothing to retry:
// SendMsg says io.EOF, as grpc's does, and what was received meanwhile is there.
func TestAnswerBeforeTheEnd(t *testing.T) {
	s := &service{}
	s.duplex = func(n int, stream duplexStream) error { return stream.Send(output("enough")) }
	s.input = func(n int, stream inputStream) error {
		return stream.SendAndClose(&testpb.StreamingInputCallResponse{AggregatedPayloadSize: 7})
	}
	inBubble(t, s, func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		stream, err := client.FullDuplexCall(t.Context())
		require.NoError(t, err)
		synctest.Wait()
		assert.Equal(t, io.EOF, stream.Send(request("a")))
		assert.Equal(t, io.EOF, stream.Send(request("b")))
		text, err := all(stream.Recv)
		require.NoError(t, err)
		assert.Equal(t, "enough", text)

		upload, err := client.StreamingInputCall(t.Context())
		require.NoError(t, err)
		synctest.Wait()
		assert.Equal(t, io.EOF, upload.Send(input("a")))
		resp, err := upload.CloseAndRecv()
		require.NoError(t, err)
		assert.EqualValues(t, 7, resp.GetAggregatedPayloadSize())
		assert.Equal(t, 2, s.count())
		assert.Equal(t, 500, level(e))
	})
	s.duplex = func(int, duplexStream) error { return nil }
	inBubble(t, s, func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		stream, err := client.FullDuplexCall(t.Context())
		require.NoError(t, err)
		synctest.Wait()
		assert.Equal(t, io.EOF, stream.Send(request("a")))
		_, err = stream.Recv()
		assert.Equal(t, io.EOF, err)
		_, err = stream.Recv()
		assert.Equal(t, io.EOF, err)
	})
}

// Peer fault 122: what is longer than the buffer is sent, but once, and the reason
// says so; a byte less is sent again.
func TestBufferLimit(t *testing.T) {
	failing := func(n int, stream inputStream) error {
		sum := receiveAll(stream)
		if n == 1 {
			return unavailable
		}
		return stream.SendAndClose(&testpb.StreamingInputCallResponse{AggregatedPayloadSize: int32(sum)})
	}
	// What a message counts, and the tags and lengths around its bytes.
	const small, large = 64 + 2*3, 64 + 2*4
	for name, row := range map[string]struct {
		bytes, limit int
		again        bool
	}{
		"64 KiB":         {64<<10 - large, 0, true},
		"64 KiB and 1":   {64<<10 - large + 1, 0, false},
		"an own limit":   {1000 - small, 1000, true},
		"and one more":   {1000 - small + 1, 1000, false},
		"nothing's kept": {0, -1, false},
	} {
		t.Run(name, func(t *testing.T) {
			var opts []grpcretry.Option
			if row.limit != 0 {
				opts = append(opts, grpcretry.WithBufferLimit(max(row.limit, 0)))
			}
			s := &service{input: failing}
			inBubble(t, s, func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
				stream, err := client.StreamingInputCall(t.Context())
				require.NoError(t, err)
				require.NoError(t, stream.Send(&testpb.StreamingInputCallRequest{Payload: &testpb.Payload{Body: make([]byte, row.bytes)}}))
				resp, err := stream.CloseAndRecv()
				if row.again {
					require.NoError(t, err)
					assert.EqualValues(t, row.bytes, resp.GetAggregatedPayloadSize())
					return
				}
				require.ErrorIs(t, err, engine.ErrNotReplayable)
				assert.ErrorContains(t, err, "WithBufferLimit")
				assert.Equal(t, codes.Unavailable, status.Code(err))
				assert.Equal(t, 500, level(e))
				assert.Equal(t, 1, s.count())
			}, opts...)
		})
	}
	// Empty messages have an end too.
	s := &service{input: failing}
	inBubble(t, s, func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		for messages, attempts := range map[int]int{16: 2, 17: 1} {
			s.came = nil
			stream, err := client.StreamingInputCall(t.Context())
			require.NoError(t, err)
			for range messages {
				require.NoError(t, stream.Send(&testpb.StreamingInputCallRequest{}))
			}
			_, err = stream.CloseAndRecv()
			assert.Equal(t, attempts == 1, errors.Is(err, engine.ErrNotReplayable))
			assert.Equal(t, attempts, s.count())
		}
	}, grpcretry.WithBufferLimit(16*64))
}

// R3.6, peer fault 95: of a stream on which the server alone sends more than once
// the time-out bounds the time to its first message, and nothing after it.
func TestStreamTimeout(t *testing.T) {
	s := &service{output: func(n int, _ *testpb.StreamingOutputCallRequest, stream outputStream) error {
		if n == 1 {
			<-stream.Context().Done()
			return nil
		}
		_ = stream.Send(output("hel"))
		<-stream.Context().Done()
		return nil
	}}
	inBubble(t, s, func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := client.StreamingOutputCall(ctx, request(""))
		require.NoError(t, err)
		_, err = stream.Recv()
		require.NoError(t, err)
		came := s.calls()
		require.Len(t, came, 2)
		assert.Equal(t, 300*ms-near, came[1].at.Sub(came[0].at))
		context.AfterFunc(stream.Context(), func() { t.Log("ended") })
		assert.NoError(t, stream.Context().Err())
		cancel()
		_, err = stream.Recv()
		assert.Equal(t, codes.Canceled, status.Code(err))
	}, grpcretry.WithAttemptTimeout(250*ms))

	always := &service{output: func(_ int, _ *testpb.StreamingOutputCallRequest, stream outputStream) error {
		<-stream.Context().Done()
		return nil
	}}
	inBubble(t, always, func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		stream, err := client.StreamingOutputCall(t.Context(), request(""))
		require.NoError(t, err)
		_, err = stream.Recv()
		require.ErrorIs(t, err, engine.ErrMaxAttempts)
		assert.Equal(t, codes.DeadlineExceeded, status.Code(err))
		assert.ErrorContains(t, err, "no message within 2s (WithAttemptTimeout)")
	}, grpcretry.WithAttemptTimeout(250*ms, 1000*ms, 2000*ms))
}
