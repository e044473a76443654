package storm

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/reprise-go/reprise/cmd/reprise/internal/grid"
	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
)

// titleWidth is that of the first lines at the most.
const titleWidth = 88

// Table lays the result out as plain text, for a terminal of so many columns; of 72 or
// more none of its lines is broken. 0 is any number, of which it takes less than 96.
func Table(r Result, columns int) string {
	var b strings.Builder
	title := r.Scenario
	if r.About != "" {
		title += ": " + r.About
	}
	title += fmt.Sprintf(" (%s calls offered in %s, seed %d)", short(r.most()), span(r.DurationMS), r.Seed)
	for line := range strings.Lines(text.WrapSoft(scenario.Printable(title), grid.Within(titleWidth, columns))) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}

	b.WriteString(grid.Render(columns, mainHeads, mainRows(r)))
	b.WriteString(grid.Render(columns, lossHeads, lossRows(r)))
	return b.String()
}

// The headings of the two tables; ">" is of a column of numbers.
var (
	mainHeads = []string{"policy", ">success", ">load/s", ">peak/s", ">per call", ">p50", ">p99", ">p99.9", ">well after"}
	lossHeads = []string{"given up", ">attempts", ">quota", ">deadline", ">final", ">wasted", ">throttled", ">tokens", ">left"}
)

func mainRows(r Result) (rows [][]string) {
	for _, p := range r.Policies {
		success, latency := percent(p.SuccessRate), [3]string{span(p.Latency.P50), span(p.Latency.P99), span(p.Latency.P999)}
		if p.Successes == 0 { // none has a latency
			latency = [3]string{"-", "-", "-"}
		}
		if p.Calls == 0 {
			success = "-"
		}
		rows = append(rows, []string{
			p.Policy, success, whole0(p.LoadPerSec), whole0(p.PeakPerSec), fmt.Sprintf("%.2f", p.Amplification),
			latency[0], latency[1], latency[2], recovery(p.Recovery),
		})
	}
	return rows
}

func lossRows(r Result) (rows [][]string) {
	for _, p := range r.Policies {
		taken, left := "-", "-"
		if p.Tokens != nil {
			taken, left = short(p.Tokens.Taken), percent0(float64(p.Tokens.Left)/float64(p.Tokens.Capacity))
		}
		rows = append(rows, []string{
			p.Policy, short(p.Stops["max_attempts"]), short(p.Stops["quota"]), short(p.Stops["deadline"]), short(p.Stops["non_retryable"]),
			short(p.Server.Wasted), short(p.Server.Throttled), taken, left,
		})
	}
	return rows
}

// Legend says what the columns are.
const Legend = `success is of the calls that were begun; load/s the requests that reached the service, in the mean, peak/s in the worst sample, per call how many for each call; p50 to p99.9 the latency of calls that succeeded; well after the time from the end of the last fault until calls ended as well as before it, - without a fault or with fewer than 200 calls after it. Given up: calls that ended without success because attempts, quota or time were used up, or the failure was final. Wasted are requests that were served for nobody; tokens are what retries took from all quotas together, and left what was there at the end.`

// most is the largest number of calls that a policy met: in a closed loop it
// depends on the policy.
func (r *Result) most() (calls uint64) {
	for _, p := range r.Policies {
		calls = max(calls, p.Calls)
	}
	return calls
}

func recovery(r Recovery) string {
	switch {
	case !r.Known:
		return "-"
	case !r.Recovered:
		return "never"
	case *r.AfterMS == 0:
		return "at once"
	}
	return span(*r.AfterMS)
}

// percent never rounds a failure away: 100 % is said only of all calls.
func percent(share float64) string {
	s := strconv.FormatFloat(100*share, 'f', 2, 64)
	if s == "100.00" && share < 1 {
		s = ">99.99"
	}
	return s + "%"
}

func percent0(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }

func whole0(v float64) string { return short(uint64(v + 0.5)) }

// short writes a number in at most six characters.
func short(n uint64) string {
	switch {
	case n < 10_000:
		return strconv.FormatUint(n, 10)
	case n < 10_000_000:
		return fmt.Sprintf("%.4gk", float64(n)/1e3)
	case n < 10_000_000_000:
		return fmt.Sprintf("%.4gM", float64(n)/1e6)
	}
	return fmt.Sprintf("%.3g", float64(n))
}

// span writes milliseconds to three digits or so.
func span(ms float64) string {
	d := time.Duration(ms * float64(time.Millisecond))
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1fms", ms)
	case d < time.Second:
		return fmt.Sprintf("%.0fms", ms)
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", ms/1e3)
	}
	return d.Round(time.Second).String()
}
