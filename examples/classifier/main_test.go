package main

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// Example runs the program.
func Example() {
	if err := run(context.Background(), os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// as published
	//   locked    not sent again: 409 LedgerLocked
	//   busy      not sent again: 400 DailyPace
	//   early     not sent again: 425 TooSoon
	//   down      max_attempts after 3 attempts: 503 Maintenance
	//   no-funds  not sent again: 402 NoFunds
	// with the service's own codes
	//   locked    charged at attempt 2
	//   busy      charged at attempt 2
	//   early     charged at attempt 2
	//   down      not sent again: 503 Maintenance
	//   no-funds  not sent again: 402 NoFunds
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, run(ctx, t.Output()), context.Canceled)
}
