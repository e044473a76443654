package replay

import (
	"fmt"
	"math"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
	"github.com/reprise-go/reprise/engine"
)

// outcomes are the words of "outcome", in the order in which an error lists them.
var outcomes = []string{"success", "retry", "non_retryable", "max_attempts", "quota", "deadline", "cancelled"}

// maxMillis is the longest time a file can name: what a time.Duration holds.
const maxMillis = float64(math.MaxInt64 / int64(time.Millisecond))

// validate checks all that needs no engine, and looks the failures up. What an
// engine's options refuse is left to them.
func (c *Case) validate() error {
	if err := c.Engine.validate(); err != nil {
		return c.fault(0, 0, "engine: %v", err)
	}
	if len(c.Calls) == 0 {
		return c.fault(0, 0, "no calls: want at least one")
	}
	for i := range c.Calls {
		steps := c.Calls[i].Steps
		if len(steps) == 0 {
			return c.fault(i+1, 0, "the call wants more steps than it has: it has none")
		}
		for j := range steps {
			step, last := &steps[j], j == len(steps)-1
			if err := step.validate(c.Engine.adaptive()); err != nil {
				return c.fault(i+1, j+1, "%v", err)
			}
			ends := step.ends()
			if ends == "retry" && last {
				return c.fault(i+1, j+1, "the call wants more steps than it has: the last one expects a retry")
			}
			if ends != "" && ends != "retry" && !last {
				return c.fault(i+1, j+2, "a step after the end of its call: step %d ends it (%s)", j+1, ends)
			}
		}
	}
	return nil
}

// ends is the outcome that the file itself gives a step, "" if it leaves that to
// the engine.
func (s *Step) ends() string {
	if s.Expect != nil && s.Expect.Outcome != nil {
		return *s.Expect.Outcome
	}
	if s.success() {
		return "success"
	}
	return ""
}

// adaptive reports whether the engine has a limiter. A mode that is none was refused.
func (s *Settings) adaptive() bool {
	if s.Mode == nil {
		return false
	}
	mode, err := scenario.ParseMode(*s.Mode)
	return err == nil && mode == engine.Adaptive
}

func (s *Settings) validate() error {
	if s.Mode != nil {
		if _, err := scenario.ParseMode(*s.Mode); err != nil {
			return err
		}
	}
	if s.Service != nil {
		if err := scenario.CheckService(*s.Service); err != nil {
			return err
		}
	}
	capacity := 500
	for _, n := range []struct {
		key   string
		value *int
		least int
	}{{"max_attempts", s.MaxAttempts, 1}, {"capacity", s.Capacity, 1}, {"tokens", s.Tokens, 0}} {
		if n.value != nil && (*n.value < n.least || *n.value > math.MaxInt32) {
			return fmt.Errorf("%s is %d: want a number from %d to %d", n.key, *n.value, n.least, math.MaxInt32)
		}
	}
	if s.Capacity != nil {
		capacity = *s.Capacity
	}
	if s.Tokens != nil && *s.Tokens > capacity {
		return fmt.Errorf("tokens is %d: want at most the capacity, %d", *s.Tokens, capacity)
	}
	if s.Jitter != nil && (*s.Jitter < 0 || *s.Jitter > 1) {
		return fmt.Errorf("jitter is %v: want a number from 0 to 1", *s.Jitter)
	}
	if s.MaxBackoffMS != nil && (millis(*s.MaxBackoffMS) <= 0 || *s.MaxBackoffMS > maxMillis) {
		return fmt.Errorf("max_backoff_ms is %v: want milliseconds above 0", *s.MaxBackoffMS)
	}
	return nil
}

func (s *Step) validate(adaptive bool) error {
	if err := s.validateEvent(); err != nil {
		return err
	}
	seen := make(map[string]string, len(s.Headers))
	for name := range s.Headers {
		key := textproto.CanonicalMIMEHeaderKey(name)
		if other, twice := seen[key]; twice {
			return fmt.Errorf("headers: %q and %q are the same header", min(name, other), max(name, other))
		}
		seen[key] = name
	}
	if s.AtMS == nil && adaptive {
		return fmt.Errorf("no at_ms: adaptive mode has to know when the response arrives")
	}
	if err := notNegative("at_ms", s.AtMS); err != nil {
		return err
	}
	if s.Expect == nil {
		return nil
	}
	return s.Expect.validate(adaptive)
}

// validateEvent checks that a step is one of a response and a failure.
func (s *Step) validateEvent() (err error) {
	if s.Error == nil {
		return scenario.CheckResponse(s.Status, s.Code)
	}
	if s.Status != 0 || s.Code != "" || len(s.Headers) > 0 {
		return fmt.Errorf("error %q beside a status, code or headers: an attempt that failed has no response", scenario.Shorten(*s.Error))
	}
	s.failure, err = scenario.Find(*s.Error)
	return err
}

func (e *Expect) validate(adaptive bool) error {
	if e.Outcome != nil {
		if !slices.Contains(outcomes, *e.Outcome) {
			return fmt.Errorf("unknown outcome %q: want %s", scenario.Shorten(*e.Outcome), strings.Join(outcomes, ", "))
		}
	}
	if e.Quota != nil && *e.Quota < 0 {
		return fmt.Errorf("quota is %d: want no negative number", *e.Quota)
	}
	for _, n := range []struct {
		key     string
		value   *float64
		limiter bool
	}{{"delay_ms", e.DelayMS, false}, {"fill_rate", e.FillRate, true}, {"measured_tx_rate", e.MeasuredTxRate, true}, {"admit_wait_ms", e.AdmitWaitMS, true}} {
		if err := notNegative(n.key, n.value); err != nil {
			return err
		}
		if n.value != nil && n.limiter && !adaptive {
			return fmt.Errorf("%s is expected, but only adaptive mode has a limiter", n.key)
		}
	}
	return nil
}

func notNegative(key string, value *float64) error {
	if value != nil && !(*value >= 0 && *value <= maxMillis) {
		return fmt.Errorf("%s is %v: want a number from 0 to %.0f", key, *value, maxMillis)
	}
	return nil
}

// millis turns milliseconds into a duration, to the nearest nanosecond.
func millis(ms float64) time.Duration {
	return time.Duration(math.Round(ms * float64(time.Millisecond)))
}
