package record

import (
	"runtime"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/cmd/reprise/internal/faulty"
)

// Schema names the version of the keys of [Result]'s JSON. Keys may be added
// under the same name; one that goes or changes its meaning changes the name.
const Schema = "reprise.drive/1"

// Result is what a run has shown. Its JSON is what `reprise drive --json`
// prints; README.md describes every key. Times are in milliseconds, shares
// from 0 to 1, quota levels in tokens.
type Result struct {
	Schema      string  `json:"schema"`
	Started     string  `json:"started"` // RFC 3339
	Machine     Machine `json:"machine"`
	Setup       Setup   `json:"setup"`
	Interrupted bool    `json:"interrupted"`
	ElapsedMS   float64 `json:"elapsed_ms"` // until the last call had ended
	CallingMS   float64 `json:"calling_ms"` // until the last call began

	Calls        uint64  `json:"calls"`
	Successes    uint64  `json:"successes"`
	FirstTry     uint64  `json:"successes_first_attempt"`
	Recovered    uint64  `json:"successes_on_retry"`
	SuccessRate  float64 `json:"success_rate"`
	CallsPerSec  float64 `json:"calls_per_second"`
	Attempts     uint64  `json:"attempts"`
	PerCall      float64 `json:"attempts_per_call"`
	Answered     uint64  `json:"attempts_answered"`
	Throttled    uint64  `json:"attempts_throttled"`
	Retries      Retries `json:"retries"`
	Stops        Stops   `json:"stops"`
	LastError    *string `json:"last_error"` // that a call ended with; null if none did
	Added        Latency `json:"added_latency_ms"`
	AddedRetried Latency `json:"added_latency_retried_calls_ms"`
	Quota        Quota   `json:"quota"`
	Allocs       Allocs  `json:"allocations"`
	Phases       []Phase `json:"phases"`
	Server       *Server `json:"server"`

	Capacity *Capacity `json:"capacity"` // null if the server has none
	Limiter  *Limiter  `json:"limiter"`  // null outside of adaptive mode

	// Course is the run over time, for charts; it is not part of the JSON.
	Course Series `json:"-"`
	// PhaseStarts is when each phase began, for those that did.
	PhaseStarts map[faulty.Phase]time.Duration `json:"-"`
}

// Setup is how the run was set up, defaults filled in. Zero stands for "no
// limit" in Calls, DurationMS, RatePerSec, DeadlineMS, AttemptTimeoutMS and
// CapacityPerSec, and for "off" in CoalesceMS.
type Setup struct {
	Target           string  `json:"target"`
	Embedded         bool    `json:"embedded_server"`
	Mode             string  `json:"mode"`
	Service          string  `json:"service"`
	MaxAttempts      int     `json:"max_attempts"`
	Calls            uint64  `json:"calls"`
	DurationMS       float64 `json:"duration_ms"`
	Workers          int     `json:"workers"`
	RatePerSec       float64 `json:"rate_per_second"`
	DeadlineMS       float64 `json:"deadline_ms"`
	AttemptTimeoutMS float64 `json:"attempt_timeout_ms"`
	CoalesceMS       float64 `json:"coalesce_ms"`
	Faults           string  `json:"faults"`
	Outage           string  `json:"outage"`
	LatencyMS        float64 `json:"latency_ms"` // of the embedded server
	CapacityPerSec   float64 `json:"capacity_per_second"`
	Seed             uint64  `json:"seed"`
}

// Machine is what the run ran on: times and rates are its own.
type Machine struct {
	Go   string `json:"go"`
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"` // that Go uses
}

// Retries counts granted retries by the class of the failure before them.
// Unsent are those of them that were never sent (cancelled or out of time
// while they waited): their tokens went back (R6.3).
type Retries struct {
	Total      uint64 `json:"total"`
	Transient  uint64 `json:"transient"`
	Throttling uint64 `json:"throttling"`
	Unsent     uint64 `json:"unsent"`
}

// Stops counts the calls that ended without success, by reason.
type Stops struct {
	Total    uint64            `json:"total"`
	ByReason map[string]uint64 `json:"by_reason"`
}

// Latency is a distribution in milliseconds.
type Latency struct {
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99_9"`
	Max  float64 `json:"max"`
}

// Quota is what became of the retry quota. The two times are null if what they
// tell of did not happen.
type Quota struct {
	Enabled  bool `json:"enabled"` // false in legacy mode, which has none
	Capacity int  `json:"capacity"`
	Lowest   int  `json:"lowest"`
	Last     int  `json:"last"`
	// DrainedAfterMS is how long after the start of the outage the quota could
	// not pay for a retry after a transient failure.
	DrainedAfterMS *float64 `json:"drained_after_outage_start_ms"`
	// FullAgainAfterMS is how long after the end of the outage it was full.
	FullAgainAfterMS *float64 `json:"full_again_after_outage_end_ms"`
}

// Allocs are heap allocations. PerCall and BytesPerCall are the whole
// process's during the run, which includes the HTTP client and the embedded
// server. The others are measured before the run on calls that succeed at
// once: a plain http.Client, the same with the engine around it, and what a
// time-out of each attempt adds to that. They are null if there is no embedded
// server to measure on, or if calls failed there.
type Allocs struct {
	PerCall         float64  `json:"per_call"`
	BytesPerCall    float64  `json:"bytes_per_call"`
	PlainClient     *float64 `json:"plain_client_per_call"`
	ThroughReprise  *float64 `json:"through_reprise_per_call"`
	AddedByReprise  *float64 `json:"added_by_reprise_per_call"`
	AddedByTimeout  *float64 `json:"added_by_attempt_timeout_per_call"`
	BaselineSamples int      `json:"baseline_calls"`
}

// Phase is the part of a run's calls that began in one phase.
type Phase struct {
	Name        string  `json:"name"`
	StartMS     float64 `json:"start_ms"`
	EndMS       float64 `json:"end_ms"`
	Calls       uint64  `json:"calls"`
	Successes   uint64  `json:"successes"`
	SuccessRate float64 `json:"success_rate"`
	Attempts    uint64  `json:"attempts"`
	PerCall     float64 `json:"attempts_per_call"`
	LowestQuota int     `json:"lowest_quota"`
}

// Server is what the embedded server counted.
type Server struct {
	Hits   uint64            `json:"hits"`
	Faults map[string]uint64 `json:"faults"` // requests by what was drawn for them, "ok" included; those above the capacity draw nothing
}

// Result returns what the run has shown. It is called after [Recorder.End] and
// leaves to the caller what the recorder cannot know: Setup, Interrupted,
// Server, Capacity, the unsent retries and the allocations of the baseline.
func (r *Recorder) Result(elapsed time.Duration, transientCost int) Result {
	end := r.Snapshot()
	calling := time.Duration(r.calling.Load())
	res := Result{
		Schema:      Schema,
		Started:     r.start.Format(time.RFC3339),
		Machine:     Machine{runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0)},
		ElapsedMS:   millis(elapsed),
		Calls:       end.Begun,
		Successes:   end.Succeeded,
		FirstTry:    r.firstTry.Load(),
		SuccessRate: ratio(end.Succeeded, end.Begun),
		CallingMS:   millis(calling),
		CallsPerSec: float64(end.Begun) / max(calling.Seconds(), 1e-3),
		Attempts:    end.Attempts,
		PerCall:     ratio(end.Attempts, end.Begun),
		Answered:    r.answers.Load(),
		Throttled:   end.Throttled,
		Retries: Retries{
			Total:      end.TotalRetries(),
			Transient:  end.Retries[classify.Transient],
			Throttling: end.Retries[classify.Throttling],
		},
		Stops:        Stops{Total: end.Stopped, ByReason: map[string]uint64{}},
		Added:        distribution(r.added.sum()),
		AddedRetried: distribution(r.retried.sum()),
		Quota:        Quota{Capacity: end.Capacity, Lowest: int(r.lowest.Load()), Last: end.Level},
		Course:       r.sampler.series,
		PhaseStarts:  map[faulty.Phase]time.Duration{},
	}
	res.Limiter = r.limiterResult(end)
	res.Recovered = res.Successes - res.FirstTry
	for _, reason := range Reasons {
		res.Stops.ByReason[reason.String()] = r.stops[reason].Load()
	}
	used := ReadHeapAllocs()
	res.Allocs.PerCall = ratio(used.Objects-r.allocsAtStart.Objects, end.Begun)
	res.Allocs.BytesPerCall = ratio(used.Bytes-r.allocsAtStart.Bytes, end.Begun)
	for p := range r.phases {
		if start := r.phases[p].start.Load(); start != 0 {
			res.PhaseStarts[faulty.Phase(p)] = time.Duration(start)
		}
	}
	res.Phases = r.phaseResults(calling, res.PhaseStarts)
	res.followQuota(transientCost)
	return res
}

func (r *Recorder) phaseResults(calling time.Duration, starts map[faulty.Phase]time.Duration) []Phase {
	var out []Phase
	for p := range faulty.Phase(faulty.Phases) {
		start, seen := starts[p]
		if !seen {
			continue
		}
		end := max(calling, start)
		for later := p + 1; later < faulty.Phases; later++ {
			if at, ok := starts[later]; ok {
				end = at
				break
			}
		}
		c := &r.phases[p]
		calls := c.begun.Load()
		out = append(out, Phase{
			Name:        p.String(),
			StartMS:     millis(start),
			EndMS:       millis(end),
			Calls:       calls,
			Successes:   c.succeeded.Load(),
			SuccessRate: ratio(c.succeeded.Load(), calls),
			Attempts:    c.attempts.Load(),
			PerCall:     ratio(c.attempts.Load(), calls),
			LowestQuota: int(c.lowest.Load()),
		})
	}
	return out
}

// followQuota finds out when the outage drained the quota and when it was full
// again.
func (res *Result) followQuota(transientCost int) {
	began, ok := res.PhaseStarts[faulty.During]
	if !ok {
		return
	}
	drained := false
	for i, slot := range res.Course.Slots {
		at := time.Duration(i+1) * res.Course.SlotLength // the slot has passed
		if slot.Samples == 0 || at <= began {
			continue
		}
		if !drained && slot.Lowest < transientCost {
			drained = true
			res.Quota.DrainedAfterMS = new(millis(at - began))
		}
		ended, over := res.outageEnd()
		if drained && over && at > ended && slot.Last == res.Quota.Capacity {
			res.Quota.FullAgainAfterMS = new(millis(at - ended))
			return
		}
	}
}

// outageEnd is when failures stopped being total, if they did.
func (res *Result) outageEnd() (time.Duration, bool) {
	for _, p := range []faulty.Phase{faulty.Recovering, faulty.After} {
		if at, ok := res.PhaseStarts[p]; ok {
			return at, true
		}
	}
	return 0, false
}

func distribution(h *hdrhistogram.Histogram) Latency {
	return Latency{
		P50:  float64(h.ValueAtPercentile(50)) / 1e3,
		P99:  float64(h.ValueAtPercentile(99)) / 1e3,
		P999: float64(h.ValueAtPercentile(99.9)) / 1e3,
		Max:  float64(h.Max()) / 1e3,
	}
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// ratio is a/b, 0 if b is 0: JSON has no NaN.
func ratio(a, b uint64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}
