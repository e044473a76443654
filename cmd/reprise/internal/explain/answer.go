// Package explain says what a failure means for a call: whether it is retried
// and by which rule, what a retry costs, and how long the delays are. It also
// says which settings were found and what engine they make.
//
// All numbers come from the engine that would decide: its classifier, quota and
// schedule. What is computed here is the mean and the bounds of what the jitter
// spreads (R4) and the server's hint clamps (R5).
package explain

import (
	"time"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// Answer is all there is to say. Times are in milliseconds.
type Answer struct {
	Schema   string    `json:"schema"`
	Settings *Settings `json:"settings,omitempty"` // nil if they were not asked for
	Engine   *Engine   `json:"engine,omitempty"`   // that the settings make
	*Meaning           // nil if the settings are all that was asked for
}

// Meaning is what a response or a failure means for a call.
type Meaning struct {
	Status      int    `json:"status,omitzero"`
	Code        string `json:"code,omitempty"` // normalised (R3.9)
	Error       string `json:"error,omitempty"`
	Mode        string `json:"mode"`
	Service     string `json:"service,omitempty"`
	MaxAttempts int    `json:"max_attempts"`
	LongPoll    bool   `json:"long_poll"`

	Success   bool   `json:"success"` // the class and rule are those of a failure if not
	Class     string `json:"class"`
	Rule      string `json:"rule"`
	Clause    string `json:"clause"`
	NeverSent bool   `json:"never_sent"`
	Retryable bool   `json:"retryable"`
	GivenUp   string `json:"given_up,omitempty"` // why the call ends although the caller could retry: the caller is gone

	Quota   *Quota  `json:"quota,omitempty"` // nil if a retry costs nothing or there is none
	Hint    *Hint   `json:"hint,omitempty"`
	Retries []Retry `json:"retries"`
	Total   Total   `json:"total"`
}

// Quota is what retries cost.
type Quota struct {
	Cost     int `json:"cost_tokens"`
	Capacity int `json:"capacity_tokens"`
	Retries  int `json:"retries_of_a_full_quota"`
}

// Hint is what the server asked for.
type Hint struct {
	Value   string  `json:"value"`
	AskedMS float64 `json:"asked_ms"` // 0 if it asks for nothing or is ignored
	asked   time.Duration
}

// Retry is one retry, or several alike.
type Retry struct {
	First        int     `json:"first"` // from 1
	Last         int     `json:"last"`
	CeilingMS    float64 `json:"ceiling_ms"` // of the backoff
	LeastMS      float64 `json:"least_ms"`   // of the delay, with the hint
	MeanMS       float64 `json:"mean_ms"`
	MostMS       float64 `json:"most_ms"` // never quite reached
	TotalMeanMS  float64 `json:"total_mean_ms"`
	TotalWorstMS float64 `json:"total_worst_ms"` // up to the last
}

// Total is the delay of a call whose every attempt fails alike.
type Total struct {
	Retries int     `json:"retries"`
	MeanMS  float64 `json:"mean_ms"`
	WorstMS float64 `json:"worst_ms"`
}

// Explain answers a question. An error is the user's: it says what is wrong with
// the question.
func Explain(q Question) (*Answer, error) {
	var met event
	var err error
	if !q.settingsAlone() {
		if met, err = q.event(); err != nil {
			return nil, err
		}
	}
	s, err := q.overruled()
	if err != nil {
		return nil, err
	}
	e, err := q.engine(s)
	if err != nil {
		return nil, err
	}
	a := &Answer{Schema: "reprise.explain/1"}
	if q.Settings != nil {
		a.Settings, a.Engine = describe(s, e), describeEngine(e)
	}
	if !q.settingsAlone() {
		a.Meaning = q.meaning(met, e)
	}
	return a, nil
}

// meaning is what e makes of what the attempt met.
func (q *Question) meaning(met event, e *engine.Engine) *Meaning {
	m := &Meaning{
		Status: met.status, Code: classify.NormalizeCode(met.code), Error: q.Error,
		Mode: e.Mode().String(), Service: e.Service(), MaxAttempts: e.MaxAttempts(), LongPoll: q.LongPoll,
		Retries: []Retry{},
	}
	verdict := met.judge(e.Classifier())
	m.Class, m.Rule, m.Clause = verdict.Class.String(), verdict.Rule.String(), verdict.Rule.Clause()
	m.Success, m.NeverSent = verdict.Rule == classify.RuleSuccess, verdict.NeverSent
	m.Retryable = verdict.Class != classify.NonRetryable
	if met.failure != nil && met.failure.Caller != nil {
		m.Retryable, m.GivenUp = false, met.failure.Caller.Err().Error()
	}
	if met.hint != nil {
		asked := engine.ParseRetryAfter(*met.hint)
		m.Hint = &Hint{Value: *met.hint, AskedMS: inMillis(float64(asked)), asked: asked}
	}
	if m.Retryable {
		m.cost(e, verdict.Class)
		m.delays(e.Schedule(), fastbackoff.Class(verdict.Class))
	}
	return m
}

func (m *event) judge(c *classify.Classifier) classify.Verdict {
	if m.failure != nil {
		return c.ExplainError(m.failure.Err())
	}
	return c.ExplainResponse(m.status, m.code)
}

func (m *Meaning) cost(e *engine.Engine, class classify.Class) {
	if e.Mode() == engine.Legacy {
		return // no quota (R1.4)
	}
	quota := e.Quota()
	cost := quota.TransientCost
	if class == classify.Throttling {
		cost = quota.ThrottlingCost
	}
	m.Quota = &Quota{Cost: cost, Capacity: quota.Capacity, Retries: quota.Capacity / cost}
}

// delays fills in the retries that the attempts, and a full quota, allow.
func (m *Meaning) delays(schedule fastbackoff.Schedule, class fastbackoff.Class) {
	n := m.MaxAttempts - 1
	if m.Quota != nil {
		n = min(n, m.Quota.Retries)
	}
	var asked time.Duration
	if m.Hint != nil {
		asked = m.Hint.asked
	}
	for first := 1; first <= n; {
		ceiling, last := schedule.Ceiling(class, first-1), first
		if ceiling == schedule.Max {
			last = n // the ceiling grows no more
		}
		least, mean, most := spread(float64(ceiling), float64(asked))
		alike := float64(last - first + 1)
		m.Total.MeanMS += inMillis(mean * alike)
		m.Total.WorstMS += inMillis(most * alike)
		m.Retries = append(m.Retries, Retry{
			First: first, Last: last, CeilingMS: inMillis(float64(ceiling)),
			LeastMS: inMillis(least), MeanMS: inMillis(mean), MostMS: inMillis(most),
			TotalMeanMS: m.Total.MeanMS, TotalWorstMS: m.Total.WorstMS,
		})
		first = last + 1
	}
	m.Total.Retries = n
}

// spread returns the bounds and the mean of clamp(hint, t, t + 5 s) for a
// backoff t that is uniform on [0, ceiling) (R4, R5).
func spread(ceiling, hint float64) (least, mean, most float64) {
	const window = float64(5 * time.Second)
	clamp := func(t float64) float64 { return max(t, min(hint, t+window)) }
	if ceiling == 0 {
		return clamp(0), clamp(0), clamp(0)
	}
	// Up to low the hint is beyond the window, from high on it is below t.
	low, high := min(max(hint-window, 0), ceiling), min(max(hint, 0), ceiling)
	area := low*low/2 + window*low + hint*(high-low) + (ceiling*ceiling-high*high)/2
	return clamp(0), area / ceiling, clamp(ceiling)
}

func inMillis(nanos float64) float64 { return nanos / float64(time.Millisecond) }
