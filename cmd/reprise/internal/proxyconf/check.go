package proxyconf

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reprise-go/reprise/atomicbucket"
	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
	"github.com/reprise-go/reprise/engine"
)

// Fault is a setting that is wrong: under which key, and how.
type Fault struct {
	Key  string // such as quota.capacity
	Text string // such as "is -1: want ..."
}

// AsFlag is the fault in the words of the command line.
func (f Fault) AsFlag() error {
	return fmt.Errorf("--%s %s", strings.NewReplacer("_", "-", ".", "-").Replace(f.Key), f.Text)
}

// Check returns the first setting that is wrong, or false.
func (s Settings) Check() (Fault, bool) {
	fault := func(key, format string, args ...any) (Fault, bool) {
		return Fault{key, fmt.Sprintf(format, args...)}, true
	}
	if s.MaxAttempts < 0 || int64(s.MaxAttempts) > math.MaxInt32 {
		return fault("max_attempts", "is %d: want 1 to %d, the first attempt included; 1 is no retries", s.MaxAttempts, math.MaxInt32)
	}
	if s.Service != "" {
		if err := scenario.CheckService(s.Service); err != nil {
			return fault("service", "is wrong: %v", err)
		}
	}
	for _, d := range []struct {
		key   string
		value time.Duration
		zero  string
	}{
		{"hedge", s.Hedge, "none"}, {"timeout", s.Timeout, "no limit"}, {"coalesce", s.Coalesce, "none"},
		{"backoff.transient", s.Backoff.Transient, "the default"}, {"backoff.throttling", s.Backoff.Throttling, "the default"},
		{"backoff.max", s.Backoff.Max, "the default"},
	} {
		if d.value < 0 {
			return fault(d.key, "is %v: want a duration above zero, or 0s for %s", d.value, d.zero)
		}
	}
	for _, d := range s.AttemptTimeout {
		switch {
		case d <= 0:
			return fault("attempt_timeout", "is %v: want a duration above zero, or 0s alone for no limit", d)
		case s.Timeout > 0 && d > s.Timeout:
			return fault("attempt_timeout", "is %v: want no more than the timeout of the whole call, %v", d, s.Timeout)
		}
	}
	if s.Hedge > 0 && s.MaxAttempts == 1 {
		return fault("hedge", "is %v, for one more attempt, and max_attempts is 1: want 2 or more with it", s.Hedge)
	}
	if s.Hedge > 0 && s.Timeout > 0 && s.Hedge >= s.Timeout {
		return fault("hedge", "is %v: want less than the timeout of the whole call, %v", s.Hedge, s.Timeout)
	}
	if s.BodyLimit < 0 || s.BodyLimit > MaxBodyLimit {
		return fault("body_limit", "is %d bytes: want 0 (keep nothing) to %d MiB", s.BodyLimit, MaxBodyLimit>>20)
	}
	if s.Coalesce > 0 && s.Mode != engine.Adaptive {
		return fault("coalesce", "is about the send limiter, which %v mode does not have: want mode adaptive with it", s.Mode)
	}
	if s.Quota != (engine.Quota{}) && s.Mode == engine.Legacy {
		return fault("quota.capacity", "or a cost is given, but legacy mode has no retry quota: want mode standard or adaptive with it")
	}
	capacity := s.Quota.Capacity
	if capacity < 0 || capacity > atomicbucket.MaxCapacity {
		return fault("quota.capacity", "is %d: want 1 to %d tokens, or 0 for the default", capacity, atomicbucket.MaxCapacity)
	}
	defaults := engine.DefaultQuota()
	if capacity == 0 {
		capacity = defaults.Capacity
	}
	for _, cost := range []struct {
		key             string
		value, standard int
	}{{"quota.transient_cost", s.Quota.TransientCost, defaults.TransientCost}, {"quota.throttling_cost", s.Quota.ThrottlingCost, defaults.ThrottlingCost}} {
		if cost.value < 0 || max(cost.value, 0) > capacity || cost.value == 0 && cost.standard > capacity {
			value := cost.value
			if value == 0 {
				value = cost.standard
			}
			return fault(cost.key, "is %d: want 1 to the capacity, %d tokens", value, capacity)
		}
	}
	if _, err := engine.New(s.Options()...); err != nil {
		return fault("mode", "and the other settings do not make an engine: %v", err)
	}
	return Fault{}, false
}

// checkUse returns the setting that is right but without effect for an upstream
// that has these, or false. Defaults are not judged so: what an upstream says
// beside them may give them effect.
func (s Settings) checkUse() (Fault, bool) {
	if len(s.AttemptTimeout) < 2 {
		return Fault{}, false
	}
	e, err := engine.New(s.Options()...)
	if err != nil || len(s.AttemptTimeout) <= e.MaxAttempts() {
		return Fault{}, false
	}
	given, most, ending := len(s.AttemptTimeout), e.MaxAttempts(), "s"
	if most == 1 {
		ending = ""
	}
	return Fault{"attempt_timeout", fmt.Sprintf("is a list of %d, and a call has at most %d attempt%s: want at most %d duration%s, or max_attempts %d with it",
		given, most, ending, most, ending, given)}, true
}

// ParseURL reads where an upstream is.
func ParseURL(text string) (*url.URL, error) {
	wrong := func(why string) error {
		return fmt.Errorf("%q: %s: want a URL such as http://127.0.0.1:9000", scenario.Shorten(text), why)
	}
	u, err := url.Parse(strings.TrimSpace(text))
	switch {
	case err != nil:
		return nil, wrong("not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, wrong("neither http:// nor https://")
	case u.Hostname() == "":
		return nil, wrong("no host")
	case !isPort(u.Port()):
		return nil, wrong("no port from 1 to 65535")
	case u.User != nil:
		return nil, fmt.Errorf("the URL of host %q holds a user: want it without; requests carry their own Authorization", scenario.Shorten(u.Host))
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, wrong("a query or fragment, which could not be sent")
	}
	return u, nil
}

// isPort reports whether a port is one to connect to, or left to the scheme.
func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return text == "" || err == nil && n > 0
}

// checkURLs says what keeps URLs from being replicas of one upstream.
func checkURLs(urls []*url.URL) error {
	switch {
	case len(urls) == 0:
		return errors.New("names no URL: want at least one, such as http://127.0.0.1:9000")
	case len(urls) > MaxURLs:
		return fmt.Errorf("names %d URLs: want up to %d", len(urls), MaxURLs)
	}
	for i, u := range urls {
		if u.EscapedPath() != urls[0].EscapedPath() {
			return fmt.Errorf("names %s and %s: want the same path in all, as they are replicas of one service", urls[0], u)
		}
		if slices.ContainsFunc(urls[:i], func(other *url.URL) bool { return *other == *u }) {
			return fmt.Errorf("names %s twice", u)
		}
	}
	return nil
}

// One returns the configuration of a single upstream that takes every request.
func One(urls []string, s Settings) (Config, error) {
	u := Upstream{Name: "default", Settings: s}
	for _, text := range urls {
		parsed, err := ParseURL(text)
		if err != nil {
			return Config{}, fmt.Errorf("--upstream %w", err)
		}
		u.URLs = append(u.URLs, parsed)
	}
	if err := checkURLs(u.URLs); err != nil {
		return Config{}, fmt.Errorf("--upstream %w", err)
	}
	if fault, wrong := s.Check(); wrong {
		return Config{}, fault.AsFlag()
	}
	if fault, wrong := s.checkUse(); wrong {
		return Config{}, fault.AsFlag()
	}
	return Config{Upstreams: []Upstream{u}}, nil
}
