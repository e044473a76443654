package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reprise-go/reprise/cmd/reprise/internal/figure"
	"github.com/reprise-go/reprise/cmd/reprise/internal/record"
)

// row is a line of the result: what, how much, and what to know about it.
type row struct{ Name, Value, Note string }

// group is a titled part of the result, the same in the table and on the page.
type group struct {
	Title string
	Rows  []row
}

// groups lays the result out for a reader.
func groups(res record.Result) []group {
	list := []group{callRows(res), retryRows(res), latencyRows(res)}
	if res.Capacity != nil {
		list = append(list, capacityRows(*res.Capacity))
	}
	if res.Limiter != nil {
		list = append(list, limiterRows(*res.Limiter))
	}
	return append(list, quotaRows(res), allocRows(res))
}

func callRows(res record.Result) group {
	rows := []row{
		{"calls", count(res.Calls), fmt.Sprintf("%s per second for %s", count(uint64(res.CallsPerSec+0.5)), duration(res.CallingMS))},
		{"succeeded", percent(res.SuccessRate), fmt.Sprintf("%s at once, %s on a retry", count(res.FirstTry), count(res.Recovered))},
		{"stopped", count(res.Stops.Total), ""},
	}
	for _, reason := range record.Reasons {
		if n := res.Stops.ByReason[reason.String()]; n > 0 {
			rows = append(rows, row{"  " + reason.String(), count(n), reasonNotes[reason.String()]})
		}
	}
	if res.LastError != nil {
		rows = append(rows, row{"last error", "", *res.LastError})
	}
	return group{"Calls", rows}
}

var reasonNotes = map[string]string{
	"non_retryable":  "failures that are not worth a retry",
	"max_attempts":   "attempts used up",
	"quota":          "the quota refused the retry",
	"deadline":       "no time left for a wait or a retry",
	"cancelled":      "the run was interrupted",
	"not_replayable": "the request could not be sent again",
}

func retryRows(res record.Result) group {
	rows := []row{
		{"attempts", count(res.Attempts), fmt.Sprintf("%.3f per call", res.PerCall)},
		{"retries", count(res.Retries.Total), ""},
		{"  transient", count(res.Retries.Transient), "500, 503, resets, cut bodies, time-outs"},
		{"  throttling", count(res.Retries.Throttling), "by error code"},
	}
	if !res.Setup.Embedded {
		rows[2].Note = ""
	}
	if res.Throttled > 0 {
		rows = slices.Insert(rows, 1, row{"  throttled", count(res.Throttled), percent(float64(res.Throttled)/float64(res.Attempts)) + " of them"})
	}
	if res.Retries.Unsent > 0 {
		rows = append(rows, row{"  never sent", count(res.Retries.Unsent), "given up while waiting; tokens given back"})
	}
	return group{"Attempts", rows}
}

func latencyRows(res record.Result) group {
	spread := func(l record.Latency) string {
		return fmt.Sprintf("p99 %s, p99.9 %s, max %s", duration(l.P99), duration(l.P999), duration(l.Max))
	}
	return group{"Added latency (a call's time beyond its last attempt)", []row{
		{"all calls", "p50 " + duration(res.Added.P50), spread(res.Added)},
		{"retried calls", "p50 " + duration(res.AddedRetried.P50), spread(res.AddedRetried)},
	}}
}

func quotaRows(res record.Result) group {
	q := res.Quota
	if !q.Enabled {
		return group{"Retry quota", []row{{"quota", "none", "legacy mode retries without one"}}}
	}
	rows := []row{
		{"lowest level", strconv.Itoa(q.Lowest), fmt.Sprintf("of %d tokens", q.Capacity)},
		{"level at the end", strconv.Itoa(q.Last), ""},
	}
	if q.DrainedAfterMS != nil {
		rows = append(rows, row{"drained in", duration(*q.DrainedAfterMS), "from the start of the outage"})
	}
	if q.FullAgainAfterMS != nil {
		rows = append(rows, row{"full again in", duration(*q.FullAgainAfterMS), "from the end of the outage"})
	}
	return group{"Retry quota", rows}
}

func allocRows(res record.Result) group {
	a := res.Allocs
	note := "client included"
	if res.Setup.Embedded {
		note = "HTTP client and server included"
	}
	rows := []row{{"in this run", fmt.Sprintf("%.1f", a.PerCall), fmt.Sprintf("%s; %.1f KiB", note, a.BytesPerCall/1024)}}
	if !res.Setup.Embedded {
		return group{"Heap allocations per call", rows}
	}
	added := row{"added by reprise", "-", "not measured: a call failed"}
	if a.AddedByReprise != nil {
		added = row{added.Name, tenths(*a.AddedByReprise), fmt.Sprintf("%.1f with it, %.1f with a plain client", *a.ThroughReprise, *a.PlainClient)}
	}
	rows = append(rows, added)
	if res.Setup.AttemptTimeoutMS > 0 {
		added = row{"by the time-out", "-", "not measured: a call failed"}
		if a.AddedByTimeout != nil {
			added = row{added.Name, tenths(*a.AddedByTimeout), "of each attempt (--attempt-timeout)"}
		}
		rows = append(rows, added)
	}
	return group{"Heap allocations per call", rows}
}

// tenths prints a difference between two measurements; one that is nothing to
// the tenth has no sign.
func tenths(v float64) string { return fmt.Sprintf("%.1f", math.Round(v*10)/10+0) }

// phaseHeader and phaseRows are the run's parts side by side.
var phaseHeader = []string{"phase", "seconds", "calls", "succeeded", "attempts/call", "lowest quota"}

func phaseRows(res record.Result) [][]string {
	var rows [][]string
	for _, p := range res.Phases {
		lowest := strconv.Itoa(p.LowestQuota)
		if !res.Quota.Enabled {
			lowest = "none"
		}
		rows = append(rows, []string{
			p.Name, fmt.Sprintf("%.1f to %.1f", p.StartMS/1e3, p.EndMS/1e3), count(p.Calls), percent(p.SuccessRate),
			fmt.Sprintf("%.3f", p.PerCall), lowest,
		})
	}
	return rows
}

// setup is one line on how the run was set up.
func setup(res record.Result) string {
	s := res.Setup
	target := s.Target
	if s.Embedded {
		target = "embedded faulty server"
	}
	parts := []string{s.Mode + " mode", fmt.Sprintf("%d attempts at most", s.MaxAttempts), fmt.Sprintf("%d workers", s.Workers)}
	if s.Service != "" {
		parts = append(parts, "service "+s.Service)
	}
	if s.RatePerSec > 0 {
		parts = append(parts, fmt.Sprintf("%g calls/s", s.RatePerSec))
	}
	if s.DeadlineMS > 0 {
		parts = append(parts, duration(s.DeadlineMS)+" deadline")
	}
	if s.CoalesceMS > 0 {
		parts = append(parts, "throttles within "+duration(s.CoalesceMS)+" cut once")
	}
	if s.CapacityPerSec > 0 {
		target += fmt.Sprintf(" with a capacity of %g/s", s.CapacityPerSec)
	}
	if s.LatencyMS > 0 {
		target += ", " + duration(s.LatencyMS) + " away"
	}
	return target + ": " + strings.Join(parts, ", ")
}

// count writes n in groups of three digits.
func count(n uint64) string { return figure.Count(n) }

// percent never rounds a failure away: 100 % is said only of all calls.
func percent(share float64) string {
	text := strconv.FormatFloat(100*share, 'f', 2, 64)
	if text == "100.00" && share < 1 {
		text = "> 99.99"
	}
	return text + "%"
}

// duration writes milliseconds to three digits or so.
func duration(ms float64) string {
	d := time.Duration(ms * float64(time.Millisecond))
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", ms)
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", ms)
	case d < time.Minute:
		return fmt.Sprintf("%.2f s", ms/1e3)
	default:
		return d.Round(time.Second).String()
	}
}
