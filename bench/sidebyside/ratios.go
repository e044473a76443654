package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/reprise-go/reprise/bench/internal/path"
	"github.com/reprise-go/reprise/bench/internal/ratio"
	"github.com/reprise-go/reprise/bench/internal/report"
	"github.com/reprise-go/reprise/bench/internal/run"
)

// measured is a ratio as the JSON file has it.
type measured struct {
	Ratio  string  `json:"ratio"`
	Procs  int     `json:"procs"`
	Value  float64 `json:"value"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Ours   float64 `json:"ours_ns"`
	Theirs float64 `json:"theirs_ns"`
	Goal   float64 `json:"goal,omitempty"`
	Met    *bool   `json:"met,omitempty"`
}

// ratios prints a line "ratio NAME PROCS VALUE" for each ratio and number of
// processors, as soon as it is known.
func ratios(flags *flag.FlagSet, args []string) error {
	plan := run.Plan{}
	flags.IntVar(&plan.Passes, "passes", 15, "passes, in each of which every side takes its turns")
	flags.IntVar(&plan.Turns, "turns", 9, "slices of a side in a pass, whose median is the pass's")
	flags.DurationVar(&plan.Slice, "slice", time.Millisecond, "how long a slice takes")
	file := flags.String("json", "", "a file for the ratios with their intervals, times and goals")
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), "usage: sidebyside ratios [flags] [ratio...]\n")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := valid(plan); err != nil {
		return err
	}
	wanted := ratio.All
	if names := flags.Args(); len(names) > 0 {
		for _, name := range names {
			if !slices.ContainsFunc(ratio.All, func(r ratio.Ratio) bool { return r.Name == name }) {
				return fmt.Errorf("reprise/bench: no ratio is called %q", name)
			}
		}
		wanted = slices.DeleteFunc(slices.Clone(wanted), func(r ratio.Ratio) bool { return !slices.Contains(names, r.Name) })
	}
	var out []measured
	for _, procs := range []int{1, 2} {
		d := &report.Data{Rows: make(map[report.Key]*report.Series)}
		for _, r := range wanted {
			if err := measureFor(d, r, wanted, procs, plan); err != nil {
				return err
			}
			out = append(out, show(os.Stdout, os.Stderr, d, r, procs))
		}
	}
	if *file == "" {
		return nil
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(*file, append(text, '\n'), 0o644)
}

func valid(p run.Plan) error {
	if p.Passes < 1 || p.Turns < 1 || p.Slice <= 0 {
		return fmt.Errorf("reprise/bench: -passes %d -turns %d -slice %v: each must be above 0", p.Passes, p.Turns, p.Slice)
	}
	return nil
}

// measureFor measures r's path, with the sides that any of the wanted ratios
// needs, unless that has been done.
func measureFor(d *report.Data, r ratio.Ratio, wanted []ratio.Ratio, procs int, plan run.Plan) error {
	p, ok := path.Find(r.Path)
	if !ok {
		return fmt.Errorf("reprise/bench: ratio %s is of path %q, which there is not", r.Name, r.Path)
	}
	if d.Rows[report.Key{Path: r.Path, Impl: r.Ours, Procs: procs}] != nil {
		return nil
	}
	p.Sides = slices.DeleteFunc(slices.Clone(p.Sides), func(s path.Side) bool {
		return !slices.ContainsFunc(wanted, func(r ratio.Ratio) bool {
			return r.Path == p.Name && (s.Impl == r.Ours || s.Impl == r.Peer || s.Impl == r.Base)
		})
	})
	return run.Path(p, procs, plan, func(pass run.Pass) {
		for i, s := range pass {
			d.Add(report.Key{Path: p.Name, Impl: p.Sides[i].Impl, Procs: procs}, s.Nanos(), s.Allocs, s.Bytes)
		}
	})
}

// show prints the ratio, and beside it, for people, what it is made of.
func show(out, notes io.Writer, d *report.Data, r ratio.Ratio, procs int) measured {
	i, _ := d.Of(r, procs)
	ours, _ := d.Median(report.Key{Path: r.Path, Impl: r.Ours, Procs: procs})
	theirs, _ := d.Median(report.Key{Path: r.Path, Impl: r.Peer, Procs: procs})
	m := measured{r.Name, procs, i.Median, i.Low, i.High, ours.Median, theirs.Median, r.Goal(procs), nil}
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "ratio %s %d %.1f\n", r.Name, procs, i.Median)
	_ = w.Flush()
	note := ""
	if m.Goal > 0 {
		met := i.Median >= m.Goal
		m.Met, note = &met, fmt.Sprintf("   goal %g: met", m.Goal)
		if !met {
			note = fmt.Sprintf("   goal %g: MISSED", m.Goal)
		}
	}
	fmt.Fprintf(notes, "      %.1f to %.1f   %s %.2f ns, %s %.2f ns%s\n", i.Low, i.High, r.Peer, theirs.Median, r.Ours, ours.Median, note)
	return m
}
