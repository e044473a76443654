package grpcretry_test

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	testpb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/reprise-go/reprise/adapters/grpcretry"
)

// BenchmarkUnary is a call that succeeds at once. net=none has no grpc beneath, so
// that what is left is the door alone.
func BenchmarkUnary(b *testing.B) {
	listed := newInterceptor(b, newEngine(b), grpcretry.WithIdempotent("/grpc.testing.TestService/*"))
	unlisted := newInterceptor(b, newEngine(b))
	const method = "/grpc.testing.TestService/UnaryCall"
	for _, row := range []struct {
		name string
		i    *grpcretry.Interceptor
	}{{"listed", listed}, {"unlisted", unlisted}} {
		b.Run("net=none/impl="+row.name, func(b *testing.B) {
			b.ReportAllocs()
			ctx := b.Context()
			for b.Loop() {
				_ = row.i.Unary(ctx, method, nil, nil, nil, succeed)
			}
		})
	}
	ln := serve(b, &service{})
	for _, row := range []struct {
		name string
		i    *grpcretry.Interceptor
	}{{"bare", nil}, {"listed", listed}, {"unlisted", unlisted}} {
		client := testpb.NewTestServiceClient(dial(b, ln, row.i, grpc.WithDisableRetry()))
		b.Run("net=memory/impl="+row.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := client.UnaryCall(b.Context(), &testpb.SimpleRequest{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// succeed is a call without grpc.
func succeed(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
	return nil
}

// BenchmarkStream is a bidirectional stream's message there and back.
func BenchmarkStream(b *testing.B) {
	ln := serve(b, &service{})
	for _, row := range []struct {
		name string
		i    *grpcretry.Interceptor
	}{{"bare", nil}, {"grpcretry", newInterceptor(b, newEngine(b), grpcretry.WithAnyMethod())}} {
		client := testpb.NewTestServiceClient(dial(b, ln, row.i, grpc.WithDisableRetry()))
		b.Run("net=memory/impl="+row.name, func(b *testing.B) {
			b.ReportAllocs()
			stream, err := client.FullDuplexCall(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			m := request("hello")
			for b.Loop() {
				if err := stream.Send(m); err != nil {
					b.Fatal(err)
				}
				if _, err := stream.Recv(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
