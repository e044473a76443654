// Package figure draws charts as SVG that stands inside a page.
package figure

import (
	"html/template"
	"image/color"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Ink draws axes and text, Grid the lines behind.
var (
	Ink  = color.NRGBA{R: 0x22, G: 0x2b, B: 0x36, A: 0xff}
	Grid = color.NRGBA{R: 0xcf, G: 0xd5, B: 0xdc, A: 0xff}
)

// Size is how large a chart is drawn: pixels on the page it is made for, where
// its text then has the size given.
type Size struct {
	Width, Height vg.Length
	Text          vg.Length
}

// Wide is for a page, Narrow for a phone.
var (
	Wide   = Size{Width: 760, Height: 180, Text: 12}
	Narrow = Size{Width: 400, Height: 220, Text: 12.5}
)

// Band is a shaded stretch of time.
type Band struct {
	Name       string
	Start, End float64 // seconds
	Fill       color.Color
}

// New is an empty chart over the given seconds and values from 0 to top.
func New(s Size, seconds, top float64, bands []Band) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.X.Min, p.X.Max = 0, seconds
	p.Y.Min, p.Y.Max = 0, top
	p.X.Padding, p.Y.Padding = 0, 0
	p.X.Tick.Marker = Ticks{Count: int(s.Width / 60), Format: inSeconds}
	p.Y.Tick.Marker = Ticks{Count: 6, Format: Thousands}
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Color = Ink
		axis.LineStyle.Width = 0.8
		axis.Tick.LineStyle.Color = Ink
		axis.Tick.LineStyle.Width = 0.8
		axis.Tick.Length = 4
		axis.Tick.Label.Color = Ink
		axis.Tick.Label.Font.Size = s.Text
		axis.Tick.Label.Font.Variant = "Sans"
	}
	p.Y.LineStyle.Width = 0
	p.Y.Tick.Length = 0

	for _, b := range bands {
		p.Add(Area([]float64{b.Start, b.End}, []float64{0, 0}, []float64{top, top}, b.Fill))
	}
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal.Color = Grid
	grid.Horizontal.Width = 0.6
	p.Add(grid)
	return p
}

// Rows are the lines, from the top, that the bands' names stand in over so many
// seconds: each in the first that has room for it.
func Rows(s Size, seconds float64, bands []Band) (rows []int, lines int) {
	var taken [][]Band // by row, what the names cover
	for _, b := range bands {
		half := 0.3 * float64(s.Text) * float64(utf8.RuneCountInString(b.Name)+2) * seconds / (0.92 * float64(s.Width))
		name := Band{Start: (b.Start+b.End)/2 - half, End: (b.Start+b.End)/2 + half}
		row := slices.IndexFunc(taken, func(names []Band) bool {
			return !slices.ContainsFunc(names, func(o Band) bool { return o.Start < name.End && name.Start < o.End })
		})
		if row < 0 {
			row = len(taken)
			taken = append(taken, nil)
		}
		taken[row] = append(taken[row], name)
		rows = append(rows, row)
	}
	return rows, len(taken)
}

// Label writes the bands' names into the head of the chart, over all else.
func Label(p *plot.Plot, s Size, bands []Band) {
	rows, _ := Rows(s, p.X.Max, bands)
	for i, b := range bands {
		labels, err := plotter.NewLabels(plotter.XYLabels{
			XYs:    plotter.XYs{{X: (b.Start + b.End) / 2, Y: p.Y.Max}},
			Labels: []string{b.Name},
		})
		if err != nil {
			continue // a band without extent has nowhere to be named
		}
		labels.TextStyle[0].Color = Ink
		labels.TextStyle[0].Font.Size = s.Text
		labels.TextStyle[0].Font.Variant = "Sans"
		labels.TextStyle[0].XAlign = draw.XCenter
		labels.TextStyle[0].YAlign = draw.YTop
		labels.Offset.Y = -3 - vg.Length(rows[i])*rowHeight*s.Text
		p.Add(labels)
	}
}

// Area fills what is between two lines over the same xs.
func Area(xs, low, high []float64, fill color.Color) *plotter.Polygon {
	outline := make(plotter.XYs, 0, 2*len(xs))
	for i, x := range xs {
		outline = append(outline, plotter.XY{X: x, Y: high[i]})
	}
	for i := len(xs) - 1; i >= 0; i-- {
		outline = append(outline, plotter.XY{X: xs[i], Y: low[i]})
	}
	polygon, err := plotter.NewPolygon(outline)
	if err != nil { // not a number: cannot come from counts
		return &plotter.Polygon{}
	}
	polygon.Color = fill
	polygon.LineStyle.Width = 0
	return polygon
}

// Steps doubles the points of values over columns, so that each column is a
// level stretch and what is drawn is what was counted.
func Steps(values []float64, column, end float64) (xs, ys []float64) {
	for i, v := range values {
		xs = append(xs, min(float64(i)*column, end), min(float64(i+1)*column, end))
		ys = append(ys, v, v)
	}
	return xs, ys
}

// SVG renders p as an element to stand inside HTML: no prologue and no name
// spaces, which HTML does not need, the page's own fonts, and a size that
// follows the page.
func SVG(p *plot.Plot, s Size, class, title string) (template.HTML, error) {
	return Layers(p, s, class, title, nil)
}

// Times are round times, in seconds, from 0 to the end of an axis.
type Times struct{ Count int } // at most

// inMinutes is how many seconds are better told in minutes.
const inMinutes = 180

// timeSteps are the steps between round times, in seconds.
var timeSteps = []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 6 * 3600, 12 * 3600, 24 * 3600, 48 * 3600, 120 * 3600}

// Ticks implements plot.Ticker.
func (t Times) Ticks(low, high float64) (out []plot.Tick) {
	least := (high - low) / float64(max(t.Count, 1))
	if least < 1 {
		return Ticks{Count: t.Count, Format: inSeconds}.Ticks(low, high)
	}
	if high-low >= inMinutes {
		least = max(least, 60)
	}
	step := timeSteps[len(timeSteps)-1]
	for i := len(timeSteps) - 1; i >= 0 && timeSteps[i] >= least; i-- {
		step = timeSteps[i]
	}
	unit, name := 1., " s"
	switch {
	case step >= 3600:
		unit, name = 3600, " h"
	case step >= 60:
		unit, name = 60, " min"
	}
	for v := 0.; v <= high*(1+1e-9); v += step {
		out = append(out, plot.Tick{Value: v, Label: strconv.FormatFloat(v/unit, 'f', -1, 64) + name})
	}
	return out
}

func inSeconds(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) + " s" }

// Ticks are round numbers from 0 to the end of an axis.
type Ticks struct {
	Count  int // at most
	Format func(float64) string
	Last   float64 // none is above it; 0: the end of the axis
}

// Ticks implements plot.Ticker.
func (t Ticks) Ticks(low, high float64) []plot.Tick {
	if t.Last > 0 {
		high = min(high, t.Last)
	}
	step := roundStep((high - low) / float64(max(t.Count, 1)))
	var out []plot.Tick
	for i := 0.0; i*step <= high+step*1e-6; i++ {
		// Rounded, as the sum of tenths is not a tenth.
		v := math.Round(i*step*1e6) / 1e6
		out = append(out, plot.Tick{Value: v, Label: t.Format(v)})
	}
	return out
}

// roundStep is the least of 1, 2, 2.5, 5, 10 times a power of ten that is not
// below atLeast.
func roundStep(atLeast float64) float64 {
	if atLeast <= 0 || math.IsInf(atLeast, 0) || math.IsNaN(atLeast) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(atLeast)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*power >= atLeast*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// Thousands writes a number in groups of three digits.
func Thousands(v float64) string {
	if v == math.Trunc(v) {
		return Count(uint64(v))
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// Count writes n in groups of three digits.
func Count(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// rowHeight is that of a line of names, in heights of its text.
const rowHeight = 1.2

// Headroom is the top of an axis that leaves a line for the bands' names.
func Headroom(top float64) float64 { return top * 1.15 }

// HeadroomFor is Headroom of so many lines, on a chart of a size.
func HeadroomFor(top float64, s Size, lines int) float64 {
	more := rowHeight * float64(s.Text) * float64(max(lines-1, 0)) / float64(s.Height)
	return Headroom(top) / (1 - min(more, 0.6))
}
