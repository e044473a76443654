package explain

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/cmd/reprise/internal/grid"
	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
)

// Text is the answer for people: the settings and their engine, if they were
// asked for, and the meaning, each line with the clause it follows from.
func (a *Answer) Text() string {
	var parts []string
	if a.Settings != nil {
		parts = append(parts, a.Settings.text, a.Engine.text())
	}
	if a.Meaning != nil {
		parts = append(parts, a.Meaning.text())
	}
	return strings.Join(parts, "\n")
}

// newRows returns an empty table and what adds a row to it.
func newRows(heading string) (table.Writer, func(name, words, clause string)) {
	t := grid.New("", heading, "clause")
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 2, WidthMax: 56, WidthMaxEnforcer: text.WrapSoft}})
	return t, func(name, words, clause string) { t.AppendRow(table.Row{name, words, clause}) }
}

func (m *Meaning) text() string {
	t, row := newRows("answer")
	if m.Success {
		row("class", "success: there is nothing to retry", "R2")
		row("quota", "a first attempt gives 1 token, a retry gives back what it took", "R6")
		return m.title() + "\n" + t.Render() + "\n"
	}
	row("class", m.Class, m.Clause)
	row("because", m.Rule, m.Clause)
	switch {
	case m.GivenUp != "":
		row("retried", "no: the caller is no longer there ("+m.GivenUp+")", "R3.6")
	case !m.Retryable:
		row("retried", "no: the error is returned at once", "R2.1")
	case m.MaxAttempts == 1:
		row("retried", "no: 1 attempt is all there is", "R1.1")
	default:
		row("retried", fmt.Sprintf("up to %s: %d attempts, the first included", plural(m.MaxAttempts-1, "time"), m.MaxAttempts), attemptsClause(m.Mode))
	}
	if !m.Retryable && classify.SkewRetry(m.Code, 0, time.Hour, true) {
		row("", "transient to a caller who keeps a clock skew and finds it more than 4 minutes off", "R3.10")
	}
	if m.Retryable && m.NeverSent {
		row("resend", "safe whatever the method: the request never reached the server", "")
	}
	m.quotaRows(row)
	m.hintRow(row)
	if m.LongPoll && m.Retryable && m.Quota != nil {
		row("long poll", "a retry that the quota refuses waits its delay all the same, then the error is returned", "R7")
	}
	limiterRow(row, m.Mode)
	return m.title() + "\n" + t.Render() + "\n" + m.delayTable()
}

func (m *Meaning) quotaRows(row func(name, words, clause string)) {
	switch {
	case !m.Retryable:
		row("quota", "not touched", "R2.1")
	case m.Quota == nil:
		row("quota", "none in mode "+m.Mode, "R1.4")
	default:
		row("cost", fmt.Sprintf("%s a retry, given back if that retry succeeds", plural(m.Quota.Cost, "token")), "R6")
		row("quota", fmt.Sprintf("a full one, %s, holds %d such retries", plural(m.Quota.Capacity, "token"), m.Quota.Retries), "R6")
		if m.MaxAttempts-1 > m.Quota.Retries {
			row("", fmt.Sprintf("so a call on its own gets no more than %d of its %d", m.Quota.Retries, m.MaxAttempts-1), "R6.1")
		}
	}
}

func (m *Meaning) hintRow(row func(name, words, clause string)) {
	if m.Hint == nil {
		return
	}
	name := fmt.Sprintf("x-amz-retry-after %q ", m.Hint.Value)
	switch {
	case !m.Retryable:
		row("hint", name+"does not make an error retryable", "R5.1")
	case m.Hint.asked == math.MaxInt64:
		row("hint", name+"is more than there is: 5s on top of each backoff", "R5.2")
	case m.Hint.asked > 0:
		row("hint", fmt.Sprintf("%sasks for %v, within each backoff and 5s above it", name, m.Hint.asked), "R5")
	case strings.Trim(m.Hint.Value, "0") == "" && m.Hint.Value != "":
		row("hint", name+"asks for nothing: the backoff stands", "R5")
	default:
		row("hint", name+"is not a whole number of milliseconds: ignored, the backoff stands", "R5.1")
	}
}

func limiterRow(row func(name, words, clause string), mode string) {
	if mode == "adaptive" {
		row("limiter", "any attempt may first wait for a send token; how long depends on the traffic", "R8")
	}
}

func attemptsClause(mode string) string {
	if mode == "legacy" {
		return "R1.4"
	}
	return "R1.1"
}

// delayTable is a row a retry, and the totals in words.
func (m *Meaning) delayTable() string {
	if len(m.Retries) == 0 {
		return ""
	}
	hinted := m.Hint != nil && m.Hint.asked > 0
	headings := []string{">retry", ">ceiling"}
	if hinted {
		headings = append(headings, ">with the hint")
	}
	t := grid.New(append(headings, ">mean", ">mean total", ">worst total")...)
	for _, r := range m.Retries {
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
	if m.Mode == "legacy" {
		clauses = "R1.4"
	}
	if hinted {
		clauses += ", R5"
	}
	return t.Render() + fmt.Sprintf("\nIf every attempt fails like this: %s in the mean, %s at worst (%s).\n",
		duration(m.Total.MeanMS), duration(m.Total.WorstMS), clauses)
}

func (m *Meaning) title() string {
	var what []string
	if m.Status != 0 {
		what = append(what, fmt.Sprintf("status %d", m.Status))
	}
	if m.Code != "" {
		what = append(what, "code "+scenario.Printable(m.Code))
	}
	if m.Error != "" {
		what = append(what, "error "+m.Error)
	}
	if m.Service != "" {
		what = append(what, "service "+m.Service)
	}
	return strings.Join(append(what, "mode "+m.Mode), ", ")
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
