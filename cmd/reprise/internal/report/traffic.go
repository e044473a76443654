package report

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/reprise-go/reprise/cmd/reprise/internal/figure"
	"github.com/reprise-go/reprise/cmd/reprise/internal/record"
)

// trafficChart is the chart of what was sent beside what could be: there is
// one if the server has a capacity or the client a send limiter.
func (v view) trafficChart() (drawing, bool) {
	c := chart{
		Title: "Send rate", Text: "Calls offered, attempts sent and throttled, per second.",
		Legend: []key{newKey("offered", figure.Ink), newKey("sent", sentColor), newKey("throttled", throttlingColor)},
	}
	if v.res.Capacity != nil {
		c.Legend = append(c.Legend, newKey("capacity", failedColor))
	}
	if v.res.Limiter != nil {
		c.Legend = append(c.Legend, newKey("fill rate", fillRateColor), newKey("measured rate", measuredColor))
	}
	return drawing{c, v.traffic}, v.res.Capacity != nil || v.res.Limiter != nil
}

func (v view) traffic(s size) *plot.Plot {
	columns, length := v.columns(s.columns)
	offered := v.perSecond(columns, length, func(c record.Slot) uint64 { return c.Offered })
	sent := v.perSecond(columns, length, func(c record.Slot) uint64 { return c.Sent })
	throttled := v.perSecond(columns, length, func(c record.Slot) uint64 { return c.Throttled })
	times, fills, measured := v.limiterRates(s)
	top := max(1, slices.Max(offered), slices.Max(sent))
	if len(fills) > 0 {
		// Before it is throttled again the limit may be twice what is sent.
		top = max(top, slices.Max(fills), slices.Max(measured))
	}
	if c := v.res.Capacity; c != nil {
		top = max(top, c.PerSecond)
	}

	p := figure.New(s.Size, v.end, figure.Headroom(top), v.bands)
	xs, sentSteps := figure.Steps(sent, length.Seconds(), v.end)
	_, throttledSteps := figure.Steps(throttled, length.Seconds(), v.end)
	_, offeredSteps := figure.Steps(offered, length.Seconds(), v.end)
	floor := make([]float64, len(xs))
	p.Add(figure.Area(xs, floor, sentSteps, sentColor), figure.Area(xs, floor, throttledSteps, throttlingColor))
	p.Add(figure.Line(xs, offeredSteps, figure.Style{Color: figure.Ink, Width: lineWidth}))
	if c := v.res.Capacity; c != nil {
		p.Add(figure.Line([]float64{0, v.end}, []float64{c.PerSecond, c.PerSecond},
			figure.Style{Color: failedColor, Width: lineWidth, Dashes: []vg.Length{6, 4}}))
	}
	if len(times) > 0 {
		p.Add(figure.Line(times, measured, figure.Style{Color: measuredColor, Width: 0.8}), figure.Line(times, fills, figure.Style{Color: fillRateColor, Width: 2}))
	}
	figure.Label(p, s.Size, v.bands)
	return p
}

// limiterRates are the send limiter's rates from when it began to limit.
func (v view) limiterRates(s size) (times, fills, measured []float64) {
	columns, length := v.columns(s.levels)
	for i, c := range columns {
		if c.FillRate == 0 { // not yet, or the sampler was late
			continue
		}
		times = append(times, min((float64(i)+0.5)*length.Seconds(), v.end))
		fills = append(fills, c.FillRate)
		measured = append(measured, c.MeasuredRate)
	}
	return times, fills, measured
}
