package proxyconf

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
	"github.com/reprise-go/reprise/engine"
)

// config reads the whole file.
func (r *reader) config(root *table) (c Config) {
	defaults := root.table("defaults")
	shared := Default()
	shared.read(defaults)
	defaults.done()

	if list := root.tables("upstreams"); len(list) > MaxUpstreams {
		r.fault("upstreams", "are %d: want up to %d", len(list), MaxUpstreams)
	} else {
		names, places := make(map[string]bool), make(map[string]string)
		for _, t := range list {
			u := t.upstream(shared)
			if names[u.Name] && u.Name != "" {
				t.fault("name", "is %q, as that of another upstream: want another", u.Name)
			}
			names[u.Name] = true
			r.claim(t, u, places)
			c.Upstreams = append(c.Upstreams, u)
		}
	}
	if root.done(); len(c.Upstreams) == 0 && len(r.faults) == 0 {
		r.fault("upstreams", "is missing or empty: want a list of tables with a name and urls each")
	}
	return c
}

// claim notes that a host and path is u's; two upstreams cannot have the same.
func (r *reader) claim(t *table, u Upstream, places map[string]string) {
	for _, host := range orAny(u.Hosts) {
		for _, path := range orAny(u.Paths) {
			place := host + " " + strings.TrimSuffix(path, "/")
			if other, taken := places[place]; taken {
				t.r.fault(t.path, "takes the requests for %s, which %s takes: want hosts or paths that tell them apart", describe(host, path), other)
				return
			}
			places[place] = t.path
		}
	}
}

func orAny(list []string) []string {
	if len(list) == 0 {
		return []string{""}
	}
	return list
}

func describe(host, path string) string {
	if host == "" {
		host = "any host"
	}
	if path == "" {
		path = "/"
	}
	return fmt.Sprintf("%s and the path %s", host, path)
}

// upstreamName is one that a log line, a metric's label and a URL can hold.
var upstreamName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// hostName is the name or address that a client asks for.
var hostName = regexp.MustCompile(`^([a-z0-9_]([a-z0-9_.-]{0,252})|\[[0-9a-f:.]+\])$`)

func (t *table) upstream(shared Settings) Upstream {
	u := Upstream{Settings: shared}
	var urls []string
	t.text("name", &u.Name)
	t.texts("urls", &urls)
	t.texts("hosts", &u.Hosts)
	t.texts("paths", &u.Paths)
	switch {
	case !t.has("name"):
		t.fault("name", "is missing: want one, which logs and metrics show")
	case u.Name != "" && !upstreamName.MatchString(u.Name):
		t.fault("name", "is %q: want up to 63 letters, digits, dots, dashes and underscores", scenario.Shorten(u.Name))
	}
	if !t.has("urls") {
		t.fault("urls", "is missing: want at least one, such as http://127.0.0.1:9000")
	}
	for i, text := range urls {
		parsed, err := ParseURL(text)
		if err != nil {
			t.r.fault(item(join(t.path, "urls"), i), "%v", err)
			continue
		}
		u.URLs = append(u.URLs, parsed)
	}
	if len(u.URLs) == len(urls) && t.has("urls") {
		if err := checkURLs(u.URLs); err != nil {
			t.fault("urls", "%v", err)
		}
	}
	for i, host := range u.Hosts {
		u.Hosts[i] = strings.ToLower(host)
		if !hostName.MatchString(u.Hosts[i]) {
			t.r.fault(item(join(t.path, "hosts"), i), "is %q: want a name or address without port, such as orders.example", scenario.Shorten(host))
		}
	}
	for i, path := range u.Paths {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?#%") || slices.ContainsFunc(strings.Split(path, "/"), isDots) || strings.Contains(path, "//") {
			t.r.fault(item(join(t.path, "paths"), i), "is %q: want the beginning of a path, such as /orders, without %%, ?, #, // and dots for folders", scenario.Shorten(path))
		}
	}
	faults := len(t.r.faults)
	if u.read(t); len(t.r.faults) == faults {
		if fault, wrong := u.checkUse(); wrong {
			t.fault(fault.Key, "%s", fault.Text)
		}
	}
	t.done()
	return u
}

// noLimit is what says that attempts have none.
var noLimit = []time.Duration{0}

func isDots(segment string) bool { return segment == "." || segment == ".." }

// read reads the settings that a table holds.
func (s *Settings) read(t *table) {
	faults := len(t.r.faults)
	read(t, "mode", "standard, adaptive or legacy", &s.Mode, func(v any) (engine.Mode, error) {
		name, err := asText(v)
		if err != nil {
			return 0, err
		}
		return scenario.ParseMode(name)
	})
	t.text("service", &s.Service)
	t.whole("max_attempts", &s.MaxAttempts)
	if s.MaxAttempts == 0 && t.has("max_attempts") && len(t.r.faults) == faults {
		t.fault("max_attempts", "is 0: want 1 or more, the first attempt included; 1 is no retries")
	}
	if t.durations("attempt_timeout", &s.AttemptTimeout); slices.Equal(s.AttemptTimeout, noLimit) {
		s.AttemptTimeout = nil
	}
	t.duration("timeout", &s.Timeout)
	t.size("body_limit", &s.BodyLimit)
	t.truth("any_method", &s.AnyMethod)
	t.truth("retry_mark", &s.RetryMark)
	t.duration("hedge", &s.Hedge)
	t.truth("standard_retry_after", &s.StandardRetryAfter)
	t.truth("pass_host", &s.PassHost)
	t.duration("coalesce", &s.Coalesce)

	quota := t.table("quota")
	quota.whole("capacity", &s.Quota.Capacity)
	quota.whole("transient_cost", &s.Quota.TransientCost)
	quota.whole("throttling_cost", &s.Quota.ThrottlingCost)
	quota.done()

	backoff := t.table("backoff")
	backoff.duration("transient", &s.Backoff.Transient)
	backoff.duration("throttling", &s.Backoff.Throttling)
	backoff.duration("max", &s.Backoff.Max)
	backoff.done()

	if len(t.r.faults) > faults {
		return // what could not be read cannot be judged
	}
	if fault, wrong := s.Check(); wrong {
		t.fault(fault.Key, "%s", fault.Text)
	}
}
