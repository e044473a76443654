package grpcretry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/reprise-go/reprise/adapters/grpcretry"
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// detailed is a status with details, as a server sends it.
func detailed(t *testing.T, code codes.Code) error {
	st, err := status.New(code, "no").WithDetails(&errdetails.ErrorInfo{Reason: "Odd", Domain: "test"})
	require.NoError(t, err)
	return st.Err()
}

// unaryOf is a service whose unary method always fails with err.
func unaryOf(err error) *service {
	return &service{unary: func(int, context.Context, *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		return nil, err
	}}
}

// A first failure that is not retryable comes back as it came.
func TestUntouched(t *testing.T) {
	want := detailed(t, codes.NotFound)
	inBubble(t, unaryOf(want), func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		_, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{})
		var ours *engine.Error
		assert.NotErrorAs(t, err, &ours)
		assert.ErrorIs(t, err, want)
		assert.IsType(t, want, err)
	})
}

// Peer faults 7 and 17: the last status is there as it came, with its details, and
// so is why the call ended.
func TestErrorKeepsTheStatus(t *testing.T) {
	want := detailed(t, codes.Unavailable)
	inBubble(t, unaryOf(want), func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		_, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{})
		st, ok := status.FromError(err)
		require.True(t, ok)
		assert.Equal(t, codes.Unavailable, st.Code())
		assert.Equal(t, "no", st.Message())
		require.Len(t, st.Details(), 1)
		assert.Equal(t, "Odd", st.Details()[0].(*errdetails.ErrorInfo).GetReason())
		require.ErrorIs(t, err, engine.ErrMaxAttempts)
		assert.ErrorIs(t, err, want)
		var ours *engine.Error
		require.ErrorAs(t, err, &ours)
		assert.Equal(t, 3, ours.Attempts)
		assert.Equal(t, classify.Transient, ours.Class)
		assert.Equal(t, 472, ours.QuotaLeft)
		assert.Equal(t, 500, ours.QuotaCapacity)
		assert.ErrorContains(t, err, "attempts used up after 3 attempts: rpc error: code = Unavailable desc = no")
	})
	// Peer fault 8: a refusal of the quota keeps the class and the code of its cause.
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, engine.WithTokens(4))
		client := newClient(t, unaryOf(status.Error(codes.ResourceExhausted, "slow")), e, grpcretry.WithAnyMethod())
		_, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{})
		require.ErrorIs(t, err, engine.ErrQuota)
		var ours *engine.Error
		require.ErrorAs(t, err, &ours)
		assert.Equal(t, classify.Throttling, ours.Class)
		assert.Equal(t, codes.ResourceExhausted, status.Code(err))
	})
}

// Peer faults 92 and 94: who leaves gets gRPC's code for that, the cause, and what
// the server said last.
func TestLeaving(t *testing.T) {
	want := detailed(t, codes.Unavailable)
	left := errors.New("left")
	inBubble(t, unaryOf(want), func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(20*ms, func() { cancel(left) })
		start := time.Now()
		_, err := client.UnaryCall(ctx, &testpb.SimpleRequest{})
		assert.Equal(t, 20*ms, time.Since(start), "peer fault 100: a wait ends with its context")
		require.ErrorIs(t, err, engine.ErrCancelled)
		assert.ErrorIs(t, err, left)
		assert.ErrorIs(t, err, want)
		st, _ := status.FromError(err)
		assert.Equal(t, codes.Canceled, st.Code())
		assert.Len(t, st.Details(), 1)
		assert.Equal(t, 500, level(e))

		_, err = client.UnaryCall(ctx, &testpb.SimpleRequest{}) // before the first attempt
		assert.Equal(t, codes.Canceled, status.Code(err))
		assert.ErrorIs(t, err, engine.ErrCancelled)
		assert.Equal(t, 1, len(ownCalls(e)))
	})
	inBubble(t, unaryOf(want), func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		ctx, cancel := context.WithTimeout(t.Context(), 49*ms)
		defer cancel()
		start := time.Now()
		_, err := client.UnaryCall(ctx, &testpb.SimpleRequest{})
		assert.Zero(t, time.Since(start), "peer fault 91: no delay is begun that does not fit")
		require.ErrorIs(t, err, engine.ErrDeadline)
		st, _ := status.FromError(err)
		assert.Equal(t, codes.Unavailable, st.Code(), "the caller still waits, and this is what the server said")
	})
	// A stream whose caller leaves in a delay.
	s := &service{output: func(int, *testpb.StreamingOutputCallRequest, outputStream) error { return want }}
	inBubble(t, s, func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		stream, err := client.StreamingOutputCall(ctx, request(""))
		require.NoError(t, err)
		time.AfterFunc(20*ms, cancel)
		for range 2 {
			_, err = stream.Recv()
			require.ErrorIs(t, err, engine.ErrCancelled)
			assert.ErrorIs(t, err, context.Canceled)
			assert.Equal(t, codes.Canceled, status.Code(err))
		}
		assert.Equal(t, 500, level(e))
	})
}

// ownCalls are the stops by reason that are not zero.
func ownCalls(e *engine.Engine) (reasons []engine.Reason) {
	for reason, n := range e.Stats().Stops {
		if n > 0 {
			reasons = append(reasons, engine.Reason(reason))
		}
	}
	return reasons
}

// R8: where the limiter lets nothing be sent before the deadline, the status says
// so, and when to come back.
func TestLimiterRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := unaryOf(status.Error(codes.ResourceExhausted, "slow"))
		e := newEngine(t, engine.WithMode(engine.Adaptive), engine.WithMaxAttempts(1))
		conn := dial(t, serve(t, s), newInterceptor(t, e, grpcretry.WithAnyMethod()))
		client := testpb.NewTestServiceClient(conn)
		for range 3 {
			_, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{})
			require.Error(t, err)
		}
		require.Equal(t, 3, s.count())
		ctx, cancel := context.WithTimeout(t.Context(), ms)
		defer cancel()
		_, err := client.UnaryCall(ctx, &testpb.SimpleRequest{})
		require.ErrorIs(t, err, engine.ErrDeadline)
		st, _ := status.FromError(err)
		assert.Equal(t, codes.ResourceExhausted, st.Code())
		require.Len(t, st.Details(), 1)
		assert.Positive(t, st.Details()[0].(*errdetails.RetryInfo).GetRetryDelay().AsDuration())
		_, err = client.StreamingOutputCall(ctx, request(""))
		require.ErrorIs(t, err, engine.ErrDeadline)
		assert.Equal(t, codes.ResourceExhausted, status.Code(err))
		gone, leave := context.WithCancel(t.Context())
		leave()
		_, err = client.UnaryCall(gone, &testpb.SimpleRequest{})
		assert.Equal(t, codes.Canceled, status.Code(err))
		assert.Equal(t, 3, s.count())
	})
}

// What grpc says of a message that is too large is no throttling, and no reason to
// ask again; unless somebody says that it is.
func TestTooLarge(t *testing.T) {
	large := &service{unary: func(int, context.Context, *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		return &testpb.SimpleResponse{Payload: payload(string(make([]byte, 2000)))}, nil
	}}
	sent, received := grpc.MaxCallSendMsgSize(1000), grpc.MaxCallRecvMsgSize(1000)
	inBubble(t, large, func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		_, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{}, received)
		assert.Equal(t, codes.ResourceExhausted, status.Code(err))
		assert.Equal(t, 1, large.count())
		_, err = client.UnaryCall(t.Context(), &testpb.SimpleRequest{Payload: payload(string(make([]byte, 2000)))}, sent)
		assert.Equal(t, codes.ResourceExhausted, status.Code(err))
		assert.Equal(t, 1, large.count())
		stream, err := client.StreamingInputCall(t.Context(), sent)
		require.NoError(t, err)
		err = stream.Send(&testpb.StreamingInputCallRequest{Payload: payload(string(make([]byte, 2000)))})
		assert.Equal(t, codes.ResourceExhausted, status.Code(err))
		_, err = stream.CloseAndRecv()
		assert.Error(t, err)
		assert.Equal(t, []engine.Reason{engine.ReasonNonRetryable}, ownCalls(e))
		assert.Equal(t, 500, level(e))
	})
	large.came = nil
	inBubble(t, large, func(t *testing.T, e *engine.Engine, client testpb.TestServiceClient) {
		_, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{}, received)
		require.ErrorIs(t, err, engine.ErrMaxAttempts)
		assert.Equal(t, 3, large.count())
	}, grpcretry.WithCodes(map[codes.Code]classify.Class{codes.ResourceExhausted: classify.Throttling}))
}
