package main

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/engine"
)

// The size of the crowd; make ci asks for more.
var calls = flag.Int("calls", 20_000, "calls in flight, and goroutines asleep, at once")

func TestInFlight(t *testing.T) {
	for _, mode := range []engine.Mode{engine.Standard, engine.Adaptive} {
		t.Run(mode.String(), func(t *testing.T) { require.NoError(t, fly(t.Output(), *calls, mode)) })
	}
}

func TestAsleep(t *testing.T) {
	for _, mode := range []engine.Mode{engine.Standard, engine.Adaptive} {
		t.Run(mode.String(), func(t *testing.T) { require.NoError(t, sleepAll(t.Output(), *calls, mode)) })
	}
}
