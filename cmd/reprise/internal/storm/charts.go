package storm

import (
	"html/template"
	"image/color"
	"strings"

	"gonum.org/v1/plot"

	"github.com/reprise-go/reprise/cmd/reprise/internal/figure"
	"github.com/reprise-go/reprise/internal/sim"
)

// chart is a value over time, of all policies on the same axes.
type chart struct {
	ID, Title, Text string
	Legend          []entry
	Note            string
	Wide, Narrow    template.HTML
}

// entry is a line of a chart.
type entry struct {
	ID, Mark, Name string
	Sample         template.HTML // a piece of the line
}

// course is what a chart draws of each policy's points.
type course struct {
	id, title, text string
	of              func(Point) float64
	top             float64                // of the axis at the least
	format          func(v float64) string // of values; nil: thousands
	shown           func(values []float64) bool
	note            string // before the names of those that are not shown
	none            string // where none is shown
	shared          string // name of the one line where all policies' are the same
}

var courses = []course{
	{id: "offered", title: "Offered load", text: "Calls that clients begin, per second.", of: func(p Point) float64 { return p.Offered }, shared: "all policies"},
	{id: "load", title: "Load on the service", text: "Requests that reach it, retries included, per second.", of: func(p Point) float64 { return p.Load }},
	{id: "goodput", title: "Goodput", text: "Calls that succeed, per second.", of: func(p Point) float64 { return p.Goodput }},
	{id: "queue", title: "Queue", text: "Requests that wait for a worker of the service.", of: func(p Point) float64 { return float64(p.Queued) }, top: 10},
	{
		id: "quota", title: "Quota level", text: "What may be retried yet, in the mean of the clients.", of: func(p Point) float64 { return 100 * p.Quota }, top: 100,
		format: func(v float64) string { return figure.Thousands(v) + "%" },
		shown:  func(values []float64) bool { return lowest(values) < 100 }, note: "Without a quota, or always full: ", none: "No quota was ever less than full.",
	},
	{
		id: "fill", title: "Fill rate", text: "Requests per second that the clients' send limiters let through, together.", of: func(p Point) float64 { return p.FillRate },
		shown: func(values []float64) bool { return highest(values) > 0 }, note: "Without a limiter, or never throttled: ", none: "None was ever on.",
	},
}

// charts draws the result of s.
func (s *Setup) charts(r Result) (charts []chart, err error) {
	v := view{result: r, bands: bands(s.Scenario), seconds: r.DurationMS / 1e3}
	for _, c := range courses {
		one := chart{ID: c.id, Title: c.title, Text: c.text}
		lines := v.lines(c, 1, &one)
		label := c.title + ": " + c.text
		if len(lines) > 0 {
			if one.Wide, err = v.draw(c, figure.Wide, "wide", label, lines); err != nil {
				return nil, err
			}
			if one.Narrow, err = v.draw(c, figure.Narrow, "narrow", label, v.lines(c, 2, nil)); err != nil {
				return nil, err
			}
		}
		charts = append(charts, one)
	}
	return charts, nil
}

// view draws a result.
type view struct {
	result  Result
	bands   []figure.Band
	seconds float64
}

// lines are the chart's lines, with so many points joined into one; into, if there
// is one, gets the legend and the note.
func (v *view) lines(c course, join int, into *chart) (lines []figure.Layer) {
	var left []string
	same := c.shared != "" && v.same(c)
	for i, p := range v.result.Policies {
		l := figure.Layer{Class: className(i), Mark: mark(i), Style: look(p.Policy)}
		l.XS, l.YS = v.values(c, p, join)
		if c.shown != nil && !c.shown(l.YS) {
			left = append(left, p.Policy)
			continue
		}
		e := entry{ID: className(i), Mark: l.Mark, Name: p.Policy, Sample: figure.Sample(l.Style)}
		if same {
			l.Class, l.Mark, l.Style = "all", "", figure.Style{Color: figure.Ink, Width: 1.6}
			e = entry{Name: c.shared, Sample: figure.Sample(l.Style)}
		}
		lines = append(lines, l)
		if into != nil {
			into.Legend = append(into.Legend, e)
		}
		if same {
			return lines
		}
	}
	if into != nil && len(left) > 0 {
		into.Note = c.note + strings.Join(left, ", ") + "."
		if len(lines) == 0 {
			into.Note = c.none
		}
	}
	return lines
}

// same reports whether a value is the same under all policies, as what is offered in
// an open loop.
func (v *view) same(c course) bool {
	first := v.result.Policies[0]
	for _, p := range v.result.Policies[1:] {
		if len(p.Points) != len(first.Points) {
			return false
		}
		for i := range p.Points {
			if c.of(p.Points[i]) != c.of(first.Points[i]) {
				return false
			}
		}
	}
	return true
}

// values are a policy's, until calls begin no more; each stands at the end of its
// sample, and one that is alone for all of that.
func (v *view) values(c course, p PolicyResult, join int) (xs, ys []float64) {
	join = min(join, max(len(p.Points)/2, 1)) // or a line would be no line
	sum, n := 0., 0
	for _, point := range p.Points {
		if point.AtMS > v.result.DurationMS {
			break
		}
		sum, n = sum+c.of(point), n+1
		if n == join {
			xs, ys = append(xs, point.AtMS/1e3), append(ys, sum/float64(n))
			sum, n = 0, 0
		}
	}
	if len(xs) == 1 {
		xs, ys = append(xs, xs[0]-v.result.SampleMS/1e3), append(ys, ys[0])
	}
	return xs, ys
}

func (v *view) draw(c course, s figure.Size, class, label string, lines []figure.Layer) (template.HTML, error) {
	s.Height = s.Height * 4 / 3 // many lines
	top := c.top
	for _, l := range lines {
		top = max(top, highest(l.YS))
	}
	p := v.plot(c, s, max(top, 1))
	return figure.Layers(p, s, class, label, lines)
}

func (v *view) plot(c course, s figure.Size, top float64) *plot.Plot {
	if len(v.bands) > 0 {
		_, lines := figure.Rows(s, v.seconds, v.bands)
		top = figure.HeadroomFor(top, s, lines)
	}
	p := figure.New(s, v.seconds, top*1.05, v.bands)
	p.X.Tick.Marker = figure.Times{Count: int(s.Width / 60)}
	if c.format != nil {
		p.Y.Tick.Marker = figure.Ticks{Count: 6, Format: c.format, Last: c.top}
	}
	figure.Label(p, s, v.bands)
	return p
}

var troubleColor = color.NRGBA{R: 0xf6, G: 0xd5, B: 0xcf, A: 0xff}

// bands are the faults, as far as calls begin in them.
func bands(s sim.Scenario) (bands []figure.Band) {
	for _, f := range s.Faults {
		if f.Start < s.Duration {
			bands = append(bands, figure.Band{
				Name: faultName(f), Start: f.Start.Seconds(), End: min(f.Start+f.Length, s.Duration).Seconds(), Fill: troubleColor,
			})
		}
	}
	return bands
}

// className is the nth policy's, in the page.
func className(n int) string { return "p" + mark(n) }

func highest(values []float64) (top float64) {
	for _, v := range values {
		top = max(top, v)
	}
	return top
}

func lowest(values []float64) float64 {
	least := 100.
	for _, v := range values {
		least = min(least, v)
	}
	return least
}
