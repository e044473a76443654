// Command million has a million calls under way at once, twice: as values in a loop in virtual time, on all processors,
// and as goroutines that sleep in Do. Both go through an outage and a recovery with failures of all classes, server hints,
// cancellations and panics, in standard and in adaptive mode.
//
//	million [-calls N] [-asleep N]
//
// It ends with an error unless each token is where R6 puts it, no more is admitted than R8 allows, all calls end, no
// goroutine is left, and the memory is what is promised.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/reprise-go/reprise/engine"
)

func main() {
	calls := flag.Int("calls", 1_000_000, "calls in flight at once")
	asleep := flag.Int("asleep", 1_000_000, "goroutines asleep in Do at once")
	flag.Parse()
	if err := run(*calls, *asleep); err != nil {
		fmt.Fprintln(os.Stderr, "million:", err)
		os.Exit(1)
	}
}

func run(calls, asleep int) error {
	for _, mode := range []engine.Mode{engine.Standard, engine.Adaptive} {
		if err := fly(os.Stdout, calls, mode); err != nil {
			return fmt.Errorf("%d calls in flight, %v: %w", calls, mode, err)
		}
	}
	for _, mode := range []engine.Mode{engine.Standard, engine.Adaptive} {
		if err := sleepAll(os.Stdout, asleep, mode); err != nil {
			return fmt.Errorf("%d goroutines asleep, %v: %w", asleep, mode, err)
		}
	}
	return nil
}
