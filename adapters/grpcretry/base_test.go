package grpcretry_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"

	"github.com/reprise-go/reprise/adapters/grpcretry"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

const (
	ms = time.Millisecond
	// near is what a draw as near to 1 as there is takes off a ceiling.
	near = time.Nanosecond
	// previous is the metadata of attempts after the first.
	previous = "grpc-previous-rpc-attempts"
	pushback = "grpc-retry-pushback-ms"
)

// newEngine's delays are their ceilings, less near.
func newEngine(tb testing.TB, opts ...engine.Option) *engine.Engine {
	tb.Helper()
	e, err := engine.New(append([]engine.Option{engine.WithSource(fastbackoff.Fixed(1))}, opts...)...)
	require.NoError(tb, err)
	return e
}

// quick is newEngine without waits.
func quick(tb testing.TB, opts ...engine.Option) *engine.Engine {
	return newEngine(tb, append(opts, engine.WithClock(noSleep{}))...)
}

func newInterceptor(tb testing.TB, e *engine.Engine, opts ...grpcretry.Option) *grpcretry.Interceptor {
	tb.Helper()
	i, err := grpcretry.New(e, opts...)
	require.NoError(tb, err)
	return i
}

func level(e *engine.Engine) int { return e.Stats().QuotaLevel }

// noSleep is a clock whose waits take no time.
type noSleep struct{}

func (noSleep) Now() time.Time                                        { return time.Now() }
func (noSleep) Sleep(context.Context, time.Duration, <-chan struct{}) {}

// service answers each of its methods by a func; one that is nil succeeds. It
// notes what came.
type service struct {
	testpb.UnimplementedTestServiceServer
	unary  func(n int, ctx context.Context, req *testpb.SimpleRequest) (*testpb.SimpleResponse, error)
	output func(n int, req *testpb.StreamingOutputCallRequest, stream grpc.ServerStreamingServer[testpb.StreamingOutputCallResponse]) error
	input  func(n int, stream grpc.ClientStreamingServer[testpb.StreamingInputCallRequest, testpb.StreamingInputCallResponse]) error
	duplex func(n int, stream grpc.BidiStreamingServer[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]) error

	mu   sync.Mutex
	came []call
}

// call is an attempt as it came to the server.
type call struct {
	at       time.Time
	previous []string
	deadline time.Time // zero: none
}

func (s *service) hit(ctx context.Context) int {
	md, _ := metadata.FromIncomingContext(ctx)
	deadline, _ := ctx.Deadline()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.came = append(s.came, call{time.Now(), md[previous], deadline})
	return len(s.came)
}

func (s *service) calls() []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]call(nil), s.came...)
}

func (s *service) count() int { return len(s.calls()) }

func (s *service) UnaryCall(ctx context.Context, req *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	if n := s.hit(ctx); s.unary != nil {
		return s.unary(n, ctx, req)
	}
	return &testpb.SimpleResponse{Username: "hello"}, nil
}

func (s *service) StreamingOutputCall(req *testpb.StreamingOutputCallRequest, stream grpc.ServerStreamingServer[testpb.StreamingOutputCallResponse]) error {
	if n := s.hit(stream.Context()); s.output != nil {
		return s.output(n, req, stream)
	}
	return stream.Send(output("hello"))
}

func (s *service) StreamingInputCall(stream grpc.ClientStreamingServer[testpb.StreamingInputCallRequest, testpb.StreamingInputCallResponse]) error {
	if n := s.hit(stream.Context()); s.input != nil {
		return s.input(n, stream)
	}
	return stream.SendAndClose(&testpb.StreamingInputCallResponse{AggregatedPayloadSize: int32(receiveAll(stream))})
}

func (s *service) FullDuplexCall(stream grpc.BidiStreamingServer[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]) error {
	if n := s.hit(stream.Context()); s.duplex != nil {
		return s.duplex(n, stream)
	}
	return echo(stream)
}

// receiveAll returns the bytes of all payloads.
func receiveAll(stream grpc.ClientStreamingServer[testpb.StreamingInputCallRequest, testpb.StreamingInputCallResponse]) (sum int) {
	for {
		req, err := stream.Recv()
		if err != nil {
			return sum
		}
		sum += len(req.GetPayload().GetBody())
	}
}

// echo sends back what comes.
func echo(stream grpc.BidiStreamingServer[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]) error {
	for {
		req, err := stream.Recv()
		if err != nil {
			return nil
		}
		if err := stream.Send(&testpb.StreamingOutputCallResponse{Payload: req.GetPayload()}); err != nil {
			return err
		}
	}
}

func payload(text string) *testpb.Payload { return &testpb.Payload{Body: []byte(text)} }

func output(text string) *testpb.StreamingOutputCallResponse {
	return &testpb.StreamingOutputCallResponse{Payload: payload(text)}
}

func request(text string) *testpb.StreamingOutputCallRequest {
	return &testpb.StreamingOutputCallRequest{Payload: payload(text)}
}

func input(text string) *testpb.StreamingInputCallRequest {
	return &testpb.StreamingInputCallRequest{Payload: payload(text)}
}

// serve serves s, and grpc's own health service, in memory.
func serve(tb testing.TB, s *service) *bufconn.Listener {
	tb.Helper()
	ln := bufconn.Listen(1 << 20)
	serveOn(tb, ln, s)
	return ln
}

func serveOn(tb testing.TB, ln net.Listener, s *service) *grpc.Server {
	server := grpc.NewServer()
	testpb.RegisterTestServiceServer(server, s)
	healthpb.RegisterHealthServer(server, health.NewServer())
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(ln) })
	tb.Cleanup(func() { server.Stop(); running.Wait() })
	return server
}

// dial is a connection in memory, with the interceptors of i, or without if that
// is nil.
func dial(tb testing.TB, ln *bufconn.Listener, i *grpcretry.Interceptor, opts ...grpc.DialOption) *grpc.ClientConn {
	tb.Helper()
	opts = append(opts, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return ln.DialContext(ctx) }))
	return dialTo(tb, "passthrough:///memory", i, opts...)
}

func dialTo(tb testing.TB, target string, i *grpcretry.Interceptor, opts ...grpc.DialOption) *grpc.ClientConn {
	tb.Helper()
	all := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	if i != nil {
		all = append(all, i.DialOptions()...)
	}
	conn, err := grpc.NewClient(target, append(all, opts...)...)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = conn.Close() })
	return conn
}

// newClient is a client of s through an Interceptor of e and opts.
func newClient(tb testing.TB, s *service, e *engine.Engine, opts ...grpcretry.Option) testpb.TestServiceClient {
	tb.Helper()
	return testpb.NewTestServiceClient(dial(tb, serve(tb, s), newInterceptor(tb, e, opts...)))
}

// events notes what the engine decided.
type events struct {
	mu      sync.Mutex
	retries []engine.RetryEvent
	stops   []engine.StopEvent
	success []engine.SuccessEvent
}

func (ev *events) observer() engine.Option {
	return engine.WithObserver(engine.Observer{
		Retry:   func(e engine.RetryEvent) { ev.mu.Lock(); ev.retries = append(ev.retries, e); ev.mu.Unlock() },
		Stop:    func(e engine.StopEvent) { ev.mu.Lock(); ev.stops = append(ev.stops, e); ev.mu.Unlock() },
		Success: func(e engine.SuccessEvent) { ev.mu.Lock(); ev.success = append(ev.success, e); ev.mu.Unlock() },
	})
}
