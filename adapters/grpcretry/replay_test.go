package grpcretry_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/reprise-go/reprise/adapters/grpcretry"
	"github.com/reprise-go/reprise/engine"
)

// A replay that the server does not read blocks like any sending, and ends with
// the caller's context; so do those who wait for it.
func TestReplayThatNobodyReads(t *testing.T) {
	s := &service{duplex: func(n int, stream duplexStream) error {
		if n == 1 {
			for range 4 {
				_, _ = stream.Recv()
			}
			return unavailable
		}
		<-stream.Context().Done()
		return nil
	}}
	inBubble(t, s, func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		stream, err := client.FullDuplexCall(ctx)
		require.NoError(t, err)
		for range 4 {
			require.NoError(t, stream.Send(request(string(make([]byte, 50<<10)))))
		}
		var others sync.WaitGroup
		others.Go(func() { _, _ = stream.Header() })
		others.Go(func() { _ = stream.CloseSend() })
		start := time.Now()
		_, err = stream.Recv()
		assert.Equal(t, codes.DeadlineExceeded, status.Code(err), "%v", err)
		assert.LessOrEqual(t, time.Since(start), time.Minute)
		others.Wait()
		assert.Equal(t, 2, s.count())
	}, grpcretry.WithBufferLimit(1<<20))
}

// A server that answers while it reads stops reading when nobody takes its answers,
// so what was sent goes again beside whoever receives, also where that one asks for
// the headers first.
func TestReplayToWhoAnswersAtOnce(t *testing.T) {
	const n = 60
	s := &service{duplex: func(attempt int, stream duplexStream) error {
		if attempt > 1 {
			return echo(stream)
		}
		for range n {
			_, _ = stream.Recv()
		}
		return unavailable
	}}
	for name, header := range map[string]bool{"Recv": false, "Header, Recv": true} {
		t.Run(name, func(t *testing.T) {
			s.came = nil
			inBubble(t, s, func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				stream, err := client.FullDuplexCall(ctx)
				require.NoError(t, err)
				for i := range n {
					require.NoError(t, stream.Send(request(fmt.Sprintf("%0*d", 50<<10, i))))
				}
				if header {
					_, err = stream.Header()
					require.NoError(t, err)
				}
				require.NoError(t, stream.CloseSend())
				for i := range n {
					resp, err := stream.Recv()
					require.NoError(t, err, "message %d", i)
					require.Equal(t, fmt.Sprintf("%0*d", 50<<10, i), string(resp.GetPayload().GetBody()))
				}
				_, err = stream.Recv()
				require.Equal(t, io.EOF, err)
				assert.Equal(t, 2, s.count())
				assert.Equal(t, 500, level(e))
			}, grpcretry.WithBufferLimit(8<<20))
		})
	}
}

// A panic while messages go again is one of who receives, and of nobody else.
func TestReplayThatPanics(t *testing.T) {
	for name, desc := range map[string]*grpc.StreamDesc{"bidi": bidi, "client stream": {ClientStreams: true}, "server stream": serverOnly} {
		t.Run(name, func(t *testing.T) {
			second := &fakeStream{send: func(any) error { panic("odd codec") }}
			second.recv = func(any) error { <-second.ctx.Done(); return status.FromContextError(second.ctx.Err()).Err() }
			s, attempts := open(t, newInterceptor(t, quick(t), grpcretry.WithAnyMethod()), desc,
				[]*fakeStream{{recv: func(any) error { return unavailable }}, second})
			require.NoError(t, s.SendMsg(request("")))
			assert.PanicsWithValue(t, "odd codec", func() { _ = s.RecvMsg(request("")) })
			assert.Equal(t, 2, *attempts)
		})
	}
}

// Large messages go again whole, whatever the flow control makes of them.
func TestLargeReplay(t *testing.T) {
	s := &service{input: func(n int, stream inputStream) error {
		if n < 3 {
			_, _ = stream.Recv()
			return unavailable
		}
		return stream.SendAndClose(&testpb.StreamingInputCallResponse{AggregatedPayloadSize: int32(receiveAll(stream))})
	}}
	inBubble(t, s, func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		stream, err := client.StreamingInputCall(t.Context())
		require.NoError(t, err)
		for range 8 {
			require.NoError(t, stream.Send(input(string(make([]byte, 100<<10)))))
		}
		resp, err := stream.CloseAndRecv()
		require.NoError(t, err)
		assert.EqualValues(t, 800<<10, resp.GetAggregatedPayloadSize())
	}, grpcretry.WithBufferLimit(1<<20))
}

// Connections that break under calls of all kinds, over TCP: who succeeds has a
// whole answer, and what may not be sent twice arrives once at the most.
func TestConnectionsThatBreak(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	conns := &keptConns{Listener: ln}
	var mu sync.Mutex
	arrived, succeeded, failed := make(map[string]int), 0, 0
	s := &service{unary: func(n int, _ context.Context, req *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		mu.Lock()
		arrived[string(req.GetPayload().GetBody())]++
		mu.Unlock()
		return &testpb.SimpleResponse{Username: "hello"}, nil
	}}
	serveOn(t, conns, s)
	e := newEngine(t, engine.WithQuota(engine.Quota{Capacity: 1 << 20}))
	conn := dialTo(t, "passthrough:///"+ln.Addr().String(), newInterceptor(t, e, grpcretry.WithIdempotent(
		testpb.TestService_StreamingOutputCall_FullMethodName, testpb.TestService_StreamingInputCall_FullMethodName, testpb.TestService_FullDuplexCall_FullMethodName)))
	client := testpb.NewTestServiceClient(conn)
	once := func(id string) {
		_, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{Payload: payload(id)})
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			succeeded++
			assert.Equal(t, 1, arrived[id])
		} else {
			failed++
			assert.Equal(t, codes.Unavailable, status.Code(err))
			assert.ErrorIs(t, err, engine.ErrNotReplayable)
		}
	}
	over := make(chan struct{})
	var callers sync.WaitGroup
	for n, call := range []func(context.Context, testpb.TestServiceClient) (string, error){nil, nil, callOutput, callInput, callDuplex} {
		callers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-over:
					return
				default:
				}
				if call == nil {
					once(fmt.Sprint(n, " ", i))
				} else if text, err := call(t.Context(), client); err == nil {
					assert.Equal(t, "hello", text)
				}
			}
		})
	}
	breaks := 30
	if testing.Short() {
		breaks = 8
	}
	for i := range breaks {
		for range 5 {
			_, _ = callOutput(t.Context(), client)
		}
		conns.hangUp(i%2 == 0)
	}
	close(over)
	callers.Wait()
	t.Logf("%d succeeded, %d failed", succeeded, failed)
	assert.Positive(t, succeeded)
	for id, n := range arrived {
		assert.Equal(t, 1, n, id)
	}
}

// In a bubble of testing/synctest time passes while one waits for a retry and
// others for the stream.
func TestTimePassesForAllOfAStream(t *testing.T) {
	s := &service{duplex: func(n int, stream duplexStream) error {
		if n == 1 {
			return status.Error(codes.ResourceExhausted, "")
		}
		return echo(stream)
	}}
	inBubble(t, s, func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		stream, err := client.FullDuplexCall(t.Context())
		require.NoError(t, err)
		var others sync.WaitGroup
		others.Go(func() {
			time.AfterFunc(10*ms, func() { _ = stream.Trailer() })
			for _, text := range []string{"a", "b"} {
				assert.NoError(t, stream.Send(request(text)))
				synctest.Wait()
			}
			assert.NoError(t, stream.CloseSend())
		})
		others.Go(func() { _, _ = stream.Header() })
		text, err := all(stream.Recv)
		require.NoError(t, err)
		assert.Equal(t, "ab", text)
		others.Wait()
	})
}
