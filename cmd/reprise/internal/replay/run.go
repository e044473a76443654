package replay

import (
	"context"
	"fmt"
	"math"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// Result is what a step came to.
type Result struct {
	Call, Step int            // from 1
	Line       int            // of the file, from 1
	Met        string         // what the attempt met, for people
	Success    bool           // the class and rule are those of a failure if not
	Class      classify.Class // of the failure
	Rule       classify.Rule  // that gave it its class
	Reason     engine.Reason  // of the decision on the failure
	Quota      int            // tokens left
	Delay      time.Duration  // before the next attempt, or the end of a long poll
	Limiter    *Limiter       // in adaptive mode
	Checked    bool           // the file expects something of the step
	News       bool           // there is something that the file does not expect
	Mismatches []Mismatch     // in the order of the keys in the format
}

// Outcome is the result's word in the format.
func (r *Result) Outcome() string {
	if r.Success {
		return "success"
	}
	return r.Reason.String()
}

// Limiter is what adaptive mode's send limiter said and became.
type Limiter struct {
	AdmitWait    time.Duration // its answer just before the attempt; 0 admits
	FillRate     float64       // tokens a second, after the response
	MeasuredRate float64       // responses a second, likewise
}

// Mismatch is a key that is not as expected.
type Mismatch struct {
	Key    string `json:"key"`
	Wanted any    `json:"wanted"`
	Got    any    `json:"got"`
}

// String is "key: wanted x, got y".
func (m Mismatch) String() string {
	return fmt.Sprintf("%s: wanted %s, got %s", m.Key, m.plain(m.Wanted), m.plain(m.Got))
}

// plain writes milliseconds without the nanosecond that a draw below the ceiling lacks.
func (m Mismatch) plain(v any) string {
	if ms, ok := v.(float64); ok && strings.HasSuffix(m.Key, "_ms") {
		return strconv.FormatFloat(math.Round(ms*1e3)/1e3, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// virtual is the clock of a replay: it stands where the file sets it.
type virtual struct{ now time.Time }

// epoch is when engines are made: on a border of the limiter's buckets (R8.4).
var epoch = time.Unix(0, 0)

func (v *virtual) Now() time.Time { return v.now }

// Sleep does not: a replay never waits.
func (v *virtual) Sleep(context.Context, time.Duration, <-chan struct{}) {}

// Run replays the case on an engine of its own and reports each step. It stops
// early where the file and the engine disagree on whether a call goes on, for
// what follows would answer another question; the number of steps that were not
// run is returned. An error is a fault of the file.
func (c *Case) Run(report func(Result)) (notRun int, err error) {
	clock := &virtual{epoch}
	e, err := c.newEngine(clock)
	if err != nil {
		return c.steps(), c.fault(0, 0, "engine: %v", err)
	}
	notRun = c.steps()
	for i := range c.Calls {
		begin := e.Begin
		if c.Calls[i].LongPolling || engine.LongPolling(c.Calls[i].Operation) {
			begin = e.BeginLongPoll
		}
		call := begin()
		for j := range c.Calls[i].Steps {
			step, last := &c.Calls[i].Steps[j], j == len(c.Calls[i].Steps)-1
			if step.AtMS != nil {
				clock.now = epoch.Add(millis(*step.AtMS))
			}
			r := step.run(e, &call, clock.now)
			r.Call, r.Step = i+1, j+1
			r.Line, _ = c.file.place(step.offset)
			r.compare(step.Expect)
			report(r)
			notRun--

			goesOn := r.Reason == engine.ReasonRetry
			switch ends := step.ends(); {
			case ends == "" && goesOn && last:
				return notRun, c.fault(i+1, j+1, "the call wants more steps than it has: the engine retries after the last one")
			case ends == "" && !goesOn && !last:
				return notRun, c.fault(i+1, j+2, "a step after the end of its call: the engine ends it with step %d (%s)", j+1, r.Outcome())
			case ends != "" && goesOn != (ends == "retry"):
				return notRun, nil
			}
		}
	}
	return 0, nil
}

func (c *Case) steps() int {
	n := 0
	for _, call := range c.Calls {
		n += len(call.Steps)
	}
	return n
}

// newEngine makes the engine that the case describes.
func (c *Case) newEngine(clock engine.Clock) (*engine.Engine, error) {
	s := &c.Engine
	opts := []engine.Option{engine.WithClock(clock)}
	if s.Mode != nil {
		mode, err := scenario.ParseMode(*s.Mode)
		if err != nil {
			return nil, err
		}
		opts = append(opts, engine.WithMode(mode))
	}
	if s.Service != nil {
		opts = append(opts, engine.WithService(*s.Service))
	}
	if s.MaxAttempts != nil {
		opts = append(opts, engine.WithMaxAttempts(*s.MaxAttempts))
	}
	if s.Capacity != nil {
		opts = append(opts, engine.WithQuota(engine.Quota{Capacity: *s.Capacity}))
	}
	if s.Tokens != nil {
		opts = append(opts, engine.WithTokens(*s.Tokens))
	}
	if s.MaxBackoffMS != nil {
		opts = append(opts, engine.WithSchedule(fastbackoff.Schedule{Max: millis(*s.MaxBackoffMS)}))
	}
	if s.Jitter != nil {
		opts = append(opts, engine.WithSource(fastbackoff.Fixed(*s.Jitter)))
	}
	return engine.New(opts...)
}

// run makes one attempt of the call: it asks for admission and is answered now.
func (s *Step) run(e *engine.Engine, call *engine.Call, now time.Time) Result {
	var r Result
	wait := call.AdmitAt(now)
	if s.success() {
		call.SucceedAt(now)
		r.Met, r.Success = strconv.Itoa(s.Status), true
	} else {
		verdict, met := s.judge(e.Classifier())
		o := engine.OutcomeOf(verdict)
		if hint := s.header("X-Amz-Retry-After"); hint != "" {
			o.RetryAfter = engine.ParseRetryAfter(hint)
		}
		var d engine.Decision
		if s.failure != nil && s.failure.Caller != nil {
			d = call.FailWait(s.failure.Caller, o) // does not wait: the context is done
		} else {
			d = call.FailAt(now, o)
		}
		r.Met, r.Class, r.Rule = met, verdict.Class, verdict.Rule
		r.Reason, r.Delay = d.Reason, d.Delay
	}
	stats := e.Stats()
	r.Quota = stats.QuotaLevel
	if stats.Mode == engine.Adaptive {
		r.Limiter = &Limiter{AdmitWait: wait, FillRate: stats.Limiter.FillRate, MeasuredRate: stats.Limiter.MeasuredRate}
	}
	return r
}

// judge has the engine's classifier say what the attempt met.
func (s *Step) judge(c *classify.Classifier) (v classify.Verdict, met string) {
	if s.failure != nil {
		return c.ExplainError(s.failure.Err()), s.failure.Name
	}
	met = strconv.Itoa(s.Status)
	if s.Code != "" {
		met += " " + printable(scenario.Shorten(s.Code))
	}
	return c.ExplainResponse(s.Status, s.Code), met
}

// printable keeps control characters of a file off the terminal.
func printable(s string) string {
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

// header returns the value of a header, given in canonical form.
func (s *Step) header(canonical string) string {
	for name, value := range s.Headers {
		if textproto.CanonicalMIMEHeaderKey(name) == canonical {
			return value
		}
	}
	return ""
}

// How close results have to come to what is expected.
const (
	delayTolerance = time.Microsecond
	waitTolerance  = 10 * time.Microsecond
	rateTolerance  = 1e-9 // of the rate
)

// compare fills in what the file says about the result.
func (r *Result) compare(want *Expect) {
	if want == nil {
		want = new(Expect)
	}
	r.Checked = *want != Expect{}
	r.News = want.Outcome == nil || want.Quota == nil || want.DelayMS == nil && r.Delay != 0
	if want.Outcome != nil && *want.Outcome != r.Outcome() {
		r.mismatch("outcome", *want.Outcome, r.Outcome())
	}
	if want.Quota != nil && *want.Quota != r.Quota {
		r.mismatch("quota", *want.Quota, r.Quota)
	}
	r.compareTime("delay_ms", want.DelayMS, r.Delay, delayTolerance)
	if l := r.Limiter; l != nil {
		r.compareRate("fill_rate", want.FillRate, l.FillRate)
		r.compareRate("measured_tx_rate", want.MeasuredTxRate, l.MeasuredRate)
		r.compareTime("admit_wait_ms", want.AdmitWaitMS, l.AdmitWait, waitTolerance)
		r.News = r.News || want.FillRate == nil || want.MeasuredTxRate == nil || want.AdmitWaitMS == nil && l.AdmitWait != 0
	}
}

func (r *Result) mismatch(key string, wanted, got any) {
	r.Mismatches = append(r.Mismatches, Mismatch{key, wanted, got})
}

func (r *Result) compareTime(key string, wanted *float64, got, tolerance time.Duration) {
	if wanted != nil && (got-millis(*wanted)).Abs() > tolerance {
		r.mismatch(key, *wanted, inMillis(got))
	}
}

func (r *Result) compareRate(key string, wanted *float64, got float64) {
	if wanted != nil && math.Abs(got-*wanted) > rateTolerance**wanted {
		r.mismatch(key, *wanted, got)
	}
}

func inMillis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
