package report

import (
	"html/template"
	"image/color"
	"slices"
	"time"

	"gonum.org/v1/plot"

	"github.com/reprise-go/reprise/cmd/reprise/internal/faulty"
	"github.com/reprise-go/reprise/cmd/reprise/internal/figure"
	"github.com/reprise-go/reprise/cmd/reprise/internal/record"
)

// size is a chart's, and how much of the course it has room for.
type size struct {
	figure.Size
	columns int // of throughput and retries
	levels  int // of the quota's level
}

var (
	wide   = size{Size: figure.Wide, columns: 120, levels: 700}
	narrow = size{Size: figure.Narrow, columns: 60, levels: 360}
)

// lineWidth is that of most lines.
const lineWidth = 1.3

// chart is a chart of the page, drawn for a wide page and for a phone.
type chart struct {
	Title, Text  string
	Legend       []key
	Wide, Narrow template.HTML
}

// drawing is a chart that is yet to be drawn.
type drawing struct {
	chart
	draw func(size) *plot.Plot
}

// key explains a colour.
type key struct {
	Name  string
	Color template.CSS
}

func newKey(name string, c color.NRGBA) key {
	const digits = "0123456789abcdef"
	css := []byte{'#'}
	for _, v := range []uint8{c.R, c.G, c.B} {
		css = append(css, digits[v>>4], digits[v&15])
	}
	return key{name, template.CSS(css)}
}

// charts are the page's charts. A run of no length has none.
func charts(res record.Result) ([]chart, error) {
	end := res.CallingMS / 1e3
	if len(res.Course.Slots) == 0 || end <= 0 {
		return nil, nil
	}
	v := view{res: res, end: end, bands: bands(res, end)}
	list := []drawing{
		{chart{
			Title: "Throughput", Text: "Calls that ended, per second.",
			Legend: []key{newKey("succeeded", okColor), newKey("failed", failedColor)},
		}, v.throughput},
		{chart{
			Title: "Retries", Text: "Retries granted, per second, by the class of the failure.",
			Legend: []key{newKey("transient", transientColor), newKey("throttling", throttlingColor)},
		}, v.retries},
	}
	if traffic, ok := v.trafficChart(); ok {
		list = slices.Insert(list, 1, traffic)
	}
	if res.Quota.Enabled {
		list = append(list, drawing{chart{
			Title: "Retry quota", Text: "Tokens in the quota; the band spans each moment.",
			Legend: []key{newKey("level", quotaColor), newKey("lowest to highest", quotaFill)},
		}, v.quota})
	}
	out := make([]chart, len(list))
	for i, c := range list {
		var err error
		if c.Wide, err = figure.SVG(c.draw(wide), wide.Size, "wide", c.Title+": "+c.Text); err != nil {
			return nil, err
		}
		if c.Narrow, err = figure.SVG(c.draw(narrow), narrow.Size, "narrow", c.Title+": "+c.Text); err != nil {
			return nil, err
		}
		out[i] = c.chart
	}
	return out, nil
}

// view draws a result's course from its beginning to the last call's.
type view struct {
	res   record.Result
	end   float64 // seconds
	bands []figure.Band
}

// bands are the outage and the recovery, as far as the run got.
func bands(res record.Result, end float64) []figure.Band {
	var out []figure.Band
	for _, p := range res.Phases {
		b := figure.Band{Name: p.Name, Start: p.StartMS / 1e3, End: min(p.EndMS/1e3, end)}
		switch p.Name {
		case faulty.During.String():
			b.Fill = outageColor
		case faulty.Recovering.String():
			b.Fill = recoveryColor
		default:
			continue
		}
		if b.End > b.Start {
			out = append(out, b)
		}
	}
	return out
}

func (v view) throughput(s size) *plot.Plot {
	return v.stacked(s,
		func(slot record.Slot) uint64 { return slot.Succeeded }, okColor,
		func(slot record.Slot) uint64 { return slot.Stopped }, failedColor)
}

func (v view) retries(s size) *plot.Plot {
	return v.stacked(s,
		func(slot record.Slot) uint64 { return slot.Transient }, transientColor,
		func(slot record.Slot) uint64 { return slot.Throttling }, throttlingColor)
}

// stacked draws two counts per second, the second on top of the first.
func (v view) stacked(s size, lower func(record.Slot) uint64, lowerFill color.Color, upper func(record.Slot) uint64, upperFill color.Color) *plot.Plot {
	columns, length := v.columns(s.columns)
	lows := v.perSecond(columns, length, lower)
	sums := v.perSecond(columns, length, func(c record.Slot) uint64 { return lower(c) + upper(c) })
	p := figure.New(s.Size, v.end, figure.Headroom(max(1, slices.Max(sums))), v.bands)
	xs, low := figure.Steps(lows, length.Seconds(), v.end)
	_, sum := figure.Steps(sums, length.Seconds(), v.end)
	p.Add(figure.Area(xs, make([]float64, len(xs)), low, lowerFill), figure.Area(xs, low, sum, upperFill))
	figure.Label(p, s.Size, v.bands)
	return p
}

// perSecond turns a count of the columns into rates.
func (v view) perSecond(columns []record.Slot, length time.Duration, of func(record.Slot) uint64) []float64 {
	rates := make([]float64, len(columns))
	for i, c := range columns {
		// The last column is seldom whole: its rate is by the part there is.
		rates[i] = float64(of(c)) / min(length.Seconds(), v.end-float64(i)*length.Seconds())
	}
	return rates
}

func (v view) quota(s size) *plot.Plot {
	columns, length := v.columns(s.levels)
	var xs, lows, highs, levels []float64
	for i, c := range columns {
		if c.Samples == 0 { // the sampler was late; the line bridges it
			continue
		}
		xs = append(xs, min((float64(i)+0.5)*length.Seconds(), v.end))
		lows = append(lows, float64(c.Lowest))
		highs = append(highs, float64(c.Highest))
		levels = append(levels, float64(c.Last))
	}
	p := figure.New(s.Size, v.end, figure.Headroom(float64(v.res.Quota.Capacity)), v.bands)
	p.Add(figure.Area(xs, lows, highs, quotaFill), figure.Line(xs, levels, figure.Style{Color: quotaColor, Width: lineWidth}))
	figure.Label(p, s.Size, v.bands)
	return p
}

// columns joins the course into at most n columns, without the tail in which
// no call began and those in flight ended.
func (v view) columns(n int) ([]record.Slot, time.Duration) {
	series := v.res.Course
	whole := int(v.end/series.SlotLength.Seconds()) + 1
	series.Slots = series.Slots[:min(len(series.Slots), whole)]
	columns, length := series.Columns(n)
	// A sliver of a last column would make a rate of next to nothing.
	if last := len(columns) - 1; last > 0 && v.end-float64(last)*length.Seconds() < length.Seconds()/4 {
		columns = columns[:last]
	}
	return columns, length
}
