// Command lines says what the paths that callers walk all the time would reach on
// machines with many cores: by a model, not by a measurement.
//
//	lines [-transfer NS] [-streak NS] [-cores 1,2,16,32,64,128] [-n CALLS]
//
// What goes in: how many words of shared cache lines each path writes, which a test
// counts exactly (lines.txt, see TestLines); what a call costs one core, and how
// long a line takes from one core to another, both measured here. What comes out is
// min(cores/cost, 1/(writes x transfer)). The model assumes
//
//   - that every core does nothing but this: a program that does work between its
//     calls meets the limit at more cores, by as much as the call is the smaller part;
//   - that a line costs the same from every core to every other: between sockets, or
//     between the parts of a large processor, it is two to five times dearer, and the
//     limit that much lower (-transfer);
//   - that a compare-and-swap never fails, where in truth it does and comes again;
//   - that what only reads a line, or writes one that no other core uses, scales:
//     shared memory that nobody writes is in every core's cache.
//
// So where a path writes nothing shared the line is straight, and for the others the
// limit is a hope. The worst case takes a transfer for every write; the best what a
// write costs when two cores here write one line at full speed, each several times
// before it loses the line. Two cores are measured beside the model, as a check.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"

	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/proof/internal/hot"
)

const touchesFile = "lines.txt"

// shown are the paths of the table.
var shown = []string{
	"call-success", "do-success", "do-success/hooks=counting", "do-success/quota=moving",
	"adaptive/throttled=never", "retry-then-success", "refused", "group-look-up", "http-success",
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "lines:", err)
		os.Exit(1)
	}
}

// run is the command. The working folder is that of lines.txt.
func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("lines", flag.ContinueOnError)
	var m machine
	flags.Float64Var(&m.transfer, "transfer", 0, "`nanoseconds` of a line from one core to another; 0: measure")
	flags.Float64Var(&m.streak, "streak", 0, "`nanoseconds` of a write to a line that all write; 0: measure")
	list := flags.String("cores", "1,2,16,32,64,128", "numbers of cores")
	n := flags.Int("n", 500_000, "calls of one repeat of a measurement")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var cores []int
	for _, word := range strings.Split(*list, ",") {
		c, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || c < 1 {
			return fmt.Errorf("-cores %q: want numbers from 1, with commas between them", *list)
		}
		cores = append(cores, c)
	}
	if m.transfer < 0 || m.streak < 0 || *n < 10 {
		return fmt.Errorf("-transfer %v -streak %v -n %d: want 0 or more nanoseconds, and at least 10 calls", m.transfer, m.streak, *n)
	}
	text, err := os.ReadFile(touchesFile)
	if err != nil {
		return err
	}
	counted, err := parseTouches(string(text))
	if err != nil {
		return err
	}
	if m.transfer == 0 {
		if m.transfer, err = transferOf(*n / 50); err != nil {
			return err
		}
	}
	if m.streak == 0 {
		if m.streak = streakOf(*n); m.streak == 0 {
			return errors.New("two cores were never free at once: try again when the machine is quiet, or give -streak")
		}
	}
	m.streak = min(m.streak, m.transfer)
	rows := baselines(*n)
	for _, path := range hot.Paths() {
		i := slices.IndexFunc(counted, func(t touches) bool { return t.path == path.Name })
		if slices.Contains(shown, path.Name) && i >= 0 {
			rows = append(rows, measure(path.Name, counted[i].hottest, *n, path.Make()))
		}
	}
	report(out, m, cores, rows)
	return nil
}

// baselines are what others do with each call, for comparison.
func baselines(n int) []measured {
	var word atomic.Uint64
	var mu sync.Mutex
	var locked uint64
	return []measured{
		measure("(one atomic add a call)", 1, n, func(n int) {
			for range n {
				word.Inc()
			}
		}),
		measure("(one sync.Mutex a call)", 2, n, func(n int) {
			for range n {
				mu.Lock()
				locked++
				mu.Unlock()
			}
		}),
	}
}

func report(out io.Writer, m machine, cores []int, rows []measured) {
	fmt.Fprintf(out, "A model, not a measurement: million calls a second of a process whose cores do nothing else.\n"+
		"From: a line goes from core to core in %.0f ns, a write to a line that all write costs %.0f ns at the best.\n\n", m.transfer, m.streak)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "path\twrites on a line\tns\t2 cores, measured\t")
	for _, c := range cores {
		fmt.Fprintf(table, "%d\t", c)
	}
	fmt.Fprintln(table)
	for _, r := range rows {
		fmt.Fprintf(table, "%s\t%d\t%.1f\t%s\t", r.name, r.writesOnOneLine, r.costNanos, pair(r.pairNanos))
		for _, c := range cores {
			s := m.speedOf(r.costNanos, r.writesOnOneLine, c)
			if digits(s.worst) == digits(s.best) {
				fmt.Fprintf(table, "%s\t", digits(s.worst))
			} else {
				fmt.Fprintf(table, "%s-%s\t", digits(s.worst), digits(s.best))
			}
		}
		fmt.Fprintln(table)
	}
	table.Flush()
	chart(out, m, cores[len(cores)-1], rows)
}

func pair(nanos float64) string {
	if nanos == 0 {
		return "?"
	}
	return digits(1 / nanos)
}

// digits is million calls a second.
func digits(perNano float64) string { return strconv.FormatFloat(1000*perNano, 'f', 0, 64) }

const chartWidth = 50

// chart draws what the last number of cores reach of what they would if nobody
// waited: the worst case full, what the best case has more of it in dots.
func chart(out io.Writer, m machine, cores int, rows []measured) {
	fmt.Fprintf(out, "\nWhat %d cores reach of %d times one core:\n", cores, cores)
	for _, r := range rows {
		s, all := m.speedOf(r.costNanos, r.writesOnOneLine, cores), float64(cores)/r.costNanos
		worst, best := int(chartWidth*s.worst/all+0.5), int(chartWidth*s.best/all+0.5)
		bar := strings.Repeat("#", worst) + strings.Repeat(".", best-worst)
		fmt.Fprintf(out, "%28s |%-*s| %3.0f %%\n", r.name, chartWidth, bar, 100*s.worst/all)
	}
}
