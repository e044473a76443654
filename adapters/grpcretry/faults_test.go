package grpcretry_test

import (
	"context"
	"io"
	"runtime"
	"sync"
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
	"google.golang.org/grpc/test/bufconn"

	"github.com/reprise-go/reprise/adapters/grpcretry"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// Peer faults 7, 17, 88, 91, 92, 94, 100 are in error_test.go; 4, 62, 67, 77, 89, 95,
// 107, 110, 112, 113, 115, 130 are rows of doorfaults_test.go; 73 and 74 in wire_test.go;
// 122 in stream_test.go; 76 in option_test.go.

// Peer fault 61: a throttle reaches the limiter of adaptive mode, through a stream
// as through a unary call, also if the server forbids a retry; each attempt is
// admitted before it is sent.
func TestThrottlesReachTheLimiter(t *testing.T) {
	for name, call := range map[string]func(context.Context, testpb.TestServiceClient) (string, error){
		"unary": callUnary, "server stream": callOutput, "client stream": callInput, "bidi": callDuplex,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEngine(t, engine.WithMode(engine.Adaptive))
				f := fault{script: []script{{code: codes.ResourceExhausted, pushback: []string{"-1"}}, {}}}
				client := f.client(t, e)
				_, err := call(t.Context(), client)
				require.ErrorIs(t, err, engine.ErrNotReplayable)
				assert.True(t, e.Stats().Limiter.Enabled)
				start := time.Now()
				text, err := call(t.Context(), client)
				require.NoError(t, err)
				assert.Equal(t, "hello", text)
				assert.GreaterOrEqual(t, time.Since(start), time.Second, "at 0.5 a second (R8)")
			})
		})
	}
}

// Peer fault 64: what this client refuses itself, the limiter does not hear of.
func TestLocalFailuresAreNoResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, engine.WithMode(engine.Adaptive))
		client := newClient(t, &service{}, e, grpcretry.WithAnyMethod())
		stream, err := client.StreamingInputCall(t.Context(), grpc.MaxCallSendMsgSize(10))
		require.NoError(t, err)
		before := e.Stats().Limiter
		require.Error(t, stream.Send(input("more than ten bytes")))
		assert.Equal(t, before, e.Stats().Limiter)
	})
}

// Peer fault 97: the call's deadline bounds it, whatever the attempts.
func TestTotalTime(t *testing.T) {
	for name, call := range map[string]func(context.Context, testpb.TestServiceClient) (string, error){"unary": callUnary, "bidi": callDuplex} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEngine(t, engine.WithMaxAttempts(1<<20), engine.WithMode(engine.Legacy), engine.WithSchedule(fastbackoff.Schedule{Max: time.Second}))
				f := fault{script: []script{{code: codes.Unavailable}}}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				start := time.Now()
				_, err := call(ctx, f.client(t, e))
				require.ErrorIs(t, err, engine.ErrDeadline)
				assert.LessOrEqual(t, time.Since(start), 5*time.Second)
				assert.Greater(t, time.Since(start), 3*time.Second)
			})
		})
	}
}

// Peer fault 103: nothing is kept of failed attempts.
func TestMemoryStaysFlat(t *testing.T) {
	attempts := 200_000
	if testing.Short() {
		attempts = 20_000
	}
	e := quick(t, engine.WithMaxAttempts(attempts), engine.WithMode(engine.Legacy))
	i := newInterceptor(t, e, grpcretry.WithAnyMethod())
	var at100, atEnd runtime.MemStats
	n := 0
	err := i.Unary(t.Context(), "/a/b", nil, nil, nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
		switch n++; n {
		case 100:
			runtime.GC()
			runtime.ReadMemStats(&at100)
		case attempts:
			runtime.GC()
			runtime.ReadMemStats(&atEnd)
		}
		return unavailable
	})
	require.ErrorIs(t, err, engine.ErrMaxAttempts)
	assert.Equal(t, attempts, n)
	assert.Less(t, int64(atEnd.HeapAlloc)-int64(at100.HeapAlloc), int64(1<<20))
}

// Peer fault 109: the server's delay is a floor; jitter only adds.
func TestHintIsAFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, engine.WithSource(new(fastbackoff.Shards)), engine.WithQuota(engine.Quota{Capacity: 1 << 20}))
		s := &service{}
		s.unary = func(n int, ctx context.Context, _ *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
			if n%2 == 1 {
				_ = grpc.SetTrailer(ctx, metadata.Pairs(pushback, "700"))
				return nil, status.Error(codes.ResourceExhausted, "")
			}
			return &testpb.SimpleResponse{}, nil
		}
		client := newClient(t, s, e, grpcretry.WithAnyMethod())
		for range 200 {
			start := time.Now()
			_, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{})
			require.NoError(t, err)
			require.GreaterOrEqual(t, time.Since(start), 700*ms)
			require.LessOrEqual(t, time.Since(start), time.Second)
		}
	})
}

// Peer fault 116: a failed attempt holds nothing: with one stream at a time on the
// connection the next one gets it.
func TestAttemptsAreLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := bufconn.Listen(1 << 20)
		s := &service{}
		s.duplex = func(n int, stream duplexStream) error {
			_ = stream.SendHeader(metadata.Pairs("key", "value"))
			if n < 3 {
				return unavailable
			}
			return echo(stream)
		}
		s.unary = func(n int, _ context.Context, _ *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
			if n < 6 {
				return nil, unavailable
			}
			return &testpb.SimpleResponse{Username: "hello"}, nil
		}
		server := grpc.NewServer(grpc.MaxConcurrentStreams(1))
		testpb.RegisterTestServiceServer(server, s)
		go func() { _ = server.Serve(ln) }()
		defer server.Stop()
		client := testpb.NewTestServiceClient(dial(t, ln, newInterceptor(t, newEngine(t), grpcretry.WithAnyMethod())))
		text, err := callDuplex(t.Context(), client)
		require.NoError(t, err)
		assert.Equal(t, "hello", text)
		text, err = callUnary(t.Context(), client)
		require.NoError(t, err)
		assert.Equal(t, "hello", text)
		assert.Equal(t, 6, s.count())
	})
}

// Peer fault 118: a retryPolicy of the service config does not multiply, because
// DialOptions turns it off.
func TestServiceConfigDoesNotMultiply(t *testing.T) {
	const config = `{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 5, "initialBackoff": "0.01s",
		"maxBackoff": "0.1s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`
	synctest.Test(t, func(t *testing.T) {
		s := unaryOf(unavailable)
		conn := dial(t, serve(t, s), newInterceptor(t, newEngine(t), grpcretry.WithAnyMethod()), grpc.WithDefaultServiceConfig(config))
		_, err := testpb.NewTestServiceClient(conn).UnaryCall(t.Context(), &testpb.SimpleRequest{})
		require.ErrorIs(t, err, engine.ErrMaxAttempts)
		assert.Equal(t, 3, s.count())
	})
}

// Peer faults 121 and 128: one attempt for a success, however slow; and as many
// are told of as were sent.
func TestAttemptsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ev events
		e := newEngine(t, ev.observer())
		s := &service{}
		s.unary = func(n int, ctx context.Context, _ *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
			if n == 1 {
				slow := make(chan struct{})
				time.AfterFunc(time.Minute, func() { close(slow) })
				<-slow
			} else if n < 4 {
				return nil, unavailable
			}
			return &testpb.SimpleResponse{}, nil
		}
		client := newClient(t, s, e, grpcretry.WithAnyMethod())
		for range 2 {
			_, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{})
			require.NoError(t, err)
		}
		require.Len(t, ev.success, 2)
		assert.Equal(t, 1, ev.success[0].Attempts)
		assert.Equal(t, 3, ev.success[1].Attempts)
		assert.Len(t, ev.retries, 2)
		assert.Equal(t, 4, s.count())
	})
}

// Peer fault 127: hooks that panic hurt no call.
func TestPanickingHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, engine.WithObserver(engine.Observer{
			Retry:   func(engine.RetryEvent) { panic("retry") },
			Success: func(engine.SuccessEvent) { panic("success") },
			Stop:    func(engine.StopEvent) { panic("stop") },
		}))
		f := fault{script: []script{{code: codes.Unavailable}, {}, {code: codes.NotFound}}}
		client := f.client(t, e)
		text, err := callDuplex(t.Context(), client)
		require.NoError(t, err)
		assert.Equal(t, "hello", text)
		_, err = callUnary(t.Context(), client)
		assert.Equal(t, codes.NotFound, status.Code(err))
		assert.EqualValues(t, 3, e.Stats().HookPanics)
	})
}

// A panic beneath goes on to the caller and locks nobody out.
func TestPanicBeneath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t)
		f := fault{script: []script{{code: codes.Unavailable}}}
		n := 0
		beneath := func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			if n++; n == 2 {
				panic("beneath")
			}
			return streamer(ctx, desc, cc, method, opts...)
		}
		client := f.client(t, e, grpc.WithChainStreamInterceptor(beneath))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stream, err := client.FullDuplexCall(ctx)
		require.NoError(t, err)
		assert.PanicsWithValue(t, "beneath", func() { _, _ = stream.Recv() })
		_ = stream.CloseSend()
		assert.Equal(t, 500-14, level(e), "it was sent, as far as anybody knows")
	})
}

// client is a client in memory whose server has the fault.
func (f *fault) client(t *testing.T, e *engine.Engine, opts ...grpc.DialOption) testpb.TestServiceClient {
	s := f.service(nil)
	return testpb.NewTestServiceClient(dial(t, serve(t, s), newInterceptor(t, e, grpcretry.WithAnyMethod()), opts...))
}

// Concurrent use as grpc allows it, and more, on streams that fail in all the ways
// there are: what is sent arrives whole and in order, or the stream fails; every
// attempt's context ends; no goroutine stays.
func TestHammer(t *testing.T) {
	streams := 400
	if testing.Short() {
		streams = 100
	}
	ln := bufconn.Listen(1 << 20)
	s := &service{}
	s.duplex = func(n int, stream duplexStream) error {
		switch n % 7 {
		case 0:
			return unavailable
		case 1:
			_ = stream.SendHeader(metadata.Pairs("key", "value"))
			return unavailable
		case 2:
			_, _ = stream.Recv()
			return unavailable
		case 3:
			for range 3 {
				_, _ = stream.Recv()
			}
			return status.Error(codes.ResourceExhausted, "")
		}
		return echo(stream)
	}
	server := grpc.NewServer()
	testpb.RegisterTestServiceServer(server, s)
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(ln) })
	defer running.Wait()
	defer server.Stop()
	var mu sync.Mutex
	var contexts []context.Context
	counting := func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		mu.Lock()
		contexts = append(contexts, ctx)
		mu.Unlock()
		return streamer(ctx, desc, cc, method, opts...)
	}
	e := quick(t, engine.WithQuota(engine.Quota{Capacity: 1 << 20}), engine.WithMaxAttempts(6))
	conn := dial(t, ln, newInterceptor(t, e, grpcretry.WithAnyMethod()), grpc.WithChainStreamInterceptor(counting))
	client := testpb.NewTestServiceClient(conn)
	var work sync.WaitGroup
	var outcomes [2]int
	for n := range streams {
		work.Go(func() {
			ok := hammer(t, client, n)
			mu.Lock()
			outcomes[ok]++
			mu.Unlock()
		})
		if n%8 == 7 {
			work.Wait()
		}
	}
	work.Wait()
	t.Logf("failed, succeeded: %v; %d attempts", outcomes, len(contexts))
	assert.Positive(t, outcomes[1])
	assert.GreaterOrEqual(t, len(contexts), s.count(), "some left before the server heard of them")
	for _, ctx := range contexts {
		assert.Error(t, ctx.Err())
	}
	require.NoError(t, conn.Close())
}

// hammer is one stream; it returns 1 if that succeeded.
func hammer(t *testing.T, client testpb.TestServiceClient, n int) int {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var opts []grpc.CallOption
	if n%3 == 0 {
		opts = append(opts, grpc.OnFinish(func(error) {}))
	}
	stream, err := client.FullDuplexCall(ctx, opts...)
	if err != nil {
		return 0
	}
	const text = "abcdefghijkl"
	var others sync.WaitGroup
	others.Go(func() {
		for i := range text {
			if err := stream.Send(request(text[i : i+1])); err != nil {
				return
			}
		}
		_ = stream.CloseSend()
	})
	others.Go(func() { _ = stream.Trailer() })
	if n%4 == 0 {
		others.Go(func() { _, _ = stream.Header() })
	}
	if n%16 == 1 {
		others.Go(func() { _ = stream.Context() })
	}
	if n%16 == 2 {
		others.Go(cancel)
	}
	got, err := all(stream.Recv)
	others.Wait()
	_ = stream.Trailer()
	if err != nil {
		assert.NotEqual(t, io.EOF, err)
		_, again := stream.Recv()
		assert.Error(t, again)
		return 0
	}
	assert.Equal(t, text, got)
	return 1
}
