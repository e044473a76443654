package replay

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/reprise-go/reprise/cmd/reprise/internal/grid"
)

// The headings of a step; ">" is of a column of numbers.
var (
	stepHeads    = []string{">call", ">step", "met", "class", "rule", "outcome", ">quota", ">delay", "as expected"}
	limiterHeads = []string{">admit wait", ">fill rate", ">measured rate"} // in adaptive mode
)

// placeColumns are those that say which step a row is of, metColumn is the one whose
// texts may be of any length.
const placeColumns, metColumn = 2, 2

// leastMet is as narrow as a terminal makes that column.
const leastMet = 8

// cells are a step's, one for each heading.
func cells(r *Result) []string {
	row := []string{fmt.Sprint(r.Call), fmt.Sprint(r.Step), r.Met, "", "", r.Outcome(), fmt.Sprint(r.Quota), "", ""}
	if !r.Success {
		row[3], row[4] = r.Class.String(), r.Rule.Clause()
	}
	if r.Delay > 0 {
		row[7] = r.Delay.Round(time.Microsecond).String()
	}
	switch {
	case len(r.Mismatches) > 0:
		row[8] = "no"
	case r.Checked:
		row[8] = "yes"
	}
	if l := r.Limiter; l != nil {
		row = append(row, l.AdmitWait.Round(time.Microsecond).String(), fmt.Sprintf("%.6g/s", l.FillRate), fmt.Sprintf("%.6g/s", l.MeasuredRate))
	}
	return row
}

// table lays out steps of one case for a terminal of so many columns; 0 is any number.
// Where one table would be too wide, the limiter's numbers are a second one.
func table(rows [][]string, columns int) string {
	heads := stepHeads
	if len(rows[0]) > len(heads) {
		heads = slices.Concat(stepHeads, limiterHeads)
	}
	out := grid.Render(columns, heads, rows)
	if fits(out, columns) {
		return out
	}
	if len(heads) == len(stepHeads) {
		return narrow(rows, columns)
	}
	var steps, limiter [][]string
	for _, row := range rows {
		steps = append(steps, row[:len(stepHeads)])
		limiter = append(limiter, slices.Concat(row[:placeColumns], row[len(stepHeads):]))
	}
	return narrow(steps, columns) + grid.Render(columns, slices.Concat(stepHeads[:placeColumns], limiterHeads), limiter)
}

// narrow leaves out the columns that say nothing of any step, and breaks what an attempt
// met into lines where that is not enough.
func narrow(rows [][]string, columns int) string {
	if out := grid.Render(columns, stepHeads, rows); fits(out, columns) {
		return out
	}
	var heads []string
	kept := make([][]string, len(rows))
	for i, head := range stepHeads {
		if !slices.ContainsFunc(rows, func(row []string) bool { return row[i] != "" }) {
			continue
		}
		if head == "as expected" {
			head = "ok"
		}
		heads = append(heads, head)
		for j, row := range rows {
			kept[j] = append(kept[j], row[i])
		}
	}
	out := grid.Render(columns, heads, kept)
	if excess := text.LongestLineLen(out) - columns; excess > 0 {
		met := 0
		for _, row := range kept {
			met = max(met, text.LongestLineLen(row[metColumn]))
		}
		for _, row := range kept {
			row[metColumn] = strings.TrimRight(text.WrapSoft(row[metColumn], max(met-excess, leastMet)), " ")
		}
		out = grid.Render(columns, heads, kept)
	}
	return out
}

func fits(out string, columns int) bool { return columns == 0 || text.LongestLineLen(out) <= columns }
