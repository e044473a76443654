// Command doorcost measures what a door costs before an upstream that is well: a
// small gateway whose client is bare beside the same one whose client has the
// door, each a process of its own, on loopback.
//
// Rounds alternate bare, door, door, bare (a block), so that what drifts on the
// machine meets both alike, and a ratio is that of one block. What is published is
// the median of the blocks' ratios with an interval that holds the true median
// with 95 % at least, whatever the noise's distribution. Throughput is what wrk
// gets through when it asks as fast as it is answered. Processor time and
// allocations are the gateway's own, for each of its requests; other load on the
// machine touches them less, and least of all the door alone: its time over a
// client that answers at once, as a share of the processor time of a bare request,
// which is what throughput can lose on a machine without noise. Latencies are vegeta's, at a rate below what the
// gateway can do.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

// options are the flags of a run.
type options struct {
	blocks      int           // of wrk, for each pair
	connections int           // of wrk
	paced       int           // blocks of vegeta, for each pair
	rate        int           // of vegeta, requests a second
	last        time.Duration // a round of vegeta
	json        bool
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == gatewayWord {
		fail(serveGateway(os.Args[2:]))
		return
	}
	fail(run(os.Args[1:], os.Stdout, os.Stderr))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "doorcost:", err)
		os.Exit(1)
	}
}

func run(args []string, out, progress io.Writer) error {
	var o options
	flags := flag.NewFlagSet("doorcost", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.IntVar(&o.blocks, "blocks", 12, "blocks of four rounds of wrk, one second each, for each door (1 to 40)")
	flags.IntVar(&o.connections, "connections", 32, "connections of wrk (1 to 512)")
	flags.IntVar(&o.paced, "paced", 2, "blocks of four rounds of vegeta for each door (0 to 20)")
	flags.IntVar(&o.rate, "rate", 1000, "requests a second of vegeta (1 to 20000)")
	flags.DurationVar(&o.last, "last", 2*time.Second, "a round of vegeta (at most 10s)")
	flags.BoolVar(&o.json, "json", false, "print JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	within := func(n, least, most int) bool { return least <= n && n <= most }
	if !within(o.blocks, 1, 40) || !within(o.connections, 1, 512) || !within(o.paced, 0, 20) || !within(o.rate, 1, 20_000) ||
		o.last <= 0 || o.last > 10*time.Second || flags.NArg() > 0 {
		return fmt.Errorf("a flag is out of its range, or there is something beside the flags: %v", args)
	}
	report, err := measure(o, progress)
	if err != nil {
		return err
	}
	if o.json {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	}
	return report.print(out)
}
