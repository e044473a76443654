package report

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"regexp"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The colours differ in lightness as well, so that they can be told apart on
// black-and-white paper and by the colour-blind.
var (
	inkColor        = color.NRGBA{R: 0x22, G: 0x2b, B: 0x36, A: 0xff}
	gridColor       = color.NRGBA{R: 0xcf, G: 0xd5, B: 0xdc, A: 0xff}
	outageColor     = color.NRGBA{R: 0xf6, G: 0xd5, B: 0xcf, A: 0xff}
	recoveryColor   = color.NRGBA{R: 0xfb, G: 0xf0, B: 0xd9, A: 0xff}
	okColor         = color.NRGBA{R: 0x8f, G: 0xc7, B: 0xb0, A: 0xff}
	failedColor     = color.NRGBA{R: 0xb4, G: 0x2b, B: 0x22, A: 0xff}
	transientColor  = color.NRGBA{R: 0x2b, G: 0x5f, B: 0xa8, A: 0xff}
	throttlingColor = color.NRGBA{R: 0xe8, G: 0xa3, B: 0x3d, A: 0xff}
	quotaColor      = color.NRGBA{R: 0x46, G: 0x3c, B: 0x8f, A: 0xff}
	quotaFill       = color.NRGBA{R: 0xb9, G: 0xb3, B: 0xdf, A: 0xff}
	sentColor       = color.NRGBA{R: 0xb5, G: 0xcd, B: 0xe8, A: 0xff}
	measuredColor   = color.NRGBA{R: 0x1f, G: 0x7a, B: 0x62, A: 0xff}
	fillRateColor   = color.NRGBA{R: 0x46, G: 0x3c, B: 0x8f, A: 0xff}
)

// size is how large a chart is drawn: pixels on the page it is made for, where
// its text then has the size given.
type size struct {
	width, height vg.Length
	text          vg.Length
	columns       int // of throughput and retries
	levels        int // of the quota's level
}

var (
	wide   = size{width: 760, height: 180, text: 12, columns: 120, levels: 700}
	narrow = size{width: 400, height: 220, text: 12.5, columns: 60, levels: 360}
)

// band is a shaded stretch of time.
type band struct {
	name       string
	start, end float64 // seconds
	fill       color.Color
}

// newPlot is an empty chart over the given seconds and values from 0 to top.
func newPlot(s size, seconds, top float64, bands []band) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.X.Min, p.X.Max = 0, seconds
	p.Y.Min, p.Y.Max = 0, top
	p.X.Padding, p.Y.Padding = 0, 0
	p.X.Tick.Marker = ticks{count: int(s.width / 60), format: func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) + " s" }}
	p.Y.Tick.Marker = ticks{count: 6, format: thousands}
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Color = inkColor
		axis.LineStyle.Width = 0.8
		axis.Tick.LineStyle.Color = inkColor
		axis.Tick.LineStyle.Width = 0.8
		axis.Tick.Length = 4
		axis.Tick.Label.Color = inkColor
		axis.Tick.Label.Font.Size = s.text
		axis.Tick.Label.Font.Variant = "Sans"
	}
	p.Y.LineStyle.Width = 0
	p.Y.Tick.Length = 0

	for _, b := range bands {
		p.Add(area([]float64{b.start, b.end}, []float64{0, 0}, []float64{top, top}, b.fill))
	}
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal.Color = gridColor
	grid.Horizontal.Width = 0.6
	p.Add(grid)
	return p
}

// label writes the bands' names into the head of the chart, over all else.
func label(p *plot.Plot, s size, bands []band) {
	for _, b := range bands {
		labels, err := plotter.NewLabels(plotter.XYLabels{
			XYs:    plotter.XYs{{X: (b.start + b.end) / 2, Y: p.Y.Max}},
			Labels: []string{b.name},
		})
		if err != nil {
			continue // a band without extent has nowhere to be named
		}
		labels.TextStyle[0].Color = inkColor
		labels.TextStyle[0].Font.Size = s.text
		labels.TextStyle[0].Font.Variant = "Sans"
		labels.TextStyle[0].XAlign = draw.XCenter
		labels.TextStyle[0].YAlign = draw.YTop
		labels.Offset.Y = -3
		p.Add(labels)
	}
}

// area fills what is between two lines over the same xs.
func area(xs, low, high []float64, fill color.Color) *plotter.Polygon {
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

// line draws ys over xs.
func line(xs, ys []float64, stroke color.Color) *plotter.Line {
	points := make(plotter.XYs, len(xs))
	for i, x := range xs {
		points[i] = plotter.XY{X: x, Y: ys[i]}
	}
	return &plotter.Line{XYs: points, LineStyle: draw.LineStyle{Color: stroke, Width: 1.3}}
}

// steps doubles the points of values over columns, so that each column is a
// level stretch and what is drawn is what was counted.
func steps(values []float64, column, end float64) (xs, ys []float64) {
	for i, v := range values {
		xs = append(xs, min(float64(i)*column, end), min(float64(i+1)*column, end))
		ys = append(ys, v, v)
	}
	return xs, ys
}

var (
	svgHead   = regexp.MustCompile(`(?s)^.*?<svg [^>]*?viewBox="([^"]*)"[^>]*>`)
	fontStyle = regexp.MustCompile(`font-family:[^;"]*;font-variant:[^;"]*;font-weight:[^;"]*;font-style:[^;"]*;`)
)

// svg renders p as an element to stand inside HTML: no prologue and no name
// spaces, which HTML does not need, the page's own fonts, and a size that
// follows the page.
func svg(p *plot.Plot, s size, class, title string) (template.HTML, error) {
	canvas := vgsvg.New(s.width, s.height)
	// The values' labels get the same room in each chart, so that their times
	// lie above each other; to the right is room for half of the last label.
	left := s.text * 3.4
	for _, tick := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		left = min(left, s.text*3.4-p.Y.Tick.Label.Width(tick.Label))
	}
	dc := draw.Crop(draw.New(canvas), max(left, 0), -s.text, 0, 0)
	p.Draw(dc)
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", fmt.Errorf("chart %s: %w", title, err)
	}
	head := fmt.Sprintf(`<svg class="%s" viewBox="$1" role="img" aria-label="%s">`, class, template.HTMLEscapeString(title))
	text := svgHead.ReplaceAllString(b.String(), head)
	text = fontStyle.ReplaceAllString(text, "")
	return template.HTML(text), nil // made here, from numbers
}

// ticks are round numbers from 0 to the end of an axis.
type ticks struct {
	count  int // at most
	format func(float64) string
}

// Ticks implements plot.Ticker.
func (t ticks) Ticks(low, high float64) []plot.Tick {
	step := roundStep((high - low) / float64(max(t.count, 1)))
	var out []plot.Tick
	for i := 0.0; i*step <= high+step*1e-6; i++ {
		// Rounded, as the sum of tenths is not a tenth.
		v := math.Round(i*step*1e6) / 1e6
		out = append(out, plot.Tick{Value: v, Label: t.format(v)})
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

func thousands(v float64) string {
	if v == math.Trunc(v) {
		return count(uint64(v))
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
