package main

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Example runs the program.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := run(ctx, os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// one request in three fails: 20 of 20 calls succeeded, 29 requests sent, 500 tokens left; 0 used up their attempts, 0 were refused a retry
	// all fail: 0 of 30 calls succeeded, 65 requests sent, 10 tokens left; 17 used up their attempts, 13 were refused a retry
	// through the proxy, one in two fails: 10 of 10 calls succeeded, 19 requests sent, 500 tokens left
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	require.ErrorIs(t, run(ctx, t.Output()), context.DeadlineExceeded)
}
