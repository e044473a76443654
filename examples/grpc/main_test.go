package main

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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
	// 40 of 40 unary calls succeeded, after 9 retries; 500 of 500 tokens left
	// a stream that failed before its first message brought 3
	// a method that may not be sent twice: Unavailable, not replayable: true
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	require.Error(t, run(ctx, &out))
	assert.Contains(t, out.String(), "0 of 40")
}
