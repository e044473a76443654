package explain

import (
	"fmt"
	"strings"

	"github.com/reprise-go/reprise/engine"
)

// Engine is the engine that settings make. Times are in milliseconds.
type Engine struct {
	Mode        string       `json:"mode"`
	Service     string       `json:"service,omitempty"`
	MaxAttempts int          `json:"max_attempts"`
	Schedule    Schedule     `json:"schedule"`
	Quota       *EngineQuota `json:"quota,omitempty"` // nil if there is none
}

// Schedule is the ceilings of the delays: a base, doubled with each retry.
type Schedule struct {
	TransientMS  float64 `json:"transient_ms"`
	ThrottlingMS float64 `json:"throttling_ms"`
	MaxMS        float64 `json:"max_ms"`
}

// EngineQuota is the retry quota in tokens.
type EngineQuota struct {
	Capacity   int `json:"capacity_tokens"`
	Transient  int `json:"transient_cost_tokens"`
	Throttling int `json:"throttling_cost_tokens"`
}

func describeEngine(e *engine.Engine) *Engine {
	schedule, quota := e.Schedule(), e.Quota()
	made := &Engine{
		Mode: e.Mode().String(), Service: e.Service(), MaxAttempts: e.MaxAttempts(),
		Schedule: Schedule{
			TransientMS:  inMillis(float64(schedule.Transient)),
			ThrottlingMS: inMillis(float64(schedule.Throttling)),
			MaxMS:        inMillis(float64(schedule.Max)),
		},
	}
	if e.Mode() != engine.Legacy {
		made.Quota = &EngineQuota{quota.Capacity, quota.TransientCost, quota.ThrottlingCost}
	}
	return made
}

func (e *Engine) text() string {
	t, row := newRows("engine")
	delaysClause := "R4"
	if e.Mode == "legacy" {
		delaysClause = "R1.4"
	}
	row("mode", e.Mode, "R1.1")
	attempts := fmt.Sprintf("%d, the first included", e.MaxAttempts)
	if e.MaxAttempts == 1 {
		attempts = "1: no retries"
	}
	row("attempts", attempts, attemptsClause(e.Mode))
	ceilings := duration(e.Schedule.TransientMS) + " after a transient failure, " + duration(e.Schedule.ThrottlingMS) + " after throttling"
	if e.Schedule.TransientMS == e.Schedule.ThrottlingMS {
		ceilings = duration(e.Schedule.TransientMS)
	}
	row("delays", fmt.Sprintf("up to %s; doubled with each retry, up to %s", ceilings, duration(e.Schedule.MaxMS)), delaysClause)
	if e.Quota == nil {
		row("quota", "none in mode "+e.Mode, "R1.4")
	} else {
		row("quota", fmt.Sprintf("%s; a retry costs %d after a transient failure, %d after throttling",
			plural(e.Quota.Capacity, "token"), e.Quota.Transient, e.Quota.Throttling), "R6")
	}
	limiterRow(row, e.Mode)
	what := []string{"engine"}
	if e.Service != "" {
		what = append(what, "service "+e.Service)
	}
	return strings.Join(append(what, "mode "+e.Mode), ", ") + "\n" + t.Render() + "\n"
}
