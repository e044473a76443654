package size

import (
	"encoding/json"
	"math"
	"time"
)

// Schema names the version of the keys of the JSON. Keys may be added under the same
// name; one that goes or changes its meaning changes the name.
const Schema = "reprise.size/1"

type questionJSON struct {
	Rate          float64 `json:"rate_per_second"`
	Clients       int     `json:"clients"`
	Deadline      float64 `json:"deadline_ms"`
	Answer        float64 `json:"answer_ms"`
	Transient     float64 `json:"transient"`
	Throttling    float64 `json:"throttling"`
	Success       float64 `json:"success_rate"`
	Amplification float64 `json:"requests_per_call"`
	Outage        float64 `json:"outage_ms"`
}

type planJSON struct {
	Attempts   int     `json:"max_attempts"`
	Capacity   int     `json:"quota_capacity"`
	Transient  int     `json:"quota_transient_cost"`
	Throttling int     `json:"quota_throttling_cost"`
	BackoffT   float64 `json:"backoff_transient_ms"`
	BackoffH   float64 `json:"backoff_throttling_ms"`
	BackoffMax float64 `json:"backoff_max_ms"`
}

type estimateJSON struct {
	Success       float64 `json:"success_rate"`
	Unbounded     float64 `json:"success_rate_without_quota"`
	Amplification float64 `json:"requests_per_call"`
	Outage        float64 `json:"outage_requests_per_call"`
	Drift         float64 `json:"drift_tokens_per_call"`
	Level         float64 `json:"quota_level"`
	P50           float64 `json:"p50_ms"`
	P99           float64 `json:"p99_ms"`
}

type simulatedJSON struct {
	Calls         uint64  `json:"calls"`
	Success       float64 `json:"success_rate"`
	Amplification float64 `json:"requests_per_call"`
	Outage        float64 `json:"outage_requests_per_call"`
	P50           float64 `json:"p50_ms"`
	P99           float64 `json:"p99_ms"`
}

type choiceJSON struct {
	planJSON
	estimateJSON
	Meets bool `json:"meets"`
}

// JSON is the report as --json prints it.
func JSON(r Report) ([]byte, error) {
	q, s := r.Question, r.Simulated
	out := struct {
		Schema     string        `json:"schema"`
		Question   questionJSON  `json:"question"`
		Plan       planJSON      `json:"plan"`
		Calculated estimateJSON  `json:"calculated"`
		Simulated  simulatedJSON `json:"simulated"`
		Choices    []choiceJSON  `json:"choices"`
		Tradeoff   []Curve       `json:"tradeoff"`
	}{
		Schema,
		questionJSON{q.Rate, q.Clients, ms(q.Deadline), ms(q.Answer), q.Transient, q.Throttling, q.Success, q.Amplification, ms(q.Outage)},
		r.Found.Plan.json(), r.Found.Estimate.json(),
		simulatedJSON{s.Calls, round(s.Success), round(s.Amplification), round(s.Outage), ms(s.P50), ms(s.P99)},
		nil, r.Curves,
	}
	for _, c := range r.Choices {
		out.Choices = append(out.Choices, choiceJSON{c.Plan.json(), c.Estimate.json(), c.Meets})
	}
	for _, c := range out.Tradeoff {
		for i, p := range c.Points {
			c.Points[i] = Point{p.Capacity, round(p.Success), round(p.Amplification), round(p.Outage)}
		}
	}
	text, err := json.MarshalIndent(out, "", "  ")
	return append(text, '\n'), err
}

func (p Plan) json() planJSON {
	return planJSON{p.Attempts, p.Quota.Capacity, p.Quota.TransientCost, p.Quota.ThrottlingCost, ms(p.Backoff.Transient), ms(p.Backoff.Throttling), ms(p.Backoff.Max)}
}

func (e Estimate) json() estimateJSON {
	return estimateJSON{round(e.Success), round(e.Unbounded), round(e.Amplification), round(e.Outage), round(e.Drift), round(e.Level), ms(e.P50), ms(e.P99)}
}

func ms(d time.Duration) float64 { return math.Round(float64(d)/1e3) / 1e3 }

// round keeps nine decimals.
func round(v float64) float64 { return math.Round(v*1e9) / 1e9 }
