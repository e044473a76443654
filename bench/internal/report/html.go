package report

import (
	_ "embed"
	"html/template"
	"io"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/reprise-go/reprise/bench/internal/ratio"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// figure is a part of the page with its drawings.
type figure struct {
	Title, Text string
	Legend      []key
	Drawings    []drawing
}

// tableRow is a goal or a loss.
type tableRow struct {
	Name, Measured, Interval, Goal, Reason string
	Procs                                  int
	Missed                                 bool
}

// HTML writes the report as one page that refers to nothing outside itself.
func (d *Data) HTML(w io.Writer, reasons Reasons) error {
	data := struct {
		Config        []benchfmt.Config
		Passes        int
		Goals, Losses []tableRow
		Ratios, Paths []figure
	}{Config: d.Config, Passes: d.passes()}
	goals, _ := d.goals(reasons)
	for _, g := range goals {
		row := tableRow{Name: g.ratio.Name, Procs: g.procs, Measured: times(g.got.Median), Interval: span(g.got, times)}
		if g.want > 0 {
			row.Goal, row.Missed, row.Reason = times(g.want), !g.met(), g.reason
		}
		data.Goals = append(data.Goals, row)
	}
	losses, _ := d.losses(reasons)
	for _, l := range losses {
		data.Losses = append(data.Losses, tableRow{
			Name: l.key.String(), Measured: times(l.ratio.Median), Interval: span(l.ratio, times), Reason: l.reason,
		})
	}
	var err error
	if data.Ratios, err = d.ratioFigures(); err != nil {
		return err
	}
	if data.Paths, err = d.pathFigures(); err != nil {
		return err
	}
	return page.Execute(w, data)
}

// passes is how many passes most rows have.
func (d *Data) passes() int {
	most := 0
	for _, row := range d.Rows {
		most = max(most, len(row.Nanos))
	}
	return most
}

// ratioFigures are the ratios over processors: against the SDK, and against the
// others, as one drawing could not be read.
func (d *Data) ratioFigures() ([]figure, error) {
	var figures []figure
	for _, part := range []struct {
		title, text string
		in          func(r ratio.Ratio) bool
	}{
		{
			"A call beside the SDK's", "Times faster; net of the operation.",
			func(r ratio.Ratio) bool { return strings.Contains(r.Name, "-aws-") },
		},
		{
			"A call beside other libraries'", "Times faster; net of the operation.",
			func(r ratio.Ratio) bool {
				return strings.HasPrefix(r.Name, "do-vs-") && !strings.Contains(r.Name, "aws")
			},
		},
		{
			"The limiter beside the SDK's", "Times faster.",
			func(r ratio.Ratio) bool { return strings.HasPrefix(r.Name, "adaptive") || r.Name == "throttle-storm" },
		},
		{
			"The parts of a decision", "Times faster than the SDK's.",
			func(r ratio.Ratio) bool {
				return slices.Contains([]string{"decision", "refusal", "jitter", "bucket-full", "bucket-moving", "bucket-full-alone", "bucket-moving-alone"}, r.Name)
			},
		},
	} {
		var lines []series
		for _, r := range ratio.All {
			if !part.in(r) {
				continue
			}
			s := series{name: r.Name}
			for _, procs := range d.Procs() {
				if i, ok := d.Of(r, procs); ok {
					s.points = append(s.points, point{float64(procs), i.Median, i.Low, i.High})
				}
			}
			if len(s.points) > 0 {
				lines = append(lines, s)
			}
		}
		if len(lines) == 0 {
			continue
		}
		f, err := overProcs(part.title, part.text, lines, d.Procs())
		if err != nil {
			return nil, err
		}
		figures = append(figures, f)
	}
	return figures, nil
}

// pathFigures are the times of each path's sides, and below them their
// allocations if anybody allocates.
func (d *Data) pathFigures() ([]figure, error) {
	var figures []figure
	for _, p := range d.present() {
		var sides []string
		var rows [][]float64 // by side, then by number of processors
		var allocs []float64
		var used []int
		for _, n := range d.Procs() {
			if _, ok := d.Median(Key{p.Name, p.Ours, n}); ok {
				used = append(used, n)
			}
		}
		if len(used) == 0 {
			continue
		}
		for _, s := range p.Sides {
			var row []float64
			for _, n := range used {
				if m, ok := d.Median(Key{p.Name, s.Impl, n}); ok {
					row = append(row, m.Median)
				}
			}
			if len(row) != len(used) {
				continue
			}
			sides, rows = append(sides, s.Impl), append(rows, row)
			allocs = append(allocs, summary(d.Rows[Key{p.Name, s.Impl, used[0]}].Allocs).Median)
		}
		f, err := bySide(p.Name, p.What, sides, rows, used, allocs)
		if err != nil {
			return nil, err
		}
		figures = append(figures, f)
	}
	return figures, nil
}
