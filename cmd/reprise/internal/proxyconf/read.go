package proxyconf

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/reprise-go/reprise/cmd/reprise/internal/conf"
	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
	"github.com/reprise-go/reprise/engine"
)

// read reads the whole file.
func (c *Config) read(root *conf.Table) {
	defaults := root.Table("defaults")
	shared := Default()
	shared.read(defaults)
	defaults.Done()

	if list := root.Tables("upstreams"); len(list) > MaxUpstreams {
		root.Fault("upstreams", "are %d: want up to %d", len(list), MaxUpstreams)
	} else {
		names, places := make(map[string]bool), make(map[string]string)
		for _, t := range list {
			u := upstream(t, shared)
			if names[u.Name] && u.Name != "" {
				t.Fault("name", "is %q, as that of another upstream: want another", u.Name)
			}
			names[u.Name] = true
			claim(t, u, places)
			c.Upstreams = append(c.Upstreams, u)
		}
	}
	if root.Done(); len(c.Upstreams) == 0 && root.Faults() == 0 {
		root.Fault("upstreams", "is missing or empty: want a list of tables with a name and urls each")
	}
}

// claim notes that a host and path is u's; two upstreams cannot have the same.
func claim(t *conf.Table, u Upstream, places map[string]string) {
	for _, host := range orAny(u.Hosts) {
		for _, path := range orAny(u.Paths) {
			place := host + " " + strings.TrimSuffix(path, "/")
			if other, taken := places[place]; taken {
				t.FaultHere("takes the requests for %s, which %s takes: want hosts or paths that tell them apart", describe(host, path), other)
				return
			}
			places[place] = t.Path()
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

func upstream(t *conf.Table, shared Settings) Upstream {
	u := Upstream{Settings: shared}
	var urls []string
	t.Text("name", &u.Name)
	t.Texts("urls", &urls)
	t.Texts("hosts", &u.Hosts)
	t.Texts("paths", &u.Paths)
	switch {
	case !t.Has("name"):
		t.Fault("name", "is missing: want one, which logs and metrics show")
	case u.Name != "" && !upstreamName.MatchString(u.Name):
		t.Fault("name", "is %q: want up to 63 letters, digits, dots, dashes and underscores", scenario.Shorten(u.Name))
	}
	if !t.Has("urls") {
		t.Fault("urls", "is missing: want at least one, such as http://127.0.0.1:9000")
	}
	for i, text := range urls {
		parsed, err := ParseURL(text)
		if err != nil {
			t.FaultAt("urls", i, "%v", err)
			continue
		}
		u.URLs = append(u.URLs, parsed)
	}
	if len(u.URLs) == len(urls) && t.Has("urls") {
		if err := checkURLs(u.URLs); err != nil {
			t.Fault("urls", "%v", err)
		}
	}
	for i, host := range u.Hosts {
		u.Hosts[i] = strings.ToLower(host)
		if !hostName.MatchString(u.Hosts[i]) {
			t.FaultAt("hosts", i, "is %q: want a name or address without port, such as orders.example", scenario.Shorten(host))
		}
	}
	for i, path := range u.Paths {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?#%") || slices.ContainsFunc(strings.Split(path, "/"), isDots) || strings.Contains(path, "//") {
			t.FaultAt("paths", i, "is %q: want the beginning of a path, such as /orders, without %%, ?, #, // and dots for folders", scenario.Shorten(path))
		}
	}
	faults := t.Faults()
	if u.read(t); t.Faults() == faults {
		if fault, wrong := u.checkUse(); wrong {
			t.Fault(fault.Key, "%s", fault.Text)
		}
	}
	t.Done()
	return u
}

// noLimit is what says that attempts have none.
var noLimit = []time.Duration{0}

func isDots(segment string) bool { return segment == "." || segment == ".." }

// ReadEngine reads the settings that make an engine; Check tells whether they do.
func (s *Settings) ReadEngine(t *conf.Table) {
	faults := t.Faults()
	conf.Read(t, "mode", "standard, adaptive or legacy", &s.Mode, func(v any) (engine.Mode, error) {
		name, err := conf.AsText(v)
		if err != nil {
			return 0, err
		}
		return scenario.ParseMode(name)
	})
	t.Text("service", &s.Service)
	t.Whole("max_attempts", &s.MaxAttempts)
	if s.MaxAttempts == 0 && t.Has("max_attempts") && t.Faults() == faults {
		t.Fault("max_attempts", "is 0: want 1 or more, the first attempt included; 1 is no retries")
	}
	t.Duration("coalesce", &s.Coalesce)

	quota := t.Table("quota")
	quota.Whole("capacity", &s.Quota.Capacity)
	quota.Whole("transient_cost", &s.Quota.TransientCost)
	quota.Whole("throttling_cost", &s.Quota.ThrottlingCost)
	quota.Done()

	backoff := t.Table("backoff")
	backoff.Duration("transient", &s.Backoff.Transient)
	backoff.Duration("throttling", &s.Backoff.Throttling)
	backoff.Duration("max", &s.Backoff.Max)
	backoff.Done()
}

// read reads the settings that a table holds.
func (s *Settings) read(t *conf.Table) {
	faults := t.Faults()
	s.ReadEngine(t)
	if t.Durations("attempt_timeout", &s.AttemptTimeout); slices.Equal(s.AttemptTimeout, noLimit) {
		s.AttemptTimeout = nil
	}
	t.Duration("timeout", &s.Timeout)
	size(t, "body_limit", &s.BodyLimit)
	t.Truth("any_method", &s.AnyMethod)
	t.Truth("retry_mark", &s.RetryMark)
	t.Duration("hedge", &s.Hedge)
	t.Truth("standard_retry_after", &s.StandardRetryAfter)
	t.Truth("pass_host", &s.PassHost)

	if t.Faults() > faults {
		return // what could not be read cannot be judged
	}
	if fault, wrong := s.Check(); wrong {
		t.Fault(fault.Key, "%s", fault.Text)
	}
}

// size reads a number of bytes.
func size(t *conf.Table, key string, to *int) {
	conf.Read(t, key, "a number of bytes such as 65536 or 64KiB", to, func(v any) (int, error) {
		if n, err := conf.AsWhole(v); err == nil {
			return n, nil
		}
		s, ok := v.(string)
		if !ok {
			return 0, conf.ErrKind
		}
		n, err := ParseBytes(s)
		return int(n), err
	})
}
