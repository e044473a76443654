package size

import (
	"fmt"
	"math"
	"strings"
)

const (
	chartWidth    = 64
	chartRows     = 4 // of a decade
	chartDecades  = 5 // at the most
	chartMargin   = 10
	chartTickness = 16 // columns between labels
)

// axes are those of the trade-off: the capacity, and how many calls fail, both on
// logarithmic scales.
type axes struct {
	low, high    float64 // logarithms of the capacity
	least, worst float64 // decades of the share that fails: -4 is 0.01 %
}

func (r *Report) axes() axes {
	first, last := r.Curves[0].Points[0], r.Curves[0].Points[len(r.Curves[0].Points)-1]
	a := axes{low: math.Log(float64(first.Capacity)), high: math.Log(float64(last.Capacity)), least: 0, worst: -20}
	for _, c := range r.Curves {
		for _, p := range c.Points {
			a.least, a.worst = min(a.least, decade(p.Success)), max(a.worst, decade(p.Success))
		}
	}
	wanted := decade(r.Question.Success)
	a.worst = min(0, math.Ceil(max(a.worst, wanted)))
	a.least = min(max(math.Floor(min(a.least, wanted)), a.worst-chartDecades), a.worst-1)
	return a
}

// decade is the logarithm of the share that fails.
func decade(success float64) float64 { return math.Log10(max(1-success, 1e-12)) }

func (a axes) x(capacity int) float64 {
	if a.high == a.low {
		return 0
	}
	return (math.Log(float64(capacity)) - a.low) / (a.high - a.low)
}

func (a axes) capacity(x float64) int { return int(math.Round(math.Exp(a.low + x*(a.high-a.low)))) }

// chart draws the trade-off for a terminal: a digit is a number of attempts, the
// diamond the plan, the line of dashes what is wanted.
func (r *Report) chart() string {
	a := r.axes()
	rows := int(a.worst-a.least)*chartRows + 1
	cells := make([][]rune, rows)
	for i := range cells {
		cells[i] = []rune(strings.Repeat(" ", chartWidth))
	}
	row := func(success float64) int {
		return min(rows-1, max(0, int(math.Round((a.worst-decade(success))*chartRows))))
	}
	wanted := row(r.Question.Success)
	copy(cells[wanted], []rune(strings.Repeat("- ", chartWidth/2)))
	for i := len(r.Curves) - 1; i >= 0; i-- { // the fewest attempts over the others
		c := r.Curves[i]
		mark := rune('0' + c.Attempts%10)
		for col := range chartWidth {
			x := float64(col) / (chartWidth - 1)
			cells[row(c.at(a, x))][col] = mark
		}
	}
	plan := r.Found
	cells[row(plan.Estimate.Success)][int(math.Round(a.x(plan.Plan.Quota.Capacity)*(chartWidth-1)))] = '◆'

	var b strings.Builder
	b.WriteString("\nSuccess by the quota's capacity; a digit is a line of so many attempts,\n◆ the smallest that does, - - what is wanted.\n")
	for i, line := range cells {
		label := ""
		if i%chartRows == 0 {
			label = percent(1 - math.Pow(10, a.worst-float64(i/chartRows)))
		}
		fmt.Fprintf(&b, "%*s │%s\n", chartMargin-2, label, strings.TrimRight(string(line), " "))
	}
	fmt.Fprintf(&b, "%*s └%s\n", chartMargin-2, "", strings.Repeat("─", chartWidth))
	var tokens, outage strings.Builder
	for col := 0; col < chartWidth; col += chartTickness {
		capacity := a.capacity(float64(col) / (chartWidth - 1))
		p := plan.Plan
		p.Quota.Capacity = capacity
		fmt.Fprintf(&tokens, "%-*d", chartTickness, capacity)
		fmt.Fprintf(&outage, "%-*.3f", chartTickness, r.Question.outage(p))
	}
	fmt.Fprintf(&b, "%*s  %s\n", chartMargin-2, "tokens", strings.TrimRight(tokens.String(), " "))
	fmt.Fprintf(&b, "%*s  %s  requests a call\n", chartMargin-2, "outage", strings.TrimRight(outage.String(), " "))
	return b.String()
}

// at interpolates the success of a curve.
func (c *Curve) at(a axes, x float64) float64 {
	for i, p := range c.Points {
		px := a.x(p.Capacity)
		if px < x-1e-9 {
			continue
		}
		if i == 0 {
			return p.Success
		}
		before := c.Points[i-1]
		bx := a.x(before.Capacity)
		part := (x - bx) / (px - bx)
		d := decade(before.Success) + part*(decade(p.Success)-decade(before.Success))
		return 1 - math.Pow(10, d)
	}
	return c.Points[len(c.Points)-1].Success
}
