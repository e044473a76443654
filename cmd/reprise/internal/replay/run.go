package replay

import (
	"errors"
	"fmt"
	"math"
	"net/textproto"
	"strconv"
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

// Mismatch is a key that is not as expected.
type Mismatch struct {
	Key    string `json:"key"`
	Wanted any    `json:"wanted"`
	Got    any    `json:"got"`
}

// String is "key: wanted x, got y".
func (m Mismatch) String() string {
	return fmt.Sprintf("%s: wanted %s, got %s", m.Key, plain(m.Wanted), plain(m.Got))
}

// plain writes milliseconds without the nanosecond that a draw below the ceiling lacks.
func plain(v any) string {
	if ms, ok := v.(float64); ok {
		return strconv.FormatFloat(math.Round(ms*1e3)/1e3, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// Run replays the case on an engine of its own and reports each step. It stops
// early where the file and the engine disagree on whether a call goes on, for
// what follows would answer another question; the number of steps that were not
// run is returned. An error is a fault of the file.
func (c *Case) Run(report func(Result)) (notRun int, err error) {
	e, err := c.newEngine()
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
			r := step.run(e, &call)
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
func (c *Case) newEngine() (*engine.Engine, error) {
	s := &c.Engine
	var opts []engine.Option
	if s.Mode != nil {
		mode, err := scenario.ParseMode(*s.Mode)
		if err != nil {
			return nil, err
		}
		if mode == engine.Adaptive {
			return nil, errors.New("mode adaptive cannot be replayed yet")
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

// run makes one attempt of the call.
func (s *Step) run(e *engine.Engine, call *engine.Call) Result {
	call.Admit()
	if s.success() {
		call.Succeed()
		return Result{Met: strconv.Itoa(s.Status), Success: true, Quota: e.Stats().QuotaLevel}
	}
	var d engine.Decision
	verdict, met := s.judge(e.Classifier())
	o := engine.OutcomeOf(verdict)
	if hint := s.header("X-Amz-Retry-After"); hint != "" {
		o.RetryAfter = engine.ParseRetryAfter(hint)
	}
	if s.failure != nil && s.failure.Caller != nil {
		d = call.FailWait(s.failure.Caller, o) // does not wait: the context is done
	} else {
		d = call.FailAt(time.Time{}, o) // no deadline, so no time matters
	}
	return Result{
		Met: met, Class: verdict.Class, Rule: verdict.Rule,
		Reason: d.Reason, Quota: e.Stats().QuotaLevel, Delay: d.Delay,
	}
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

// delayTolerance is how close a delay has to come to the expected one.
const delayTolerance = time.Microsecond

// compare fills in what the file says about the result.
func (r *Result) compare(want *Expect) {
	if want == nil {
		want = new(Expect)
	}
	delay := float64(r.Delay) / float64(time.Millisecond)
	r.Checked = *want != Expect{}
	r.News = want.Outcome == nil || want.Quota == nil || want.DelayMS == nil && r.Delay != 0
	if want.Outcome != nil && *want.Outcome != r.Outcome() {
		r.Mismatches = append(r.Mismatches, Mismatch{"outcome", *want.Outcome, r.Outcome()})
	}
	if want.Quota != nil && *want.Quota != r.Quota {
		r.Mismatches = append(r.Mismatches, Mismatch{"quota", *want.Quota, r.Quota})
	}
	if want.DelayMS != nil && (r.Delay-millis(*want.DelayMS)).Abs() > delayTolerance {
		r.Mismatches = append(r.Mismatches, Mismatch{"delay_ms", *want.DelayMS, delay})
	}
}
