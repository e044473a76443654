package size

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/reprise-go/reprise/cmd/reprise/internal/figure"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("size").Parse(pageText))

// key is a line of a chart's legend.
type key struct {
	Mark, Name string
	Sample     template.HTML
}

// totals is a table of the page.
type totals struct {
	Title   string
	Heading []string
	Rows    [][]string
}

// HTML returns the report as one page that refers to nothing outside itself and has
// no script.
func HTML(r Report) ([]byte, error) {
	meet, want := r.Question.words()
	data := struct {
		Style                    template.CSS
		Meet, Want, Outage       string
		Attempts                 int
		Settings                 [][]string
		Tables                   []totals
		Legend, OutageLegend     []key
		Wide, Narrow             template.HTML
		OutageWide, OutageNarrow template.HTML
	}{
		Style: figure.PageStyle, Meet: meet, Want: want, Outage: r.Question.Outage.String(), Attempts: r.Found.Plan.Attempts,
		Settings: r.settings(),
		Tables: []totals{
			{"What it comes to", []string{"", "calculated", "simulated", "wanted"}, r.outcomes()},
			{"What else would do", []string{"attempts", "success", "quota", "requests/call", "in an outage", "p99", "does"}, r.others()},
		},
	}
	for i, c := range r.Curves {
		name := fmt.Sprintf("%d attempts", c.Attempts)
		if c.Attempts == 1 {
			name = "1 attempt"
		}
		data.Legend = append(data.Legend, key{strconv.Itoa(c.Attempts), name, figure.Sample(lineStyle(i))})
	}
	wanted := key{"", "wanted", figure.Sample(wantedStyle)}
	data.Legend = append(data.Legend, wanted)
	data.OutageLegend = []key{{"", "requests a call", figure.Sample(lineStyle(2))}, {"", "allowed", wanted.Sample}}
	for _, one := range []struct {
		to    *template.HTML
		draw  func(s figure.Size, class string) (template.HTML, error)
		size  figure.Size
		class string
	}{
		{&data.Wide, r.drawSuccess, figure.Wide, "wide"},
		{&data.Narrow, r.drawSuccess, figure.Narrow, "narrow"},
		{&data.OutageWide, r.drawOutage, figure.Wide, "wide"},
		{&data.OutageNarrow, r.drawOutage, figure.Narrow, "narrow"},
	} {
		var err error
		if *one.to, err = one.draw(one.size, one.class); err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	if err := page.Execute(&b, data); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

var (
	lineColors = []color.NRGBA{
		{R: 0x6b, G: 0x74, B: 0x80, A: 0xff}, {R: 0xc2, G: 0x28, B: 0x1d, A: 0xff}, {R: 0x0b, G: 0x3d, B: 0x91, A: 0xff},
		{R: 0x0f, G: 0x7a, B: 0x58, A: 0xff}, {R: 0xd9, G: 0x8a, B: 0x00, A: 0xff}, {R: 0x6a, G: 0x4b, B: 0xb5, A: 0xff},
	}
	lineDashes  = [][]vg.Length{{2, 3}, {9, 4}, nil, {5, 3}, {8, 3, 2, 3}, {3, 2}}
	wantedStyle = figure.Style{Color: figure.Ink, Width: 1, Dashes: []vg.Length{1, 3}}
)

func lineStyle(i int) figure.Style {
	return figure.Style{Color: lineColors[i%len(lineColors)], Width: 2, Dashes: lineDashes[i%len(lineDashes)]}
}

// tokenTicks are capacities, at even distances on the logarithmic axis.
type tokenTicks struct {
	axes  axes
	count int
}

// Ticks implements plot.Ticker.
func (t tokenTicks) Ticks(low, high float64) (out []plot.Tick) {
	for i := range t.count + 1 {
		x := low + (high-low)*float64(i)/float64(t.count)
		out = append(out, plot.Tick{Value: x, Label: strconv.Itoa(t.axes.capacity(x))})
	}
	return out
}

// successTicks are the decades of the share that fails, told as successes.
type successTicks struct{ axes axes }

// Ticks implements plot.Ticker.
func (t successTicks) Ticks(low, high float64) (out []plot.Tick) {
	for d := math.Ceil(low); d <= high; d++ {
		out = append(out, plot.Tick{Value: d, Label: percent(1 - math.Pow(10, t.axes.worst-d))})
	}
	return out
}

// plot is an empty chart over the capacities.
func (r *Report) plot(a axes, s figure.Size, top float64) *plot.Plot {
	p := figure.New(s, 1, top, nil)
	p.X.Tick.Marker = tokenTicks{a, int(s.Width / 130)}
	return p
}

func (r *Report) drawSuccess(s figure.Size, class string) (template.HTML, error) {
	s.Height = s.Height * 4 / 3
	a := r.axes()
	p := r.plot(a, s, a.worst-a.least)
	p.Y.Tick.Marker = successTicks{a}
	y := func(success float64) float64 { return min(a.worst-a.least, a.worst-decade(success)) }
	p.Add(figure.Line([]float64{0, 1}, []float64{y(r.Question.Success), y(r.Question.Success)}, wantedStyle))
	var layers []figure.Layer
	for i, c := range r.Curves {
		l := figure.Layer{Class: "line", Mark: strconv.Itoa(c.Attempts), Style: lineStyle(i)}
		for _, point := range c.Points {
			l.XS, l.YS = append(l.XS, a.x(point.Capacity)), append(l.YS, y(point.Success))
		}
		layers = append(layers, l)
	}
	found := r.Found
	if err := diamond(p, a.x(found.Plan.Quota.Capacity), y(found.Estimate.Success)); err != nil {
		return "", err
	}
	return figure.Layers(p, s, class, "Success by the quota's capacity and the attempts", layers)
}

func (r *Report) drawOutage(s figure.Size, class string) (template.HTML, error) {
	a, allowed := r.axes(), r.Question.Amplification
	l := figure.Layer{Class: "line", Style: lineStyle(2)}
	top := allowed
	for _, point := range r.Curves[r.Found.Plan.Attempts-1].Points {
		top = max(top, point.Outage)
		l.XS, l.YS = append(l.XS, a.x(point.Capacity)), append(l.YS, point.Outage)
	}
	p := r.plot(a, s, figure.Headroom(top))
	p.Add(figure.Line([]float64{0, 1}, []float64{allowed, allowed}, wantedStyle))
	if err := diamond(p, a.x(r.Found.Plan.Quota.Capacity), r.Found.Estimate.Outage); err != nil {
		return "", err
	}
	return figure.Layers(p, s, class, "Requests a call in an outage by the quota's capacity", []figure.Layer{l})
}

// diamond marks the plan.
func diamond(p *plot.Plot, x, y float64) error {
	mark, err := plotter.NewScatter(plotter.XYs{{X: x, Y: y}})
	if err != nil {
		return fmt.Errorf("chart: the plan: %w", err)
	}
	mark.GlyphStyle = draw.GlyphStyle{Color: figure.Ink, Radius: 7, Shape: diamondGlyph{}}
	p.Add(mark)
	return nil
}

type diamondGlyph struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (diamondGlyph) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	c.SetColor(style.Color)
	var path vg.Path
	path.Move(vg.Point{X: at.X, Y: at.Y + style.Radius})
	path.Line(vg.Point{X: at.X + style.Radius, Y: at.Y})
	path.Line(vg.Point{X: at.X, Y: at.Y - style.Radius})
	path.Line(vg.Point{X: at.X - style.Radius, Y: at.Y})
	path.Close()
	c.Fill(path)
}
