package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Markdown writes the report as Markdown: the goals, the rows that lose, and a
// table for each path.
func (d *Data) Markdown(w io.Writer, reasons Reasons) error {
	var b strings.Builder
	b.WriteString("# Side by side\n\nMade by `make bench-full`; not to be edited. What the rows and columns mean is in [README.md](README.md).\n\n")
	for _, c := range d.Config {
		fmt.Fprintf(&b, "* %s: %s\n", c.Key, c.Value)
	}
	b.WriteString("\n## Goals\n\nHow many times faster, median of the passes' ratios and its 95 % interval.\n\n| ratio | procs | measured | interval | goal | |\n|---|--:|--:|--:|--:|---|\n")
	goals, _ := d.goals(reasons)
	for _, g := range goals {
		want, verdict := "", ""
		if g.want > 0 {
			want, verdict = times(g.want), "met"
			if !g.met() {
				verdict = "**missed**: " + g.reason
			}
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s |\n", g.ratio.Name, g.procs, times(g.got.Median), span(g.got, times), want, verdict)
	}
	losses, _ := d.losses(reasons)
	b.WriteString("\n## Rows that lose\n\n")
	if len(losses) == 0 {
		b.WriteString("None.\n")
	} else {
		b.WriteString("Theirs over ours, where all of the interval lies below 1.\n\n| row | ratio | interval | why |\n|---|--:|--:|---|\n")
		for _, l := range losses {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", l.key, times(l.ratio.Median), span(l.ratio, times), l.reason)
		}
	}
	b.WriteString("\n## Paths\n\nNanoseconds an operation, median; then how many times ours it is, with the 95 % interval, where base is off both; allocations an operation.\n")
	for _, p := range d.present() {
		fmt.Fprintf(&b, "\n### %s\n\n%s", p.Name, p.What)
		fmt.Fprintf(&b, " Ours: %s.", p.Ours)
		if p.Base != "" {
			fmt.Fprintf(&b, " Base: %s.", p.Base)
		}
		b.WriteString("\n\n| impl |")
		line := "|---|"
		var procs []int
		for _, n := range d.Procs() {
			if _, ok := d.Median(Key{p.Name, p.Ours, n}); ok {
				procs = append(procs, n)
				fmt.Fprintf(&b, " %d | ratio |", n)
				line += "--:|--:|"
			}
		}
		b.WriteString(" allocs |\n" + line + "--:|\n")
		for _, s := range p.Sides {
			fmt.Fprintf(&b, "| %s |", s.Impl)
			for _, n := range procs {
				m, _ := d.Median(Key{p.Name, s.Impl, n})
				cell := ""
				if r, ok := d.Ratio(p.Name, p.Ours, s.Impl, p.Base, n); ok && s.Impl != p.Ours && s.Impl != p.Base {
					cell = times(r.Median) + " (" + span(r, times) + ")"
				}
				fmt.Fprintf(&b, " %s | %s |", nanos(m.Median), cell)
			}
			fmt.Fprintf(&b, " %s |\n", d.allocs(p.Name, s.Impl, procs))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (d *Data) allocs(path, impl string, procs []int) string {
	if len(procs) == 0 {
		return ""
	}
	row := d.Rows[Key{path, impl, procs[0]}]
	if row == nil {
		return ""
	}
	return round(summary(row.Allocs).Median)
}

// round leaves out the shares that the starting of goroutines is to blame for.
func round(allocs float64) string {
	return strconv.FormatFloat(float64(int(allocs*10+0.5))/10, 'f', -1, 64)
}

func nanos(v float64) string {
	switch {
	case v < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
}

func times(v float64) string {
	switch {
	case v < 3:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 20:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
}

func span(i Interval, format func(float64) string) string {
	return format(i.Low) + " to " + format(i.High)
}
