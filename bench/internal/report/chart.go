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

var (
	ink  = color.NRGBA{0x22, 0x2b, 0x36, 0xff}
	pale = color.NRGBA{0xd5, 0xda, 0xe0, 0xff}
	// The hues of Okabe and Ito, which differ for the colour-blind too.
	hues = []color.NRGBA{
		{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff},
		{0xe6, 0x9f, 0x00, 0xff}, {0x56, 0xb4, 0xe9, 0xff}, {0x60, 0x60, 0x60, 0xff}, {0x8a, 0x6d, 0x1f, 0xff},
	}
)

// key explains a colour.
type key struct {
	Name  string
	Color template.CSS
}

func newKey(name string, c color.NRGBA) key {
	return key{name, template.CSS(fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B))}
}

// drawing is a chart for a wide page and for a phone.
type drawing struct{ Wide, Narrow template.HTML }

// size is how large a chart is drawn, in pixels of the page it is made for.
type size struct {
	class string
	width vg.Length
	text  vg.Length
}

var sizes = []size{{"wide", 900, 12.5}, {"narrow", 400, 12.5}}

// series is a line over processors.
type series struct {
	name   string
	points []point
}

type point struct{ x, y, low, high float64 }

// overProcs draws ratios over processors.
func overProcs(title, text string, lines []series, procs []int) (figure, error) {
	f := figure{Title: title, Text: text}
	low, high := 1.0, 1.0
	for i, l := range lines {
		f.Legend = append(f.Legend, newKey(l.name, hues[i%len(hues)]))
		for _, p := range l.points {
			low, high = min(low, p.low), max(high, p.high)
		}
	}
	d, err := both(title+": "+text, 260, func(s size) *plot.Plot {
		p := newPlot(s)
		p.X.Min, p.X.Max = 0.5, float64(len(procs))+0.5
		p.X.Tick.Marker = procTicks(procs)
		logAxis(&p.Y, low, high, func(v float64) string { return shortNumber(v) + "x" })
		p.Add(grid(false), rule(p.X.Min, 1, p.X.Max, 1))
		for i, l := range lines {
			var xys plotter.XYs
			for _, pt := range l.points {
				x := place(procs, pt.x)
				xys = append(xys, plotter.XY{X: x, Y: pt.y})
				whisker := rule(x, pt.low, x, pt.high)
				whisker.Color = hues[i%len(hues)]
				p.Add(whisker)
			}
			p.Add(&plotter.Line{XYs: xys, LineStyle: draw.LineStyle{Color: hues[i%len(hues)], Width: 1.6}}, dots(xys, i))
		}
		return p
	})
	f.Drawings = []drawing{d}
	return f, err
}

// bySide draws a dot for each side and number of processors, and bars for the
// allocations.
func bySide(title, text string, sides []string, rows [][]float64, procs []int, allocs []float64) (figure, error) {
	f := figure{Title: title, Text: text}
	low, high := math.Inf(1), 0.0
	for _, row := range rows {
		for _, v := range row {
			low, high = min(low, v), max(high, v)
		}
	}
	for i, n := range procs {
		name := strconv.Itoa(n) + " processors"
		if n == 1 {
			name = "1 processor"
		}
		f.Legend = append(f.Legend, newKey(name, hues[i%len(hues)]))
	}
	height := vg.Length(46 + 22*len(sides))
	d, err := both(title+", nanoseconds an operation", height, func(s size) *plot.Plot {
		p := sidePlot(s, sides)
		logAxis(&p.X, low, high, func(v float64) string { return shortNumber(v) + " ns" })
		p.Add(grid(true))
		for i := range procs {
			var xys plotter.XYs
			for side, row := range rows {
				// A little apart, so that equal ones can all be seen.
				off := (float64(i) - float64(len(procs)-1)/2) * 0.16
				xys = append(xys, plotter.XY{X: row[i], Y: float64(len(sides)-1-side) - off})
			}
			p.Add(dots(xys, i))
		}
		return p
	})
	if err != nil {
		return f, err
	}
	f.Drawings = append(f.Drawings, d)
	most := 0.0
	for _, a := range allocs {
		most = max(most, a)
	}
	if most < 0.5 {
		f.Text += " Nobody allocates."
		return f, nil
	}
	d, err = both(title+", allocations an operation", height, func(s size) *plot.Plot {
		p := sidePlot(s, sides)
		p.X.Min, p.X.Max = 0, most*1.05
		p.X.Tick.Marker = evenTicks{most, " allocs"}
		p.Add(grid(true))
		for side, a := range allocs {
			y := float64(len(sides) - 1 - side)
			bar, err := plotter.NewPolygon(plotter.XYs{{X: 0, Y: y - 0.28}, {X: a, Y: y - 0.28}, {X: a, Y: y + 0.28}, {X: 0, Y: y + 0.28}})
			if err != nil {
				continue
			}
			bar.Color, bar.Width = hues[6], 0
			p.Add(bar)
		}
		return p
	})
	f.Drawings = append(f.Drawings, d)
	return f, err
}

// sidePlot has a line for each side, the first on top.
func sidePlot(s size, sides []string) *plot.Plot {
	p := newPlot(s)
	p.Y.Min, p.Y.Max = -0.6, float64(len(sides))-0.4
	var names plot.ConstantTicks
	for i, name := range sides {
		names = append(names, plot.Tick{Value: float64(len(sides) - 1 - i), Label: name + "   "}) // the page's font may be wider
	}
	p.Y.Tick.Marker = names
	p.Y.Padding = 6 // names and bars
	return p
}

func newPlot(s size) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.X.Padding, p.Y.Padding = 0, 0
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Color = ink
		axis.LineStyle.Width = 0
		axis.Tick.Length = 0
		axis.Tick.LineStyle.Width = 0
		axis.Tick.Label.Color = ink
		axis.Tick.Label.Font.Size = s.text
		axis.Tick.Label.Font.Variant = "Sans"
	}
	return p
}

// dots are marks of the i-th hue.
func dots(xys plotter.XYs, i int) *plotter.Scatter {
	return &plotter.Scatter{XYs: xys, GlyphStyle: draw.GlyphStyle{Color: hues[i%len(hues)], Radius: 3.6, Shape: draw.CircleGlyph{}}}
}

func rule(x0, y0, x1, y1 float64) *plotter.Line {
	return &plotter.Line{XYs: plotter.XYs{{X: x0, Y: y0}, {X: x1, Y: y1}}, LineStyle: draw.LineStyle{Color: ink, Width: 0.9}}
}

// grid has lines at the ticks with labels; both says whether along both axes.
func grid(both bool) *plotter.Grid {
	g := plotter.NewGrid()
	g.Vertical.Color, g.Horizontal.Color = pale, pale
	g.Vertical.Width, g.Horizontal.Width = 0.6, 0.6
	if !both {
		g.Vertical.Width = 0
	}
	return g
}

// both draws a chart in both sizes.
func both(title string, height vg.Length, make func(size) *plot.Plot) (d drawing, err error) {
	if d.Wide, err = svg(make(sizes[0]), sizes[0], height, title); err != nil {
		return d, err
	}
	d.Narrow, err = svg(make(sizes[1]), sizes[1], height, title)
	return d, err
}

var (
	svgHead   = regexp.MustCompile(`(?s)^.*?<svg [^>]*?viewBox="([^"]*)"[^>]*>`)
	fontStyle = regexp.MustCompile(`font-family:[^;"]*;font-variant:[^;"]*;font-weight:[^;"]*;font-style:[^;"]*;`)
)

// svg renders p as an element inside HTML, in the page's own fonts and in a size
// that follows the page.
func svg(p *plot.Plot, s size, height vg.Length, title string) (template.HTML, error) {
	canvas := vgsvg.New(s.width, height)
	p.Draw(draw.Crop(draw.New(canvas), 4, -26, 0, -6)) // room for half of the last label
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", fmt.Errorf("reprise/bench: chart %q: %w", title, err)
	}
	head := fmt.Sprintf(`<svg class="%s" viewBox="$1" role="img" aria-label="%s">`, s.class, template.HTMLEscapeString(title))
	return template.HTML(fontStyle.ReplaceAllString(svgHead.ReplaceAllString(b.String(), head), "")), nil // made here, from numbers
}
