package proxyconf

import (
	"net/url"
	"time"

	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// Limits of a configuration.
const (
	MaxUpstreams = 10_000
	MaxURLs      = 64       // of one upstream
	MaxBodyLimit = 64 << 20 // bytes kept of a request's body
)

// Config is what the proxy serves. It has been checked: an upstream's settings
// make an engine.
type Config struct {
	Upstreams []Upstream
}

// Upstream is a service, which runs at one URL or at several alike, and which
// requests are for it.
type Upstream struct {
	Name  string
	URLs  []*url.URL // scheme, host and the same path; at least one
	Hosts []string   // in lower case, without port; none is any host
	Paths []string   // prefixes of whole segments; none is any path
	Settings
}

// Settings are how calls to an upstream are made.
type Settings struct {
	Mode               engine.Mode
	Service            string          // AWS service id whose defaults count, or ""
	MaxAttempts        int             // 0: the mode's or the service's default
	AttemptTimeout     []time.Duration // of the first attempt, the second and so on, until its headers; none: no limit
	Timeout            time.Duration   // of a call, until the headers of its answer; 0: none
	BodyLimit          int             // bytes of a request's body that are kept for a retry
	AnyMethod          bool            // every request may be sent twice
	RetryMark          bool            // retries do not multiply with those of layers that mark theirs
	Hedge              time.Duration   // after which one more attempt is sent beside the one under way; 0: none
	StandardRetryAfter bool            // Retry-After counts, not only x-amz-retry-after
	PassHost           bool            // the upstream sees the client's Host header
	Coalesce           time.Duration   // adaptive mode's window for a burst of throttles; 0: none
	Quota              engine.Quota
	Backoff            fastbackoff.Schedule
}

// Default is what counts where nothing is said. What is zero is the engine's own
// default.
func Default() Settings {
	return Settings{Timeout: time.Minute, BodyLimit: 64 << 10}
}

// Options are the engine's.
func (s Settings) Options() []engine.Option {
	opts := []engine.Option{engine.WithMode(s.Mode), engine.WithQuota(s.Quota), engine.WithSchedule(s.Backoff)}
	if s.Service != "" {
		opts = append(opts, engine.WithService(s.Service))
	}
	if s.MaxAttempts != 0 {
		opts = append(opts, engine.WithMaxAttempts(s.MaxAttempts))
	}
	if s.Coalesce != 0 {
		opts = append(opts, engine.WithThrottleCoalescing(s.Coalesce))
	}
	return opts
}
