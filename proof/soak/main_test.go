package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/engine"
)

// Five seconds of the soak in all, with and without faults in the machine.
func TestSoak(t *testing.T) {
	for _, mode := range []engine.Mode{engine.Standard, engine.Adaptive} {
		for _, faults := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v/faults=%v", mode, faults), func(t *testing.T) {
				require.NoError(t, soak(t.Output(), mode, 1250*time.Millisecond, 400*time.Millisecond, faults))
			})
		}
	}
}
