package grpcretry_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/reprise-go/reprise/adapters/grpcretry"
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// What is wrong is an error that names the option and what would be right.
func TestOptionsAreChecked(t *testing.T) {
	e := newEngine(t)
	for _, row := range []struct {
		e    *engine.Engine
		opt  grpcretry.Option
		says string
	}{
		{nil, grpcretry.WithAnyMethod(), "needs an engine; this one is nil"},
		{new(engine.Engine), grpcretry.WithAnyMethod(), "the zero Engine"},
		{e, nil, "option 1 of 1 is nil"},
		{e, grpcretry.WithBufferLimit(-1), "WithBufferLimit(-1): want 0 bytes"},
		{e, grpcretry.WithAttemptTimeout(0), "WithAttemptTimeout(0s): want durations above zero"},
		{e, grpcretry.WithAttemptTimeout(time.Second, -time.Second), "WithAttemptTimeout(1s, -1s)"},
		{e, grpcretry.WithIdempotent(), "names no method"},
		{e, grpcretry.WithIdempotent("Check"), `WithIdempotent("Check"): want "/package.Service/Method"`},
		{e, grpcretry.WithIdempotent("/Check"), `WithIdempotent("/Check")`},
		{e, grpcretry.WithIdempotent("/a.B/"), `WithIdempotent("/a.B/")`},
		{e, grpcretry.WithIdempotent("a.B/C"), `WithIdempotent("a.B/C")`},
		{e, grpcretry.WithIdempotent("//C"), `WithIdempotent("//C")`},
		{e, grpcretry.WithCodes(map[codes.Code]classify.Class{codes.OK: classify.Transient}), "OK is no failure"},
		{e, grpcretry.WithCodes(map[codes.Code]classify.Class{codes.Aborted: 7}), "Aborted has class 7"},
		{e, grpcretry.WithEngineFor(nil), "WithEngineFor(nil)"},
		{e, grpcretry.WithEngineByMethod(nil), "WithEngineByMethod(nil): want a group"},
		{e, grpcretry.WithEngineByTarget(nil), "WithEngineByTarget(nil): want a group"},
	} {
		_, err := grpcretry.New(row.e, row.opt)
		require.ErrorContains(t, err, row.says)
		assert.ErrorContains(t, err, "reprise/grpcretry: ")
	}
}

func TestZeroInterceptor(t *testing.T) {
	for _, i := range []*grpcretry.Interceptor{nil, new(grpcretry.Interceptor)} {
		assert.ErrorContains(t, i.Unary(t.Context(), "/a/b", nil, nil, nil, nil), "nil or zero")
		_, err := i.Stream(t.Context(), nil, nil, "/a/b", nil)
		assert.ErrorContains(t, err, "nil or zero")
	}
}

// Peer fault 76: the table of codes is the user's to change.
func TestCodes(t *testing.T) {
	i := newInterceptor(t, quick(t), grpcretry.WithAnyMethod(), grpcretry.WithCodes(map[codes.Code]classify.Class{
		codes.Aborted: classify.Transient, codes.Internal: classify.Transient,
	}), grpcretry.WithCodes(map[codes.Code]classify.Class{codes.Internal: classify.Throttling, codes.Unavailable: classify.NonRetryable, 99: classify.Transient}))
	for code, attempts := range map[codes.Code]int{codes.Aborted: 3, codes.Internal: 3, codes.Unavailable: 1, codes.DeadlineExceeded: 3, 99: 3, 98: 1} {
		assert.Equal(t, attempts, invoke(t, i, "/a/b", status.Error(code, "")), code)
	}
}

// R3.5: what another interceptor's error says of itself counts, and what classify
// knows by its type; a class of the code's own stays slow.
func TestOthersErrors(t *testing.T) {
	i := newInterceptor(t, quick(t), grpcretry.WithAnyMethod())
	for name, row := range map[string]struct {
		err      error
		attempts int
	}{
		"says yes":          {marked{status.Error(codes.NotFound, ""), true}, 3},
		"says no":           {marked{unavailable, false}, 1},
		"a bare error":      {errors.New("odd"), 1},
		"an attempt's end":  {context.DeadlineExceeded, 3},
		"a wrapped status":  {errors.Join(errors.New("odd"), unavailable), 3},
		"a cancelled one":   {errors.Join(context.Canceled, unavailable), 1},
		"status OK":         {oddStatus{}, 1},
		"a wrapped timeout": {errors.Join(context.DeadlineExceeded, status.Error(codes.NotFound, "")), 3},
	} {
		assert.Equal(t, row.attempts, invoke(t, i, "/a/b", row.err), name)
	}
	var ev events
	e := quick(t, ev.observer())
	st := status.Error(codes.ResourceExhausted, "")
	i = newInterceptor(t, e, grpcretry.WithAnyMethod(), grpcretry.WithCodes(map[codes.Code]classify.Class{codes.ResourceExhausted: classify.Throttling}))
	invoke(t, i, "/a/b", marked{st, true})
	assert.Equal(t, classify.Throttling, ev.retries[0].Class)
}

// R5.1, R5.2: what the details of a status and an error beneath ask for; what is
// broken asks for nothing, and the first reason counts.
func TestDetails(t *testing.T) {
	const first = 50*ms - near
	any := func(m proto.Message) *anypb.Any {
		a, err := anypb.New(m)
		require.NoError(t, err)
		return a
	}
	info := func(d *durationpb.Duration) *anypb.Any { return any(&errdetails.RetryInfo{RetryDelay: d}) }
	reason := func(text string) *anypb.Any { return any(&errdetails.ErrorInfo{Reason: text}) }
	for name, row := range map[string]struct {
		details []*anypb.Any
		delay   time.Duration
		class   classify.Class
	}{
		"none":                 {nil, first, classify.Transient},
		"no delay":             {[]*anypb.Any{info(nil)}, first, classify.Transient},
		"too long":             {[]*anypb.Any{info(&durationpb.Duration{Seconds: math.MaxInt64})}, first + 5*time.Second, classify.Transient},
		"below zero":           {[]*anypb.Any{info(&durationpb.Duration{Seconds: math.MinInt64, Nanos: -5})}, first, classify.Transient},
		"two":                  {[]*anypb.Any{info(durationpb.New(2 * time.Second)), info(durationpb.New(time.Second))}, 2 * time.Second, classify.Transient},
		"broken":               {[]*anypb.Any{{TypeUrl: info(nil).GetTypeUrl(), Value: []byte{255}}, {TypeUrl: reason("").GetTypeUrl(), Value: []byte{255}}, nil}, first, classify.Transient},
		"another":              {[]*anypb.Any{any(&testpb.Empty{}), info(durationpb.New(time.Second))}, time.Second, classify.Transient},
		"reasons":              {[]*anypb.Any{reason("SlowDown"), reason("RequestTimeout")}, time.Second - near, classify.Throttling},
		"an odd reason before": {[]*anypb.Any{reason("Odd"), reason("SlowDown")}, first, classify.Transient},
		"a decorated one":      {[]*anypb.Any{reason("aws.x#SlowDown")}, time.Second - near, classify.Throttling},
	} {
		t.Run(name, func(t *testing.T) {
			var ev events
			i := newInterceptor(t, quick(t, ev.observer(), engine.WithMaxAttempts(2)), grpcretry.WithAnyMethod())
			invoke(t, i, "/a/b", status.FromProto(&spb.Status{Code: int32(codes.Unavailable), Details: row.details}).Err())
			require.Len(t, ev.retries, 1)
			assert.Equal(t, row.delay, ev.retries[0].Delay)
			assert.Equal(t, row.class, ev.retries[0].Class)
		})
	}
	var ev events
	i := newInterceptor(t, quick(t, ev.observer()), grpcretry.WithAnyMethod())
	invoke(t, i, "/a/b", asking{unavailable})
	assert.Equal(t, time.Second, ev.retries[0].Delay)
}

type asking struct{ error }

func (asking) RetryAfter() time.Duration { return time.Second }
func (a asking) Unwrap() error           { return a.error }

type marked struct {
	error
	retryable bool
}

func (m marked) RetryableError() bool       { return m.retryable }
func (m marked) Unwrap() error              { return m.error }
func (m marked) GRPCStatus() *status.Status { return status.Convert(m.error) }

type oddStatus struct{}

func (oddStatus) Error() string              { return "odd" }
func (oddStatus) GRPCStatus() *status.Status { return nil }

// Of two Interceptors in a chain the outer one retries.
func TestNested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := unaryOf(unavailable)
		s.output = func(int, *testpb.StreamingOutputCallRequest, outputStream) error { return unavailable }
		outer, inner := newEngine(t), newEngine(t)
		conn := dial(t, serve(t, s), newInterceptor(t, outer, grpcretry.WithAnyMethod()), newInterceptor(t, inner, grpcretry.WithAnyMethod()).DialOptions()...)
		client := testpb.NewTestServiceClient(conn)
		_, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{})
		require.Error(t, err)
		assert.Equal(t, 3, s.count())
		stream, err := client.StreamingOutputCall(t.Context(), request(""))
		require.NoError(t, err)
		_, err = stream.Recv()
		require.Error(t, err)
		assert.Equal(t, 6, s.count())
		assert.Equal(t, 500, level(inner))
	})
}

// Options that bring something back hold what the last attempt brought, and what
// OnFinish holds is called once for the call.
func TestCallOptions(t *testing.T) {
	s := &service{}
	s.unary = func(n int, ctx context.Context, _ *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		_ = grpc.SetTrailer(ctx, metadata.Pairs("attempt", string('0'+rune(n))))
		if n%2 == 1 {
			return nil, unavailable
		}
		return &testpb.SimpleResponse{}, nil
	}
	s.output = func(n int, _ *testpb.StreamingOutputCallRequest, stream outputStream) error {
		if n%2 == 1 {
			return unavailable
		}
		return stream.Send(output("hello"))
	}
	inBubble(t, s, func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		var ends []error
		var trailer metadata.MD
		onFinish := grpc.OnFinish(func(err error) { ends = append(ends, err) })
		_, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{}, onFinish, grpc.Trailer(&trailer), onFinish,
			grpc.WaitForReady(false), grpc.MaxCallRecvMsgSize(100), grpc.MaxCallSendMsgSize(100), grpc.OnFinish(nil))
		require.NoError(t, err)
		assert.Equal(t, []error{nil, nil}, ends)
		assert.Equal(t, []string{"2"}, trailer.Get("attempt"))

		ends = nil
		stream, err := client.StreamingOutputCall(t.Context(), request(""), onFinish)
		require.NoError(t, err)
		_, err = all(stream.Recv)
		require.NoError(t, err)
		_, err = stream.Recv()
		require.Error(t, err)
		assert.Equal(t, []error{nil}, ends)
		assert.Equal(t, 4, s.count())
	})
	s = unaryOf(unavailable)
	inBubble(t, s, func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		var ends []error
		_, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{}, grpc.OnFinish(func(err error) { ends = append(ends, err) }))
		assert.Equal(t, []error{err}, ends)
	})
}

// R7: a long poll that the quota refuses waits its backoff, and no other call does.
func TestLongPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := unaryOf(unavailable)
		s.output = func(int, *testpb.StreamingOutputCallRequest, outputStream) error { return unavailable }
		client := newClient(t, s, newEngine(t, engine.WithTokens(0)), grpcretry.WithAnyMethod())
		start := time.Now()
		_, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{})
		require.ErrorIs(t, err, engine.ErrQuota)
		assert.Zero(t, time.Since(start))
		_, err = client.UnaryCall(t.Context(), &testpb.SimpleRequest{}, grpcretry.LongPoll())
		require.ErrorIs(t, err, engine.ErrQuota)
		assert.Equal(t, 50*ms-near, time.Since(start))
		stream, err := client.StreamingOutputCall(t.Context(), request(""), grpcretry.LongPoll())
		require.NoError(t, err)
		_, err = stream.Recv()
		require.ErrorIs(t, err, engine.ErrQuota)
		assert.Equal(t, 100*ms-2*near, time.Since(start))
	})
}

// An engine for each target or method pays for itself.
func TestEngines(t *testing.T) {
	group, err := engine.NewGroup[string](newEngine(t), 10)
	require.NoError(t, err)
	def := newEngine(t)
	synctest.Test(t, func(t *testing.T) {
		client := newClient(t, unaryOf(unavailable), def, grpcretry.WithAnyMethod(), grpcretry.WithEngineByMethod(group))
		_, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{})
		require.Error(t, err)
		_, err = client.StreamingInputCall(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 472, level(group.For("/grpc.testing.TestService/UnaryCall")))
		assert.Equal(t, 500, level(group.For("/grpc.testing.TestService/StreamingInputCall")))

		client = newClient(t, unaryOf(unavailable), def, grpcretry.WithAnyMethod(), grpcretry.WithEngineByTarget(group))
		_, err = client.UnaryCall(t.Context(), &testpb.SimpleRequest{})
		require.Error(t, err)
		assert.Equal(t, 472, level(group.For("passthrough:///memory")))

		type tenant struct{}
		client = newClient(t, unaryOf(unavailable), def, grpcretry.WithAnyMethod(), grpcretry.WithEngineFor(func(ctx context.Context, target, method string) *engine.Engine {
			if ctx.Value(tenant{}) == nil {
				return nil
			}
			return group.For(target + method)
		}))
		_, err = client.UnaryCall(context.WithValue(t.Context(), tenant{}, 1), &testpb.SimpleRequest{})
		require.Error(t, err)
		assert.Equal(t, 472, level(group.For("passthrough:///memory/grpc.testing.TestService/UnaryCall")))
		assert.Equal(t, 500, level(def))
		_, err = client.UnaryCall(t.Context(), &testpb.SimpleRequest{})
		require.Error(t, err)
		assert.Equal(t, 472, level(def))
	})
	i := newInterceptor(t, quick(t), grpcretry.WithEngineByTarget(group))
	assert.Equal(t, 1, invoke(t, i, "/a/b", nil), "without a connection")
}

// R3.6: an attempt's own time-out is transient; the server is told of it.
func TestAttemptTimeout(t *testing.T) {
	s := &service{unary: func(n int, ctx context.Context, _ *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		if n < 3 {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return &testpb.SimpleResponse{}, nil
	}}
	inBubble(t, s, func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		_, err := client.UnaryCall(ctx, &testpb.SimpleRequest{})
		require.NoError(t, err)
		assert.Equal(t, 1150*ms-2*near, time.Since(start))
		for _, came := range s.calls() {
			assert.Less(t, came.deadline.Sub(came.at), 2*time.Second)
		}
	}, grpcretry.WithAttemptTimeout(200*ms, 800*ms))
}

// The metadata of attempts after the first replaces what a caller has passed on,
// and leaves the caller's own as it is.
func TestPreviousAttempts(t *testing.T) {
	s := unaryOf(unavailable)
	inBubble(t, s, func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		ctx := metadata.AppendToOutgoingContext(t.Context(), previous, "7", "key", "value")
		_, err := client.UnaryCall(ctx, &testpb.SimpleRequest{})
		require.Error(t, err)
		came := s.calls()
		assert.Equal(t, [][]string{{"7"}, {"1"}, {"2"}}, [][]string{came[0].previous, came[1].previous, came[2].previous})
		md, _ := metadata.FromOutgoingContext(ctx)
		assert.Equal(t, []string{"7"}, md.Get(previous))
	})
}
