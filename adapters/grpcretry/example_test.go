package grpcretry_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/reprise-go/reprise/adapters/grpcretry"
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// flaky is a health service that fails at first.
type flaky struct {
	healthpb.UnimplementedHealthServer
	failures int
}

func (f *flaky) Check(context.Context, *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	if f.failures--; f.failures >= 0 {
		return nil, status.Error(codes.Unavailable, "starting")
	}
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, nil
}

// connect serves f in memory and returns a connection to it.
func connect(f *flaky, opts ...grpc.DialOption) (conn *grpc.ClientConn, stop func()) {
	ln := bufconn.Listen(1 << 16)
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, f)
	go func() { _ = server.Serve(ln) }()
	conn, err := grpc.NewClient("passthrough:///memory", append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return ln.DialContext(ctx) }))...)
	if err != nil {
		log.Fatal(err)
	}
	return conn, func() {
		_ = conn.Close()
		server.Stop()
	}
}

func Example() {
	e, err := engine.New()
	if err != nil {
		log.Fatal(err)
	}
	retries, err := grpcretry.New(e, grpcretry.WithIdempotent("/grpc.health.v1.Health/*"))
	if err != nil {
		log.Fatal(err)
	}
	conn, stop := connect(&flaky{failures: 2}, retries.DialOptions()...)
	defer stop()

	resp, err := healthpb.NewHealthClient(conn).Check(context.Background(), &healthpb.HealthCheckRequest{})
	fmt.Println(resp.GetStatus(), err, e.Stats().TransientRetries)
	// Output: SERVING <nil> 2
}

// What comes back of a call that failed is a status and says why it ended.
func ExampleInterceptor_Unary() {
	e, _ := engine.New(engine.WithMaxAttempts(2))
	retries, _ := grpcretry.New(e, grpcretry.WithAnyMethod())
	conn, stop := connect(&flaky{failures: 9}, retries.DialOptions()...)
	defer stop()

	_, err := healthpb.NewHealthClient(conn).Check(context.Background(), &healthpb.HealthCheckRequest{})
	fmt.Println(status.Code(err), status.Convert(err).Message())
	if ours, ok := errors.AsType[*engine.Error](err); ok {
		fmt.Println(ours.Reason, ours.Attempts, ours.Class)
	}
	// Output:
	// Unavailable starting
	// max_attempts 2 transient
}

// A method that may not be sent twice is sent once, unless the call says that it
// may.
func ExampleIdempotent() {
	e, _ := engine.New()
	retries, _ := grpcretry.New(e)
	conn, stop := connect(&flaky{failures: 2}, retries.DialOptions()...)
	defer stop()
	client := healthpb.NewHealthClient(conn)

	_, err := client.Check(context.Background(), &healthpb.HealthCheckRequest{})
	fmt.Println(errors.Is(err, engine.ErrNotReplayable))
	resp, err := client.Check(context.Background(), &healthpb.HealthCheckRequest{}, grpcretry.Idempotent())
	fmt.Println(resp.GetStatus(), err)
	// Output:
	// true
	// SERVING <nil>
}

// A server whose ABORTED means "try again" can be told so.
func ExampleWithCodes() {
	e, _ := engine.New()
	_, err := grpcretry.New(e, grpcretry.WithCodes(map[codes.Code]classify.Class{codes.Aborted: classify.Transient}))
	fmt.Println(err)
	// Output: <nil>
}

// Each method has a quota of its own.
func ExampleWithEngineByMethod() {
	e, _ := engine.New()
	group, err := engine.NewGroup[string](e, 100)
	if err != nil {
		log.Fatal(err)
	}
	retries, _ := grpcretry.New(e, grpcretry.WithAnyMethod(), grpcretry.WithEngineByMethod(group))
	conn, stop := connect(&flaky{failures: 9}, retries.DialOptions()...)
	defer stop()

	_, err = healthpb.NewHealthClient(conn).Check(context.Background(), &healthpb.HealthCheckRequest{})
	fmt.Println(status.Code(err), group.For(healthpb.Health_Check_FullMethodName).Stats().QuotaLevel)
	// Output: Unavailable 472
}
