package caddyretry

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/reprise-go/reprise/atomicbucket"
	"github.com/reprise-go/reprise/engine"
)

// Limits of a configuration.
const (
	maxBodyLimit    = 64 << 20 // bytes kept of a request's body
	maxNameBytes    = 63
	mostMaxUpstream = 1 << 20
)

// fault is a setting that is wrong: its name in the configuration, and how.
type fault struct {
	key  string // such as quota.capacity
	text string // such as "is -1: want ..."
}

func (f *fault) Error() string { return f.key + " " + f.text }

// short keeps what a message quotes from filling it.
func short(text string) string {
	const most = 64
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}

// check returns the first setting that is wrong, or false.
func (t *Transport) check() (*fault, bool) {
	wrong := func(key, format string, args ...any) (*fault, bool) {
		return &fault{key, fmt.Sprintf(format, args...)}, true
	}
	mode, known := parseMode(t.Mode)
	switch {
	case !known:
		return wrong("mode", "is %q: want standard, adaptive or legacy", short(t.Mode))
	case len(t.Name) > maxNameBytes || strings.ContainsFunc(t.Name, func(r rune) bool { return r <= ' ' || r > '~' }):
		return wrong("name", "is %q: want up to %d printable ASCII characters without blanks, which logs and metrics show", short(t.Name), maxNameBytes)
	case t.MaxAttempts != nil && (*t.MaxAttempts < 1 || int64(*t.MaxAttempts) > math.MaxInt32):
		return wrong("max_attempts", "is %d: want 1 to %d, the first attempt included; 1 is no retries", *t.MaxAttempts, math.MaxInt32)
	case t.MaxUpstreams != nil && (*t.MaxUpstreams < 1 || *t.MaxUpstreams > mostMaxUpstream):
		return wrong("max_upstreams", "is %d: want 1 to %d upstreams that have an engine", *t.MaxUpstreams, mostMaxUpstream)
	case t.BodyLimit != nil && (*t.BodyLimit < 0 || *t.BodyLimit > maxBodyLimit):
		return wrong("body_limit", "is %d bytes: want 0 (keep nothing) to %d MiB", *t.BodyLimit, maxBodyLimit>>20)
	case t.Service != "":
		if text := serviceFault(t.Service); text != "" {
			return wrong("service", "%s", text)
		}
	}
	if f, bad := t.checkTimes(); bad {
		return f, true
	}
	if t.Coalesce > 0 && mode != engine.Adaptive {
		return wrong("coalesce", "is about the send limiter, which %v mode does not have: want mode adaptive with it", mode)
	}
	if f, bad := t.Quota.check(mode); bad {
		return f, true
	}
	return t.checkTogether()
}

// checkTimes checks the durations.
func (t *Transport) checkTimes() (*fault, bool) {
	wrong := func(key, format string, args ...any) (*fault, bool) {
		return &fault{key, fmt.Sprintf(format, args...)}, true
	}
	backoff := t.Backoff
	if backoff == nil {
		backoff = new(Backoff)
	}
	for _, d := range []struct {
		key   string
		value caddy.Duration
		zero  string
	}{
		{"hedge", t.Hedge, "none"}, {"timeout", t.Timeout, "no limit"}, {"coalesce", t.Coalesce, "none"},
		{"backoff.transient", backoff.Transient, "the default"}, {"backoff.throttling", backoff.Throttling, "the default"},
		{"backoff.max", backoff.Max, "the default"},
	} {
		if d.value < 0 {
			return wrong(d.key, "is %v: want a duration above zero, or 0s for %s", time.Duration(d.value), d.zero)
		}
	}
	for _, d := range t.attemptTimeouts() {
		switch {
		case d <= 0:
			return wrong("attempt_timeout", "is %v: want a duration above zero, or 0s alone for no limit", d)
		case t.Timeout > 0 && d > time.Duration(t.Timeout):
			return wrong("attempt_timeout", "is %v: want no more than the timeout of the whole call, %v", d, time.Duration(t.Timeout))
		}
	}
	if t.Hedge > 0 && t.MaxAttempts != nil && *t.MaxAttempts == 1 {
		return wrong("hedge", "is %v, for one more attempt, and max_attempts is 1: want 2 or more with it", time.Duration(t.Hedge))
	}
	if t.Hedge > 0 && t.Timeout > 0 && t.Hedge >= t.Timeout {
		return wrong("hedge", "is %v: want less than the timeout of the whole call, %v", time.Duration(t.Hedge), time.Duration(t.Timeout))
	}
	return nil, false
}

// check checks the quota in a mode.
func (q *Quota) check(mode engine.Mode) (*fault, bool) {
	if q == nil || *q == (Quota{}) {
		return nil, false
	}
	wrong := func(key, format string, args ...any) (*fault, bool) {
		return &fault{key, fmt.Sprintf(format, args...)}, true
	}
	if mode == engine.Legacy {
		return wrong("quota.capacity", "or a cost is given, but legacy mode has no retry quota: want mode standard or adaptive with it")
	}
	if q.Capacity < 0 || q.Capacity > atomicbucket.MaxCapacity {
		return wrong("quota.capacity", "is %d: want 1 to %d tokens, or 0 for the default", q.Capacity, atomicbucket.MaxCapacity)
	}
	defaults := engine.DefaultQuota()
	capacity := q.Capacity
	if capacity == 0 {
		capacity = defaults.Capacity
	}
	for _, cost := range []struct {
		key             string
		value, standard int
	}{{"quota.transient_cost", q.TransientCost, defaults.TransientCost}, {"quota.throttling_cost", q.ThrottlingCost, defaults.ThrottlingCost}} {
		value := cost.value
		if value == 0 {
			value = cost.standard
		}
		if value < 0 || value > capacity {
			return wrong(cost.key, "is %d: want 1 to the capacity, %d tokens", value, capacity)
		}
	}
	return nil, false
}

// checkTogether checks what only shows when there is an engine.
func (t *Transport) checkTogether() (*fault, bool) {
	e, err := t.engineSettings().engine(nil)
	if f, ok := err.(*fault); ok {
		return f, true
	}
	if err != nil {
		return &fault{"mode", "and the other settings do not make an engine: " + err.Error()}, true
	}
	if given, most := len(t.AttemptTimeout), e.MaxAttempts(); given > max(most, 1) {
		return &fault{"attempt_timeout", fmt.Sprintf("is a list of %d, and a call has at most %d attempts: want at most as many durations, or max_attempts %d with it",
			given, most, given)}, true
	}
	return nil, false
}

// presets are the service ids that have settings of their own (R1.1).
var presets = []string{"dynamodb", "dynamodbstreams"}

// serviceFault says what is wrong with a service id, or nothing: the engine takes
// any, and would use the general settings without a word.
func serviceFault(id string) string {
	plain := strings.NewReplacer(" ", "", "-", "", "_", "").Replace(strings.ToLower(id))
	switch {
	case plain == "" || strings.Trim(plain, "abcdefghijklmnopqrstuvwxyz0123456789") != "":
		return fmt.Sprintf("is %q: want an AWS service id such as dynamodb, of letters, digits, blanks and dashes", short(id))
	case strings.Contains(plain, "dynamo") && !slices.Contains(presets, plain):
		return fmt.Sprintf("is %q: want dynamodb or dynamodbstreams, which have settings of their own, or the id of another AWS service", short(id))
	}
	return ""
}
