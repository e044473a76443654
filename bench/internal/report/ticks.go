package report

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// procTicks puts numbers of processors at even distances.
func procTicks(procs []int) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for i, n := range procs {
		ticks = append(ticks, plot.Tick{Value: float64(i + 1), Label: strconv.Itoa(n)})
	}
	return ticks
}

func place(procs []int, n float64) float64 {
	for i, p := range procs {
		if float64(p) == n {
			return float64(i + 1)
		}
	}
	return 0
}

// logAxis makes an axis logarithmic, from below low to above high.
func logAxis(a *plot.Axis, low, high float64, format func(float64) string) {
	low, high = max(low, 0.05), max(high, 0.1)
	a.Min, a.Max = low/1.35, high*1.35
	a.Scale = plot.LogScale{}
	a.Tick.Marker = logTicks(format)
}

// logTicks are 1, 2 and 5 times the powers of ten, or the powers alone where that
// would be too many.
type logTicks func(float64) string

// Ticks implements plot.Ticker.
func (format logTicks) Ticks(low, high float64) []plot.Tick {
	steps := []float64{1, 2, 5}
	switch decades := math.Log10(high / low); {
	case decades > 2.6:
		steps = []float64{1}
	case decades > 1.4:
		steps = []float64{1, 3}
	}
	var ticks []plot.Tick
	for power := math.Floor(math.Log10(low)); power <= math.Ceil(math.Log10(high)); power++ {
		for _, step := range steps {
			if v := step * math.Pow(10, power); v >= low && v <= high {
				ticks = append(ticks, plot.Tick{Value: v, Label: format(v)})
			}
		}
	}
	return ticks
}

// evenTicks are a few whole numbers from 0 to most.
type evenTicks struct {
	most float64
	unit string
}

// Ticks implements plot.Ticker.
func (t evenTicks) Ticks(float64, float64) []plot.Tick {
	step := 1.0
	for _, s := range []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000} {
		if step = s; t.most/s <= 4 {
			break
		}
	}
	var ticks []plot.Tick
	for v := 0.0; v <= t.most*1.05; v += step {
		ticks = append(ticks, plot.Tick{Value: v, Label: shortNumber(v)})
	}
	if len(ticks) > 0 {
		ticks[len(ticks)-1].Label += t.unit
	}
	return ticks
}

// shortNumber writes 1500 as 1.5k.
func shortNumber(v float64) string {
	suffix := ""
	switch {
	case v >= 1e6:
		v, suffix = v/1e6, "M"
	case v >= 1e3:
		v, suffix = v/1e3, "k"
	}
	return strconv.FormatFloat(v, 'g', 3, 64) + suffix
}
