package grpcretry_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/reprise-go/reprise/adapters/grpcretry"
)

// R4: a call that fails twice is sent three times, each after its delay, and tells
// the server how often it was sent before.
func TestUnary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{unary: func(n int, _ context.Context, _ *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
			if n < 3 {
				return nil, status.Error(codes.Unavailable, "not yet")
			}
			return &testpb.SimpleResponse{Username: "hello"}, nil
		}}
		e := newEngine(t)
		client := newClient(t, s, e, grpcretry.WithAnyMethod())
		resp, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{})
		require.NoError(t, err)
		assert.Equal(t, "hello", resp.GetUsername())
		came := s.calls()
		require.Len(t, came, 3)
		assert.Equal(t, 50*ms-near, came[1].at.Sub(came[0].at))
		assert.Equal(t, 100*ms-near, came[2].at.Sub(came[1].at))
		assert.Nil(t, came[0].previous)
		assert.Equal(t, []string{"1"}, came[1].previous)
		assert.Equal(t, []string{"2"}, came[2].previous)
		assert.Equal(t, 500-14, level(e))
	})
}
