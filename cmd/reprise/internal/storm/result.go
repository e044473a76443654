package storm

import (
	"encoding/json"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/internal/sim"
)

// Schema names the version of the keys of [Result]'s JSON. Keys may be added
// under the same name; one that goes or changes its meaning changes the name.
const Schema = "reprise.storm/1"

// Result is what a storm has shown. Times are in milliseconds of the simulation,
// shares from 0 to 1.
type Result struct {
	Schema        string         `json:"schema"`
	Scenario      string         `json:"scenario"`
	About         string         `json:"about"`
	Seed          uint64         `json:"seed"`
	DurationMS    float64        `json:"duration_ms"` // in which calls begin
	SampleMS      float64        `json:"sample_ms"`   // the width of a point
	TroubleFromMS *float64       `json:"trouble_from_ms"`
	TroubleEndMS  *float64       `json:"trouble_until_ms"`
	Policies      []PolicyResult `json:"policies"`
}

// PolicyResult is what became of the scenario under one policy.
type PolicyResult struct {
	Policy        string  `json:"policy"`
	Calls         uint64  `json:"calls"`
	Successes     uint64  `json:"successes"`
	SuccessRate   float64 `json:"success_rate"`
	OfferedPerSec float64 `json:"offered_per_second"` // calls, in the mean

	Requests      uint64   `json:"requests"` // that reached the server
	LoadPerSec    float64  `json:"load_per_second"`
	PeakPerSec    float64  `json:"peak_load_per_second"`
	Amplification float64  `json:"amplification"`     // requests for each call
	Attempts      []uint64 `json:"attempts_by_layer"` // sent
	Retries       uint64   `json:"retries"`           // granted, in all layers
	Server        Server   `json:"server"`

	Stops    map[string]uint64 `json:"stops"` // calls given up, by reason
	Latency  Latency           `json:"latency_ms"`
	Tokens   *Tokens           `json:"tokens"` // null without quota
	Recovery Recovery          `json:"recovery"`
	Points   []Point           `json:"points"`
}

// Server is what became of the requests that reached it.
type Server struct {
	Served    uint64 `json:"served"`
	Wasted    uint64 `json:"wasted"` // of these, for nobody: the caller had given up
	Throttled uint64 `json:"throttled"`
	Failed    uint64 `json:"failed"`
	Lost      uint64 `json:"lost"`
}

// Latency is that of the calls that succeeded.
type Latency struct {
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99_9"`
	Max  float64 `json:"max"`
}

// Tokens are those of all engines.
type Tokens struct {
	Taken    uint64 `json:"taken"` // by retries
	Left     uint64 `json:"left"`
	Capacity uint64 `json:"capacity"`
}

// Recovery is how the fleet came out of the faults.
type Recovery struct {
	Known     bool     `json:"known"` // there were faults, and calls enough before and after
	Recovered bool     `json:"recovered"`
	AfterMS   *float64 `json:"after_ms"` // the end of the last fault; null if it did not
}

// Point is one sample: rates since the one before, and how things stood.
type Point struct {
	AtMS      float64 `json:"at_ms"`
	Offered   float64 `json:"offered_per_second"`   // calls begun
	Load      float64 `json:"load_per_second"`      // requests at the server
	Goodput   float64 `json:"goodput_per_second"`   // calls that succeeded
	Failures  float64 `json:"failures_per_second"`  // calls that did not
	Throttles float64 `json:"throttles_per_second"` // requests
	Wasted    float64 `json:"wasted_per_second"`    // requests served for nobody
	Quota     float64 `json:"quota"`                // mean share of the tokens
	FillRate  float64 `json:"fill_rate"`            // of all limiters together; 0 if none is on
	Queued    int     `json:"queued"`               // requests
	InFlight  int     `json:"in_flight"`            // calls of all layers
	Waiting   int     `json:"waiting"`              // calls, for a limiter
	Cold      float64 `json:"cold"`                 // mean share of the caches
}

// reasons are those that calls are given up for, in the order in which they are
// shown.
var reasons = []engine.Reason{engine.ReasonNonRetryable, engine.ReasonMaxAttempts, engine.ReasonQuota, engine.ReasonDeadline}

func (s *Setup) result(policies []PolicyResult) Result {
	r := Result{
		Schema: Schema, Scenario: s.Name, About: s.About, Seed: s.Scenario.Seed,
		DurationMS: ms(s.Scenario.Duration), SampleMS: ms(s.sample()), Policies: policies,
	}
	if from, until, ok := s.Scenario.Trouble(); ok {
		fromMS, untilMS := ms(from), ms(until)
		r.TroubleFromMS, r.TroubleEndMS = &fromMS, &untilMS
	}
	return r
}

// sample is how far apart points are.
func (s *Setup) sample() time.Duration { return s.Scenario.WithDefaults().Sample }

func policyResult(r *sim.Result, latencies *hdrhistogram.Histogram) PolicyResult {
	out := PolicyResult{
		Policy: r.Policy, Calls: r.Offered, Successes: r.Succeeded, SuccessRate: r.SuccessRate(),
		OfferedPerSec: perSecond(r.Offered, r.Duration),
		Requests:      r.Arrived, LoadPerSec: perSecond(r.Arrived, max(r.EndedAt, r.Duration)), Amplification: r.Amplification(),
		Attempts: r.Sent, Retries: r.Retries,
		Server:  Server{r.Served, r.Wasted, r.Throttled, r.Failed, r.Lost},
		Stops:   make(map[string]uint64),
		Latency: latency(latencies),
	}
	for _, reason := range reasons {
		out.Stops[reason.String()] = r.Stops[reason]
	}
	if r.TokensCapacity > 0 {
		out.Tokens = &Tokens{r.TokensTaken, r.TokensLeft, r.TokensCapacity}
	}
	out.Recovery = Recovery{Known: r.Recovery.Known, Recovered: r.Recovery.Recovered}
	if r.Recovery.Recovered {
		after := ms(r.Recovery.After)
		out.Recovery.AfterMS = &after
	}
	for i := range r.Points {
		p := point(&r.Points[i], r.Sample)
		out.PeakPerSec = max(out.PeakPerSec, p.Load)
		out.Points = append(out.Points, p)
	}
	return out
}

func point(p *sim.Point, width time.Duration) Point {
	return Point{
		AtMS:    ms(p.At),
		Offered: perSecond(p.Offered, width), Load: perSecond(p.Arrived, width), Goodput: perSecond(p.Succeeded, width),
		Failures: perSecond(p.Ended-p.Succeeded, width), Throttles: perSecond(p.Throttled, width), Wasted: perSecond(p.Wasted, width),
		Quota: round(p.Quota), FillRate: round(p.FillRate), Queued: p.Queued, InFlight: p.InFlight, Waiting: p.Waiting, Cold: round(p.Cold),
	}
}

func latency(h *hdrhistogram.Histogram) Latency {
	at := func(percentile float64) float64 { return float64(h.ValueAtPercentile(percentile)) / 1e3 }
	return Latency{P50: at(50), P99: at(99), P999: at(99.9), Max: float64(h.Max()) / 1e3}
}

func perSecond(n uint64, d time.Duration) float64 { return round(float64(n) / d.Seconds()) }

// round keeps four decimals: what is beyond tells nothing.
func round(v float64) float64 { return math.Round(v*1e4) / 1e4 }

// JSON is the result as --json prints it.
func JSON(r Result) ([]byte, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	return append(text, '\n'), err
}
