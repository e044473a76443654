package proxy

import (
	"log/slog"
	"net/http"
	"net/http/httputil"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/adapters/promretry"
	"github.com/reprise-go/reprise/cmd/reprise/internal/proxyconf"
	"github.com/reprise-go/reprise/engine"
)

// upstream is a service as it is served. It is immutable but for what it points
// to, which outlives it in the upstream of that name in the next table.
type upstream struct {
	proxyconf.Upstream
	engine   *engine.Engine
	replicas *replicas
	counts   *counts
	forward  *httputil.ReverseProxy
}

// newUpstream makes an upstream, with what stays of the one that had its name, if
// there was one. It changes nothing of that; adopt is how its engine then gets
// the new settings.
func (s *Server) newUpstream(c proxyconf.Upstream, old *upstream) (u *upstream, adopt func() error, err error) {
	u = &upstream{Upstream: c, replicas: &replicas{base: httpretry.NoResend(s.base)}, counts: newCounts()}
	known := make(map[string]*replica)
	if old != nil {
		u.counts = old.counts
		for _, r := range old.replicas.all {
			known[r.url.String()] = r
		}
	}
	for _, url := range c.URLs {
		r := known[url.String()]
		if r == nil {
			r = &replica{url: url}
		}
		u.replicas.all = append(u.replicas.all, r)
	}
	if u.engine, adopt, err = s.engineOf(c, u.counts.calls, old); err != nil {
		return nil, nil, err
	}
	door := []httpretry.Option{httpretry.WithBase(u.replicas), httpretry.WithBodyLimit(c.BodyLimit)}
	if t := c.AttemptTimeout; len(t) > 0 {
		door = append(door, httpretry.WithAttemptTimeout(t[0], t[1:]...))
	}
	if c.RetryMark {
		door = append(door, httpretry.WithRetryMark())
	}
	if c.Hedge > 0 {
		door = append(door, httpretry.WithHedge(c.Hedge))
	}
	if c.AnyMethod {
		door = append(door, httpretry.WithAnyMethod())
	}
	if c.StandardRetryAfter {
		door = append(door, httpretry.WithStandardRetryAfter())
	}
	transport, err := httpretry.New(u.engine, door...)
	if err != nil {
		return nil, nil, err
	}
	u.forward = s.forward(u, transport)
	return u, adopt, nil
}

// engineOf returns the engine for an upstream's settings: that of the upstream
// before it, unless the mode or the window of coalescing is another.
func (s *Server) engineOf(c proxyconf.Upstream, calls *promretry.Recorder, old *upstream) (e *engine.Engine, adopt func() error, err error) {
	opts := append(c.Options(), engine.WithObserver(calls.Observer().Then(s.observer(c.Name))))
	nothing := func() error { return nil }
	fresh, err := engine.New(opts...)
	if err != nil || old == nil {
		return fresh, nothing, err
	}
	if old.Mode == c.Mode && old.Coalesce == c.Coalesce {
		return old.engine, func() error {
			// Resolved, so that the defaults of a service count too.
			return old.engine.Reconfigure(engine.WithMaxAttempts(fresh.MaxAttempts()),
				engine.WithQuota(fresh.Quota()), engine.WithSchedule(fresh.Schedule()))
		}, nil
	}
	level := min(old.engine.Stats().QuotaLevel, fresh.Quota().Capacity)
	fresh, err = engine.New(append(opts, engine.WithTokens(level))...)
	s.log.Info("the upstream's engine is a new one, at the level of the old: mode or coalesce is another",
		"upstream", c.Name, "mode", c.Mode.String(), "quota_tokens", level)
	return fresh, nothing, err
}

// observer tells of retries, at the debug level.
func (s *Server) observer(name string) engine.Observer {
	if !s.log.Enabled(s.life, slog.LevelDebug) {
		return engine.Observer{}
	}
	return engine.Observer{Retry: func(e engine.RetryEvent) {
		s.log.Debug("retry", "upstream", name, "attempt", e.Attempt, "class", e.Class.String(), "delay", e.Delay,
			"cost_tokens", e.Cost, "quota_tokens", e.QuotaLeft)
	}}
}

// forward is the reverse proxy of an upstream.
func (s *Server) forward(u *upstream, transport http.RoundTripper) *httputil.ReverseProxy {
	first := u.URLs[0]
	return &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: flushInterval,
		BufferPool:    &s.buffers,
		ErrorLog:      slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(first)
			// We do not read the query, so nobody can be misled about it.
			r.Out.URL.RawQuery, r.Out.URL.ForceQuery = r.In.URL.RawQuery, r.In.URL.ForceQuery
			if u.PassHost {
				r.Out.Host = r.In.Host
			}
			s.setForwarded(r)
			if c := callOf(r.In); len(r.In.Trailer) > 0 && c.body != nil {
				dropTrailers(r.Out.Trailer)
				c.body.trailer, c.body.from = r.Out.Trailer, r.In.Trailer
			}
		},
		ModifyResponse: s.answered,
		ErrorHandler:   s.failed,
	}
}
