package main

import (
	"context"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
)

// calls is how many unary calls are made; one attempt in five of them fails.
const calls = 40

// server fails on purpose.
type server struct {
	testpb.UnimplementedTestServiceServer
	mu             sync.Mutex
	unary, streams int
}

// serve serves on a free port of 127.0.0.1.
func serve() (addr string, stop func(), err error) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	g := grpc.NewServer()
	testpb.RegisterTestServiceServer(g, &server{})
	go func() { _ = g.Serve(ln) }()
	return ln.Addr().String(), g.Stop, nil
}

func (s *server) next(counter *int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	*counter++
	return *counter
}

func (s *server) UnaryCall(context.Context, *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	if s.next(&s.unary)%5 == 0 {
		return nil, status.Error(codes.Unavailable, "try again")
	}
	return &testpb.SimpleResponse{}, nil
}

func (s *server) StreamingOutputCall(_ *testpb.StreamingOutputCallRequest, stream grpc.ServerStreamingServer[testpb.StreamingOutputCallResponse]) error {
	if s.next(&s.streams) == 1 {
		return status.Error(codes.Unavailable, "try again")
	}
	for range 3 {
		if err := stream.Send(&testpb.StreamingOutputCallResponse{}); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) EmptyCall(context.Context, *testpb.Empty) (*testpb.Empty, error) {
	return nil, status.Error(codes.Unavailable, "try again")
}
