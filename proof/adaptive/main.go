// Adaptive measures the send limiter in internal/sim: how much of a throttled
// service its clients use, with R8 as published and with one cut for a burst of
// throttles (ratelimit's ThrottleAt, engine.WithThrottleCoalescing).
//
//	adaptive                    the tables of TABLE.md, in some minutes
//	adaptive -capacity 500      one capacity of the grid, and nothing else
//	adaptive -window 100ms      another window than a minute
//
// It runs engines and their limiters as they are. The same code makes the same
// tables, byte by byte, on one architecture. make adaptive-table writes TABLE.md.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/reprise-go/reprise/internal/sim"
)

// seed is that of all that is published.
const seed = 1

// recommended is the published window: longer than any response takes.
const recommended = time.Minute

func main() {
	capacity := flag.Float64("capacity", 0, "one capacity of the grid only, requests/s")
	window := flag.Duration("window", recommended, "of coalescing")
	flag.Parse()
	if flag.NArg() > 0 || *window <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := report(os.Stdout, os.Stderr, *window, *capacity); err != nil {
		fmt.Fprintln(os.Stderr, "adaptive:", err)
		os.Exit(1)
	}
}

// report writes the tables of the grid, or of one capacity, and tells progress.
func report(out, progress io.Writer, window time.Duration, capacity float64) error {
	if capacity != 0 {
		return reportGrid(out, progress, window, cells(capacity))
	}
	if _, err := io.WriteString(out, head); err != nil {
		return err
	}
	if err := reportGrid(out, progress, window, cells(0)); err != nil {
		return err
	}
	if err := reportTroubles(out, progress, window); err != nil {
		return err
	}
	if err := reportStarts(out, progress, window); err != nil {
		return err
	}
	return reportWindows(out)
}

// policies are published and ours.
func policies(window time.Duration) [2]sim.Policy {
	return [2]sim.Policy{sim.Adaptive(), sim.Coalescing(window)}
}
