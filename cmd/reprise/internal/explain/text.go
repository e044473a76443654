package explain

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/reprise-go/reprise/cmd/reprise/internal/grid"
)

// Text is the answer for people: each line with the clause it follows from.
func (a *Answer) Text() string {
	t := grid.New("", "answer", "clause")
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 2, WidthMax: 56, WidthMaxEnforcer: text.WrapSoft}})
	row := func(name, words, clause string) { t.AppendRow(table.Row{name, words, clause}) }
	if a.Success {
		row("class", "success: there is nothing to retry", "R2")
		row("quota", "a first attempt gives 1 token, a retry gives back what it took", "R6")
		return a.title() + "\n" + t.Render() + "\n"
	}
	row("class", a.Class, a.Clause)
	row("because", a.Rule, a.Clause)
	switch {
	case a.GivenUp != "":
		row("retried", "no: the caller is no longer there ("+a.GivenUp+")", "R3.6")
	case !a.Retryable:
		row("retried", "no: the error is returned at once", "R2.1")
	case a.MaxAttempts == 1:
		row("retried", "no: 1 attempt is all there is", "R1.1")
	default:
		row("retried", fmt.Sprintf("up to %s: %d attempts, the first included", plural(a.MaxAttempts-1, "time"), a.MaxAttempts), a.attemptsClause())
	}
	if a.Retryable && a.NeverSent {
		row("resend", "safe whatever the method: the request never reached the server", "")
	}
	a.quotaRows(row)
	a.hintRow(row)
	if a.LongPoll && a.Retryable && a.Quota != nil {
		row("long poll", "a retry that the quota refuses waits its delay all the same, then the error is returned", "R7")
	}
	if a.Mode == "adaptive" {
		row("limiter", "any attempt may first wait for a send token; how long depends on the traffic", "R8")
	}
	return a.title() + "\n" + t.Render() + "\n" + a.delayTable()
}

func (a *Answer) quotaRows(row func(name, words, clause string)) {
	switch {
	case !a.Retryable:
		row("quota", "not touched", "R2.1")
	case a.Quota == nil:
		row("quota", "none in mode "+a.Mode, "R1.4")
	default:
		row("cost", fmt.Sprintf("%s a retry, given back if that retry succeeds", plural(a.Quota.Cost, "token")), "R6")
		row("quota", fmt.Sprintf("a full one, %s, holds %d such retries", plural(a.Quota.Capacity, "token"), a.Quota.Retries), "R6")
		if a.MaxAttempts-1 > a.Quota.Retries {
			row("", fmt.Sprintf("so a call on its own gets no more than %d of its %d", a.Quota.Retries, a.MaxAttempts-1), "R6.1")
		}
	}
}

func (a *Answer) hintRow(row func(name, words, clause string)) {
	if a.Hint == nil {
		return
	}
	name := fmt.Sprintf("x-amz-retry-after %q ", a.Hint.Value)
	switch {
	case !a.Retryable:
		row("hint", name+"does not make an error retryable", "R5.1")
	case a.Hint.asked == math.MaxInt64:
		row("hint", name+"is more than there is: 5s on top of each backoff", "R5.2")
	case a.Hint.asked > 0:
		row("hint", fmt.Sprintf("%sasks for %v, within each backoff and 5s above it", name, a.Hint.asked), "R5")
	case strings.Trim(a.Hint.Value, "0") == "" && a.Hint.Value != "":
		row("hint", name+"asks for nothing: the backoff stands", "R5")
	default:
		row("hint", name+"is not a whole number of milliseconds: ignored, the backoff stands", "R5.1")
	}
}

func (a *Answer) attemptsClause() string {
	if a.Mode == "legacy" {
		return "R1.4"
	}
	return "R1.1"
}

// delayTable is a row a retry, and the totals in words.
func (a *Answer) delayTable() string {
	if len(a.Retries) == 0 {
		return ""
	}
	hinted := a.Hint != nil && a.Hint.asked > 0
	headings := []string{">retry", ">ceiling"}
	if hinted {
		headings = append(headings, ">with the hint")
	}
	t := grid.New(append(headings, ">mean", ">mean total", ">worst total")...)
	for _, r := range a.Retries {
		label := fmt.Sprint(r.First)
		if r.Last > r.First {
			label = fmt.Sprintf("%d to %d", r.First, r.Last)
		}
		row := table.Row{label, duration(r.CeilingMS)}
		if hinted {
			between := duration(r.LeastMS)
			if r.MostMS > r.LeastMS {
				between += " to " + duration(r.MostMS)
			}
			row = append(row, between)
		}
		t.AppendRow(append(row, duration(r.MeanMS), duration(r.TotalMeanMS), duration(r.TotalWorstMS)))
	}
	clauses := "R4"
	if a.Mode == "legacy" {
		clauses = "R1.4"
	}
	if hinted {
		clauses += ", R5"
	}
	return t.Render() + fmt.Sprintf("\nIf every attempt fails like this: %s in the mean, %s at worst (%s).\n",
		duration(a.Total.MeanMS), duration(a.Total.WorstMS), clauses)
}

func (a *Answer) title() string {
	var what []string
	if a.Status != 0 {
		what = append(what, fmt.Sprintf("status %d", a.Status))
	}
	if a.Code != "" {
		what = append(what, "code "+a.Code)
	}
	if a.Error != "" {
		what = append(what, "error "+a.Error)
	}
	if a.Service != "" {
		what = append(what, "service "+a.Service)
	}
	return strings.Join(append(what, "mode "+a.Mode), ", ")
}

// duration writes milliseconds to the microsecond.
func duration(ms float64) string {
	if ms > float64(math.MaxInt64/int64(time.Millisecond)) {
		return fmt.Sprintf("%.0f years", ms/1000/60/60/24/365.25)
	}
	return time.Duration(math.Round(ms*1e3) * 1e3).String()
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
