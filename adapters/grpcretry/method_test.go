package grpcretry_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/reprise-go/reprise/adapters/grpcretry"
	"github.com/reprise-go/reprise/engine"
)

// invoke makes a call through i without a connection, and returns how many
// attempts there were.
func invoke(t *testing.T, i *grpcretry.Interceptor, method string, err error, opts ...grpc.CallOption) (attempts int) {
	t.Helper()
	got := i.Unary(t.Context(), method, nil, nil, nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
		attempts++
		return err
	}, opts...)
	if err == nil {
		require.NoError(t, got)
	} else {
		require.ErrorIs(t, got, err)
	}
	return attempts
}

// What may be sent twice: methods that are listed, calls that say so, or
// everything.
func TestIdempotent(t *testing.T) {
	const check, watch, other = "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch", "/grpc.health.v1.HealthX/Check"
	with := func(opts ...grpcretry.Option) *grpcretry.Interceptor { return newInterceptor(t, quick(t), opts...) }
	for name, row := range map[string]struct {
		i        *grpcretry.Interceptor
		method   string
		opts     []grpc.CallOption
		attempts int
	}{
		"by default":           {with(), check, nil, 1},
		"listed":               {with(grpcretry.WithIdempotent(watch, check)), check, nil, 3},
		"another is listed":    {with(grpcretry.WithIdempotent(watch)), check, nil, 1},
		"two lists":            {with(grpcretry.WithIdempotent(check), grpcretry.WithIdempotent(watch)), check, nil, 3},
		"the service":          {with(grpcretry.WithIdempotent("/grpc.health.v1.Health/*")), check, nil, 3},
		"another service":      {with(grpcretry.WithIdempotent("/grpc.health.v1.Health/*")), other, nil, 1},
		"all":                  {with(grpcretry.WithAnyMethod()), other, nil, 3},
		"the call says so":     {with(), other, []grpc.CallOption{grpcretry.Idempotent()}, 3},
		"a name without slash": {with(grpcretry.WithIdempotent(check)), "odd", nil, 1},
		"no name":              {with(grpcretry.WithIdempotent(check)), "", nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, row.attempts, invoke(t, row.i, row.method, unavailable, row.opts...))
		})
	}
}

// shop puts a .proto file into the program, once.
var shop = sync.OnceValue(func() error {
	method := func(name string, level descriptorpb.MethodOptions_IdempotencyLevel) *descriptorpb.MethodDescriptorProto {
		return &descriptorpb.MethodDescriptorProto{
			Name: &name, InputType: proto.String(".google.protobuf.Empty"), OutputType: proto.String(".google.protobuf.Empty"),
			Options: &descriptorpb.MethodOptions{IdempotencyLevel: &level},
		}
	}
	_ = new(emptypb.Empty) // its file is linked in
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("grpcretry_test.proto"), Package: proto.String("grpcretry.test"), Dependency: []string{"google/protobuf/empty.proto"},
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: proto.String("Shop"), Method: []*descriptorpb.MethodDescriptorProto{
			method("Get", descriptorpb.MethodOptions_NO_SIDE_EFFECTS),
			method("Put", descriptorpb.MethodOptions_IDEMPOTENT),
			method("Add", descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN),
		}}},
	}, protoregistry.GlobalFiles)
	if err != nil {
		return err
	}
	return protoregistry.GlobalFiles.RegisterFile(file)
})

// The .proto file's idempotency_level counts.
func TestDeclared(t *testing.T) {
	require.NoError(t, shop())
	i := newInterceptor(t, quick(t))
	for range 2 { // found out, and then known
		for name, attempts := range map[string]int{"Shop/Get": 3, "Shop/Put": 3, "Shop/Add": 1, "Shop/None": 1, "Shop": 1, "Shop/": 1, "None/Get": 1} {
			assert.Equal(t, attempts, invoke(t, i, "/grpcretry.test."+name, unavailable), name)
		}
	}
}

// R2.1, peer fault 115: what may not be sent twice is sent once, costs nothing, and
// says why; the answer's error is kept.
func TestSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := unaryOf(unavailable)
		s.output = func(int, *testpb.StreamingOutputCallRequest, outputStream) error { return unavailable }
		e := newEngine(t)
		client := newClient(t, s, e)
		check := func(err error) {
			t.Helper()
			require.ErrorIs(t, err, engine.ErrNotReplayable)
			assert.ErrorIs(t, err, unavailable)
			assert.ErrorContains(t, err, "is not known to be idempotent (WithIdempotent)")
			assert.Equal(t, "not now", status.Convert(err).Message())
		}
		_, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{})
		check(err)
		stream, err := client.StreamingOutputCall(t.Context(), request(""))
		require.NoError(t, err)
		_, err = stream.Recv()
		check(err)
		assert.Equal(t, 2, s.count())
		assert.Equal(t, 500, level(e))
	})
}

// A failure that proves that nothing was sent: there was no connection to send it
// on. Whoever beneath drops the options proves nothing.
func TestNeverSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		ln := bufconn.Listen(1 << 16)
		broken := errors.New("no way")
		down := true
		dialer := grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			if down {
				return nil, broken
			}
			return ln.DialContext(ctx)
		})
		e := newEngine(t)
		i := newInterceptor(t, e)
		client := testpb.NewTestServiceClient(dialTo(t, "passthrough:///memory", i, dialer))
		_, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{})
		require.ErrorIs(t, err, engine.ErrMaxAttempts)
		_, err = client.StreamingOutputCall(t.Context(), request(""))
		require.ErrorIs(t, err, engine.ErrMaxAttempts)
		assert.Equal(t, codes.Unavailable, status.Code(err))
		assert.Equal(t, 500-4*14, level(e))

		serveOn(t, ln, s)
		down = false
		time.AfterFunc(0, func() {})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = client.UnaryCall(ctx, &testpb.SimpleRequest{}, grpc.WaitForReady(true))
		require.NoError(t, err)

		dropping := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, _ ...grpc.CallOption) error {
			return invoker(ctx, method, req, reply, cc)
		}
		down = true
		client = testpb.NewTestServiceClient(dialTo(t, "passthrough:///memory", i, dialer, grpc.WithChainUnaryInterceptor(dropping)))
		_, err = client.UnaryCall(t.Context(), &testpb.SimpleRequest{})
		require.ErrorIs(t, err, engine.ErrNotReplayable)
	})
}

// grpc's own health service, over a connection that is made anew.
func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newInterceptor(t, newEngine(t), grpcretry.WithIdempotent("/grpc.health.v1.Health/*"))
		client := healthpb.NewHealthClient(dial(t, serve(t, &service{}), i))
		resp, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{})
		require.NoError(t, err)
		assert.Equal(t, healthpb.HealthCheckResponse_SERVING, resp.GetStatus())
		_, err = client.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "none"})
		assert.Equal(t, codes.NotFound, status.Code(err))
		ctx, cancel := context.WithCancel(t.Context())
		watch, err := client.Watch(ctx, &healthpb.HealthCheckRequest{})
		require.NoError(t, err)
		resp, err = watch.Recv()
		require.NoError(t, err)
		assert.Equal(t, healthpb.HealthCheckResponse_SERVING, resp.GetStatus())
		cancel()
		_, err = watch.Recv()
		assert.Equal(t, codes.Canceled, status.Code(err))
	})
}
