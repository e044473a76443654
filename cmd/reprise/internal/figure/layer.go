package figure

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"regexp"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Style tells lines apart: by colour, and without it by dashes and by the mark in
// their badges.
type Style struct {
	Color  color.NRGBA
	Dashes []vg.Length // none: a solid line
	Width  vg.Length
}

// Layer is one line of a chart, in an element of its own, so that a page may hide
// it.
type Layer struct {
	Class  string // of its element
	Mark   string // what its badges say; none: no badges
	XS, YS []float64
	Style
}

var (
	svgHead   = regexp.MustCompile(`(?s)^.*?<svg [^>]*?viewBox="([^"]*)"[^>]*>`)
	svgTail   = regexp.MustCompile(`</svg>\s*$`)
	fontStyle = regexp.MustCompile(`font-family:[^;"]*;font-variant:[^;"]*;font-weight:[^;"]*;font-style:[^;"]*;`)
)

// Layers renders p as [SVG] does, with the layers over it.
func Layers(p *plot.Plot, s Size, class, title string, layers []Layer) (template.HTML, error) {
	viewBox, under, err := render(s, func(c draw.Canvas) { p.Draw(inset(p, s, c)) })
	if err != nil {
		return "", fmt.Errorf("chart %s: %w", title, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="%s" viewBox="%s" role="img" aria-label="%s">%s`, class, viewBox, template.HTMLEscapeString(title), under)
	draws := []func(draw.Canvas, int){
		func(c draw.Canvas, i int) { Line(layers[i].XS, layers[i].YS, layers[i].Style).Plot(c, p) },
		func(c draw.Canvas, i int) { layers[i].badges(c, p, s, i, len(layers)) },
	}
	for _, one := range draws { // no line goes over a badge
		for i, l := range layers {
			_, over, err := render(s, func(c draw.Canvas) { one(p.DataCanvas(inset(p, s, c)), i) })
			if err != nil {
				return "", fmt.Errorf("chart %s: %w", title, err)
			}
			fmt.Fprintf(&b, `<g class="%s">%s</g>`, l.Class, over)
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()), nil // made here, from numbers and names that are checked
}

// inset leaves the values' labels the same room in each chart, so that their times
// lie above each other; to the right is room for half of the last label.
func inset(p *plot.Plot, s Size, c draw.Canvas) draw.Canvas {
	left := s.Text * 3.4
	for _, tick := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		left = min(left, s.Text*3.4-p.Y.Tick.Label.Width(tick.Label))
	}
	return draw.Crop(c, max(left, 0), -s.Text, 0, 0)
}

// render draws on a canvas and returns what is inside its element.
func render(s Size, on func(draw.Canvas)) (viewBox, inside string, err error) {
	canvas := vgsvg.New(s.Width, s.Height)
	on(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", "", err
	}
	head := svgHead.FindStringSubmatch(b.String())
	if head == nil {
		return "", "", fmt.Errorf("no element in %.60q", b.String())
	}
	inside = svgTail.ReplaceAllString(b.String()[len(head[0]):], "")
	return head[1], strings.TrimSpace(fontStyle.ReplaceAllString(inside, "")), nil
}

const (
	badgeRadius  = 6.5 // of one character
	badgeSpacing = 18
	mostBadges   = 3 // of a line
)

// badges puts the mark on the line in some places, each a little farther than the
// badges of the layer before: those of different lines never cover each other.
func (l *Layer) badges(c draw.Canvas, p *plot.Plot, s Size, index, layers int) {
	if l.Mark == "" || len(l.XS) == 0 {
		return
	}
	blocks := min(max(1, int(s.Width/badgeSpacing)/layers), mostBadges)
	for block := range blocks {
		share := (float64(block) + (float64(index)+0.5)/float64(layers)) / float64(blocks)
		x := p.X.Min + share*(p.X.Max-p.X.Min)
		y, ok := at(l.XS, l.YS, x)
		if !ok {
			continue
		}
		center := vg.Point{X: c.X((x - p.X.Min) / (p.X.Max - p.X.Min)), Y: c.Y((y - p.Y.Min) / (p.Y.Max - p.Y.Min))}
		disc := circle(center, badgeRadius)
		c.SetColor(color.White)
		c.Fill(disc)
		c.SetColor(l.Color)
		c.SetLineWidth(1.2)
		c.SetLineDash(nil, 0)
		c.Stroke(disc)
		style := p.X.Tick.Label
		style.Color = Ink
		style.Font.Size = 10
		style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
		c.FillText(style, center, l.Mark)
	}
}

func circle(center vg.Point, radius vg.Length) (path vg.Path) {
	path.Move(vg.Point{X: center.X + radius, Y: center.Y})
	path.Arc(center, radius, 0, 2*math.Pi)
	path.Close()
	return path
}

// at is the value of a line at x; false where it has none.
func at(xs, ys []float64, x float64) (y float64, ok bool) {
	for i := range xs {
		if xs[i] >= x {
			return ys[i], i > 0 || xs[i] == x
		}
	}
	return 0, false
}

// Line draws ys over xs.
func Line(xs, ys []float64, style Style) *plotter.Line {
	points := make(plotter.XYs, len(xs))
	for i, x := range xs {
		points[i] = plotter.XY{X: x, Y: ys[i]}
	}
	return &plotter.Line{XYs: points, LineStyle: draw.LineStyle{Color: style.Color, Width: style.Width, Dashes: style.Dashes}}
}
