package report

import (
	"fmt"

	"github.com/reprise-go/reprise/cmd/reprise/internal/record"
)

func capacityRows(c record.Capacity) group {
	return group{"The server's capacity", []row{
		{"used", percent(c.ShareUsed), fmt.Sprintf("of %g per second and %s at the start", c.PerSecond, count(uint64(c.Burst)))},
		{"answered", count(c.Answered), "requests within it"},
		{"throttled", count(c.Throttled), "requests above it"},
	}}
}

func limiterRows(l record.Limiter) group {
	const title = "Send limiter (adaptive mode)"
	if !l.Enabled {
		return group{title, []row{{"fill rate", "none", "nothing was throttled or held back"}}}
	}
	w := l.AdmissionWait
	rows := []row{
		{"fill rate", rate(l.FillRate), "per second, at the end"},
		{"measured rate", rate(l.MeasuredRate), "responses per second, smoothed"},
		{"wait to send", "p50 " + duration(w.P50), fmt.Sprintf("p99 %s, max %s", duration(w.P99), duration(w.Max))},
		{"ended waiting", count(l.CallsEndedWaiting), "the wait did not fit the deadline"},
		{"never sent", count(l.CallsNeverSent), "calls that sent no attempt"},
	}
	if l.SinceThrottleMS != nil {
		rows = append(rows, row{"last cut", duration(*l.SinceThrottleMS), "before the end"})
	}
	return group{title, rows}
}

// rate writes a rate with a digit behind the point where it is small.
func rate(perSecond float64) string {
	if perSecond < 10 {
		return fmt.Sprintf("%.1f", perSecond)
	}
	return count(uint64(perSecond + 0.5))
}
