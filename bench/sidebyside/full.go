package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/reprise-go/reprise/bench/internal/measure"
	"github.com/reprise-go/reprise/bench/internal/path"
	"github.com/reprise-go/reprise/bench/internal/report"
	"github.com/reprise-go/reprise/bench/internal/run"
)

// fewest is how many passes an interval of order statistics needs to be worth
// its name.
const fewest = 10

// outputs are the files of a report.
type outputs struct{ raw, reasons, markdown, html string }

func (o *outputs) flags(flags *flag.FlagSet) {
	flags.StringVar(&o.raw, "raw", "bin/bench-full.txt", "the raw file, in Go's benchmark format")
	flags.StringVar(&o.reasons, "reasons", "bench/reasons.txt", "why rows lose and goals are missed")
	flags.StringVar(&o.markdown, "markdown", "bench/RESULTS.md", "the table; empty for none")
	flags.StringVar(&o.html, "html", "bin/bench-full.html", "the page; empty for none")
}

// full measures every path on every number of processors.
func full(flags *flag.FlagSet, args []string) error {
	plan, out := run.Plan{}, outputs{}
	out.flags(flags)
	flags.IntVar(&plan.Passes, "passes", 12, "passes, in each of which every side takes its turns; at least 10")
	flags.IntVar(&plan.Turns, "turns", 3, "slices of a side in a pass, whose median is the pass's")
	flags.DurationVar(&plan.Slice, "slice", 5*time.Millisecond, "how long a slice takes")
	procsText := flags.String("procs", "1,2,4,8", "numbers of processors")
	only := flags.String("paths", "", "a regular expression for the names of the paths; empty for all")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := valid(plan); err != nil {
		return err
	}
	if plan.Passes < fewest {
		return fmt.Errorf("reprise/bench: -passes %d: a report wants at least %d", plan.Passes, fewest)
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("reprise/bench: -paths: %w", err)
	}
	procs, err := numbers(*procsText)
	if err != nil {
		return err
	}
	paths := slices.DeleteFunc(path.All(), func(p path.Path) bool { return !pattern.MatchString(p.Name) })
	if len(paths) == 0 {
		return fmt.Errorf("reprise/bench: -paths %q is the name of none", *only)
	}
	raw, err := os.Create(out.raw)
	if err != nil {
		return err
	}
	defer raw.Close()
	if err := measureAll(raw, os.Stderr, paths, procs, plan); err != nil {
		return err
	}
	if err := raw.Close(); err != nil {
		return err
	}
	return write(out)
}

func numbers(text string) ([]int, error) {
	var all []int
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || n > measure.MaxProcs {
			return nil, fmt.Errorf("reprise/bench: -procs %q: want numbers from 1 to %d with commas between them", text, measure.MaxProcs)
		}
		all = append(all, n)
	}
	return all, nil
}

// measureAll writes a line for each pass of each row.
func measureAll(raw, notes io.Writer, paths []path.Path, procs []int, plan run.Plan) error {
	w, config := benchfmt.NewWriter(raw), report.Environment()
	begun, done, all := time.Now(), 0, len(paths)*len(procs)
	for _, p := range paths {
		for _, n := range procs {
			done++
			fmt.Fprintf(notes, "[%3d/%d %6s] path=%s procs=%d: %d sides, %d passes\n", done, all, time.Since(begun).Round(time.Second), p.Name, n, len(p.Sides), plan.Passes)
			var failed error
			err := run.Path(p, n, plan, func(pass run.Pass) {
				for i, s := range pass {
					line := report.Line(report.Key{Path: p.Name, Impl: p.Sides[i].Impl, Procs: n}, s.N, s.Nanos(), s.Allocs, s.Bytes)
					line.Config = config
					if err := w.Write(line); err != nil && failed == nil {
						failed = err
					}
				}
			})
			if err != nil {
				return err
			}
			if failed != nil {
				return failed
			}
		}
	}
	return nil
}

// again makes the report of a raw file.
func again(flags *flag.FlagSet, args []string) error {
	var out outputs
	out.flags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	return write(out)
}

func write(out outputs) error {
	raw, err := os.Open(out.raw)
	if err != nil {
		return err
	}
	defer raw.Close()
	d, err := report.Read(raw, out.raw)
	if err != nil {
		return err
	}
	file, err := os.Open(out.reasons)
	if err != nil {
		return err
	}
	defer file.Close()
	reasons, err := report.ReadReasons(file, out.reasons)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		make func(io.Writer, report.Reasons) error
	}{{out.markdown, d.Markdown}, {out.html, d.HTML}} {
		if f.name == "" {
			continue
		}
		var b strings.Builder
		if err := f.make(&b, reasons); err != nil {
			return err
		}
		if err := os.WriteFile(f.name, []byte(b.String()), 0o644); err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "wrote", f.name)
	}
	return d.Verdict(reasons)
}
