// Command grpc shows a gRPC client behind the retry engine: unary calls and a stream
// to a server on 127.0.0.1 that fails on purpose. It ends by itself within seconds.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/reprise-go/reprise/adapters/grpcretry"
	"github.com/reprise-go/reprise/engine"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := run(ctx, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	addr, stop, err := serve()
	if err != nil {
		return err
	}
	defer stop()

	e, err := engine.New()
	if err != nil {
		return err
	}
	methods := []string{"/grpc.testing.TestService/UnaryCall", "/grpc.testing.TestService/StreamingOutputCall"}
	creds := grpc.WithTransportCredentials(insecure.NewCredentials())
	// These are the two lines that a program adds: which methods may be sent twice,
	// and the options for grpc.NewClient.
	retries, err := grpcretry.New(e, grpcretry.WithIdempotent(methods...))
	if err != nil {
		return err
	}
	conn, err := grpc.NewClient(addr, append(retries.DialOptions(), creds)...)
	if err != nil {
		return err
	}
	defer conn.Close()
	client := testpb.NewTestServiceClient(conn)

	succeeded := 0
	for range calls {
		if _, err := client.UnaryCall(ctx, &testpb.SimpleRequest{}); err == nil {
			succeeded++
		}
	}
	s := e.Stats()
	fmt.Fprintf(out, "%d of %d unary calls succeeded, after %d retries; %d of %d tokens left\n",
		succeeded, calls, s.TransientRetries+s.ThrottlingRetries, s.QuotaLevel, s.QuotaCapacity)

	stream, err := client.StreamingOutputCall(ctx, &testpb.StreamingOutputCallRequest{})
	if err != nil {
		return err
	}
	messages := 0
	for {
		if _, err := stream.Recv(); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		messages++
	}
	fmt.Fprintf(out, "a stream that failed before its first message brought %d\n", messages)

	_, err = client.EmptyCall(ctx, &testpb.Empty{})
	fmt.Fprintf(out, "a method that may not be sent twice: %v, not replayable: %v\n", status.Code(err), errors.Is(err, engine.ErrNotReplayable))
	return nil
}
