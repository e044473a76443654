package size

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/reprise-go/reprise/cmd/reprise/internal/figure"
	"github.com/reprise-go/reprise/cmd/reprise/internal/grid"
)

// words are the question in words: what calls meet, and what is wanted.
func (q *Question) words() (meet, want string) {
	return fmt.Sprintf("%s calls/s of %s clients, %v a call and %v an attempt, of which %s fail as transient and %s as throttled.",
			count(q.Rate), count(float64(q.Clients)), q.Deadline, q.Answer, percent(q.Transient), percent(q.Throttling)),
		fmt.Sprintf("Wanted: %s of the calls succeed, with %s requests a call at the most, also in an outage of %v.",
			percent(q.Success), number(q.Amplification), q.Outage)
}

func count(v float64) string { return figure.Count(uint64(v + 0.5)) }

// Table lays the report out as plain text, for a terminal of so many columns; of 76 or
// more none of its lines is broken. 0 is any number, of which it takes less than 96.
func Table(r Report, columns int) string {
	var b strings.Builder
	meet, want := r.Question.words()
	for _, line := range []string{meet, want} {
		for part := range strings.Lines(text.WrapSoft(line, grid.Within(88, columns))) {
			b.WriteString(strings.TrimSpace(part) + "\n")
		}
	}
	b.WriteString(grid.Render(columns, []string{"setting", ">smallest", "flag"}, r.settings()))
	b.WriteString(grid.Render(columns, []string{"comes to", ">calculated", ">simulated", ">wanted"}, r.outcomes()))
	b.WriteString(grid.Render(columns, []string{">attempts", ">success", ">quota", ">requests/call", ">in an outage", ">p99", "does"}, r.others()))
	b.WriteString(r.chart())
	return b.String()
}

func (r *Report) settings() [][]string {
	p := r.Found.Plan
	if p.Attempts == 1 {
		return [][]string{{"attempts", "1", "--max-attempts 1"}}
	}
	return [][]string{
		{"attempts", fmt.Sprint(p.Attempts), fmt.Sprintf("--max-attempts %d", p.Attempts)},
		{"quota, tokens", fmt.Sprint(p.Quota.Capacity), fmt.Sprintf("--quota-capacity %d", p.Quota.Capacity)},
		{"  a transient retry", fmt.Sprint(p.Quota.TransientCost), fmt.Sprintf("--quota-transient-cost %d", p.Quota.TransientCost)},
		{"  a throttling retry", fmt.Sprint(p.Quota.ThrottlingCost), fmt.Sprintf("--quota-throttling-cost %d", p.Quota.ThrottlingCost)},
		{"backoff, transient", p.Backoff.Transient.String(), fmt.Sprintf("--backoff-transient %v", p.Backoff.Transient)},
		{"backoff, throttling", p.Backoff.Throttling.String(), fmt.Sprintf("--backoff-throttling %v", p.Backoff.Throttling)},
	}
}

func (r *Report) outcomes() [][]string {
	e, s, q := r.Found.Estimate, r.Simulated, r.Question
	return [][]string{
		{"success", percent(e.Success), percent(s.Success), percent(q.Success)},
		{"  if the quota paid for all", percent(e.Unbounded), "", ""},
		{"requests a call", fmt.Sprintf("%.3f", e.Amplification), fmt.Sprintf("%.3f", s.Amplification), number(q.Amplification)},
		{fmt.Sprintf("  in an outage of %v", q.Outage), fmt.Sprintf("%.3f", e.Outage), fmt.Sprintf("%.3f", s.Outage), number(q.Amplification)},
		{"latency, p50", span(e.P50), span(s.P50), ""},
		{"latency, p99", span(e.P99), span(s.P99), span(q.Deadline)},
		{"quota's drift, tokens a call", fmt.Sprintf("%+.2f", e.Drift), "", ""},
		{"quota's level, mean", percent(e.Level), "", ""},
	}
}

func (r *Report) others() (rows [][]string) {
	for _, c := range r.Choices {
		does, e := "no", c.Estimate
		switch {
		case c.Plan == r.Found.Plan:
			does = "yes, the smallest"
		case c.Meets:
			does = "yes"
		}
		quota := fmt.Sprint(c.Plan.Quota.Capacity)
		if c.Plan.Attempts == 1 {
			quota = "-"
		}
		rows = append(rows, []string{
			fmt.Sprint(c.Plan.Attempts), percent(e.Success), quota, fmt.Sprintf("%.3f", e.Amplification), fmt.Sprintf("%.3f", e.Outage), span(e.P99), does,
		})
	}
	return rows
}
