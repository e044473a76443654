//go:build !race

package grpcretry_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	testpb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/reprise-go/reprise/adapters/grpcretry"
	"github.com/reprise-go/reprise/engine"
)

// A success at the first attempt allocates what holds its options and, where the
// method may not be sent twice, what proves that it was never sent.
func TestAllocations(t *testing.T) {
	adaptive := newEngine(t, engine.WithMode(engine.Adaptive))
	for name, row := range map[string]struct {
		i    *grpcretry.Interceptor
		opts []grpc.CallOption
		want float64
	}{
		"any method":       {newInterceptor(t, newEngine(t), grpcretry.WithAnyMethod()), nil, 1},
		"listed":           {newInterceptor(t, newEngine(t), grpcretry.WithIdempotent("/a/b")), nil, 1},
		"with options":     {newInterceptor(t, newEngine(t), grpcretry.WithAnyMethod()), []grpc.CallOption{grpc.WaitForReady(true), grpcretry.LongPoll()}, 1},
		"with many":        {newInterceptor(t, newEngine(t), grpcretry.WithAnyMethod()), make([]grpc.CallOption, 9), 2},
		"adaptive":         {newInterceptor(t, adaptive, grpcretry.WithAnyMethod()), nil, 1},
		"may not be twice": {newInterceptor(t, newEngine(t), grpcretry.WithIdempotent("/a/c")), nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			got := testing.AllocsPerRun(500, func() {
				if err := row.i.Unary(ctx, "/a/b", nil, nil, nil, succeed, row.opts...); err != nil {
					t.Error(err)
				}
			})
			assert.Equal(t, row.want, got)
		})
	}
}

// Of a real call that is above what grpc itself allocates, but for the copy of the
// trailer that grpc then makes.
func TestAllocationsOfACall(t *testing.T) {
	ln := serve(t, &service{})
	bare := testpb.NewTestServiceClient(dial(t, ln, nil, grpc.WithDisableRetry()))
	ours := testpb.NewTestServiceClient(dial(t, ln, newInterceptor(t, newEngine(t), grpcretry.WithAnyMethod())))
	count := func(client testpb.TestServiceClient) float64 {
		req := &testpb.SimpleRequest{}
		return testing.AllocsPerRun(2000, func() {
			_, err := client.UnaryCall(t.Context(), req)
			require.NoError(t, err)
		})
	}
	count(bare)
	count(ours)
	without, with := count(bare), count(ours)
	t.Logf("bare %v, ours %v", without, with)
	assert.LessOrEqual(t, with-without, 3.0)
}
