package caddyretry

import (
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

func init() {
	caddy.RegisterModule(new(Transport))
}

// Transport is Caddy's HTTP transport with retries: the module
// http.reverse_proxy.transport.reprise. All settings of Caddy's own transport are
// taken beside the ones below. The package comment has what the settings mean
// together; Caddy makes, provisions and cleans up a Transport, which is then safe
// for use by many goroutines.
type Transport struct {
	reverseproxy.HTTPTransport

	// Name of the engines: transports with the same name share them, in one
	// configuration and from one to the next. Transports of one configuration that
	// want different engine settings need different names. Default: caddy.
	Name string `json:"name,omitempty"`
	// Mode is standard, adaptive or legacy (R1). Default: standard.
	Mode string `json:"mode,omitempty"`
	// Service is the AWS service id whose defaults count (R1.1). Default: none.
	Service string `json:"service,omitempty"`
	// MaxAttempts of a call, the first included; 1 is no retries. Default: 3, for
	// DynamoDB 4, in legacy mode 5.
	MaxAttempts *int `json:"max_attempts,omitempty"`
	// AttemptTimeout bounds the first attempt, the second and so on, until the
	// headers of its answer; the last one holds for all further. Default: no bound.
	AttemptTimeout []caddy.Duration `json:"attempt_timeout,omitempty"`
	// Timeout bounds a call, retries and delays included, until the headers of its
	// answer. Default: no bound.
	Timeout caddy.Duration `json:"timeout,omitempty"`
	// BodyLimit is how many bytes of a request's body are kept for a retry; 0 keeps
	// nothing. Default: 65536.
	BodyLimit *int `json:"body_limit,omitempty"`
	// AnyMethod says that every request may be sent twice, POST too. Default: false.
	AnyMethod bool `json:"any_method,omitempty"`
	// RetryMark makes retries not multiply with those of layers that mark theirs, by
	// the header Retry-Attempt. Default: false.
	RetryMark bool `json:"retry_mark,omitempty"`
	// Hedge is after which time without an answer one more attempt is sent beside
	// the one under way. Default: none is.
	Hedge caddy.Duration `json:"hedge,omitempty"`
	// StandardRetryAfter makes Retry-After count, not only x-amz-retry-after (R5).
	// Default: false.
	StandardRetryAfter bool `json:"standard_retry_after,omitempty"`
	// Coalesce is adaptive mode's window in which a burst of throttles cuts the rate
	// once. Default: every throttle cuts (R8.2).
	Coalesce caddy.Duration `json:"coalesce,omitempty"`
	// MaxUpstreams is the most upstreams that have an engine at one time; what is
	// beyond gets one attempt and no retry. Default: 1024.
	MaxUpstreams *int `json:"max_upstreams,omitempty"`
	// Quota is the retry quota of each upstream (R6). Default: 500 tokens, 14 for a
	// retry after a transient failure, 5 after a throttling one.
	Quota *Quota `json:"quota,omitempty"`
	// Backoff is the delays (R4). Default: 50 ms, 1 s, at most 20 s.
	Backoff *Backoff `json:"backoff,omitempty"`
	// Classify says what statuses and error codes mean where that is not what R3
	// says. Default: nothing else.
	Classify *Classify `json:"classify,omitempty"`

	registry *prometheus.Registry // that has the metrics; nil: none

	kept    *kept  // nil until provisioned
	load    uint64 // of the configuration that this is of
	adopted atomic.Bool
	left    atomic.Bool
	looped  bool // Caddy sends again what this has given up
	door    *httpretry.Transport
	base    http.RoundTripper
	logger  *zap.Logger
}

// CaddyModule returns the module's id and how to make it.
func (*Transport) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.reverse_proxy.transport.reprise",
		New: func() caddy.Module { return new(Transport) },
	}
}

// Provision sets the transport up: Caddy's own first, then the engines, which are
// those of the configuration before if that had a transport of the same name. They
// get this one's settings with its first request, so that a configuration that is
// never served changes nothing. A setting that is wrong is an error.
func (t *Transport) Provision(ctx caddy.Context) error {
	t.logger = ctx.Logger()
	if f, wrong := t.check(); wrong {
		return f
	}
	if err := t.HTTPTransport.Provision(ctx); err != nil {
		return err
	}
	s := t.engineSettings()
	door, err := t.newDoor(s)
	if err != nil {
		return err
	}
	t.door = door
	if err := t.keep(ctx, s); err != nil {
		return err
	}
	t.looped = t.warnOfLoop(ctx)
	if err := register(ctx.GetMetricsRegistry()); err != nil {
		return err
	}
	t.registry = ctx.GetMetricsRegistry()
	return nil
}

// Cleanup lets go of the engines and closes idle connections.
func (t *Transport) Cleanup() error {
	if t.kept != nil && t.left.CompareAndSwap(false, true) {
		t.kept.leave() // calls under way go on with it
		if t.registry != nil {
			unregister(t.registry)
		}
	}
	return t.HTTPTransport.Cleanup()
}

// newDoor makes what retries, above what sends.
func (t *Transport) newDoor(s engineSettings) (*httpretry.Transport, error) {
	template, err := s.engine(nil)
	if err != nil {
		return nil, err
	}
	t.base = t.newBase()
	base := t.base
	if t.Hedge > 0 {
		base = apart{base}
	}
	opts := []httpretry.Option{httpretry.WithBase(base), httpretry.WithEngineFor(t.engineOf)}
	if t.BodyLimit != nil {
		opts = append(opts, httpretry.WithBodyLimit(*t.BodyLimit))
	}
	if limits := t.attemptTimeouts(); len(limits) > 0 {
		opts = append(opts, httpretry.WithAttemptTimeout(limits[0], limits[1:]...))
	}
	if t.Hedge > 0 {
		opts = append(opts, httpretry.WithHedge(time.Duration(t.Hedge)))
	}
	for _, option := range []struct {
		wanted bool
		option httpretry.Option
	}{
		{t.AnyMethod, httpretry.WithAnyMethod()}, {t.RetryMark, httpretry.WithRetryMark()}, {t.StandardRetryAfter, httpretry.WithStandardRetryAfter()},
	} {
		if option.wanted {
			opts = append(opts, option.option)
		}
	}
	return httpretry.New(template, opts...)
}

// attemptTimeouts is the bounds of attempts; 0 alone is none.
func (t *Transport) attemptTimeouts() (limits []time.Duration) {
	if len(t.AttemptTimeout) == 1 && t.AttemptTimeout[0] == 0 {
		return nil
	}
	for _, d := range t.AttemptTimeout {
		limits = append(limits, time.Duration(d))
	}
	return limits
}

const defaultName = "caddy"

// keep takes the engines of the transport's name.
func (t *Transport) keep(ctx caddy.Context, s engineSettings) (err error) {
	name := t.Name
	if name == "" {
		name = defaultName
	}
	t.kept, err = enter(name)
	if err == nil {
		t.load, err = t.kept.claim(ctx.GetMetricsRegistry(), s)
	}
	return err
}

// warnOfLoop finds the reverse_proxy that this is the transport of, says so if that
// sends again what this has given up, and reports whether it does.
func (t *Transport) warnOfLoop(ctx caddy.Context) bool {
	for _, m := range ctx.Modules() {
		h, ok := m.(*reverseproxy.Handler)
		if !ok || h.LoadBalancing == nil {
			continue
		}
		lb := h.LoadBalancing
		if lb.Retries > 0 || lb.TryDuration > 0 {
			t.logger.Warn("lb_retries or lb_try_duration makes reverse_proxy send again what this transport has given up; each such round is one attempt, "+
				"which no quota pays for and no backoff delays: leave them out, unless another upstream shall be tried",
				zap.Int("lb_retries", lb.Retries), zap.Duration("lb_try_duration", time.Duration(lb.TryDuration)))
			return true
		}
	}
	return false
}

// RoundTrip sends a request of reverse_proxy, and sends it again as the engine of
// its upstream decides. It returns a response whenever the upstream gave one and
// the client still waits, whatever its status. Active health checks are sent as
// they are, and count for nothing. Blocks for the attempts and the delays between
// them, and no longer than the request's context lives or Timeout says.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.door == nil {
		return nil, errNotProvisioned
	}
	t.SetScheme(req)
	ctx := req.Context()
	if ctx.Value(caddyhttp.VarsCtxKey) == nil {
		return t.base.RoundTrip(req) // a health check: no client has sent it
	}
	if !t.adopted.Load() {
		t.kept.adopt(t.load, t.engineSettings(), t.logger)
		t.adopted.Store(true)
	}
	repl, _ := ctx.Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	var before rounds
	if t.looped {
		before = roundsOf(repl, req)
		if before.attempts > 0 {
			ctx = httpretry.RetryMark(ctx, before.attempts+1)
		}
	}
	if t.Hedge > 0 {
		ctx = withVars(ctx)
	}
	var l *limited
	if t.Timeout > 0 {
		l = limit(ctx, time.Duration(t.Timeout))
		ctx = l
	}
	out := req
	if ctx != req.Context() {
		out = req.WithContext(ctx)
	}
	resp, err := t.door.RoundTrip(out)
	if l != nil {
		resp, err = l.end(resp, err)
	}
	r := reportOf(resp, err)
	if t.looped {
		r.attempts += before.attempts
		before.keep(repl, req, r.attempts)
	}
	r.show(repl, ctx)
	if err != nil {
		return t.failed(req, err)
	}
	return resp, nil
}

// engineOf returns the engine of a request's upstream.
func (t *Transport) engineOf(req *http.Request) *engine.Engine {
	return t.kept.fleet.Load().group.For(upstreamOf(req))
}

// maxKeyBytes is more than the name of a host, with a port, or the path of a socket
// can have: who may choose an address through a placeholder cannot make much be kept.
const maxKeyBytes = 300

// upstreamOf is the upstream as the configuration names it: host:port, or network
// and address where that is not TCP. The URL's host is no good for it: the PROXY
// protocol puts the client's address there.
func upstreamOf(req *http.Request) string {
	di, ok := reverseproxy.GetDialInfo(req.Context())
	switch {
	case !ok:
		return httpretry.HostKey(req)
	case len(di.Address) > maxKeyBytes:
		return "too-long.invalid:1" // a placeholder's; nobody can be reached there
	case di.Network == "" || di.Network == "tcp":
		return di.Address
	}
	return di.Network + "/" + di.Address
}

var errNotProvisioned = errors.New("reprise/caddyretry: this *Transport was not provisioned; Caddy does that with the modules of its configuration")

// Interface guards
var (
	_ caddy.Provisioner                                = (*Transport)(nil)
	_ caddy.CleanerUpper                               = (*Transport)(nil)
	_ http.RoundTripper                                = (*Transport)(nil)
	_ reverseproxy.TLSTransport                        = (*Transport)(nil)
	_ reverseproxy.H2CTransport                        = (*Transport)(nil)
	_ reverseproxy.HealthCheckSchemeOverriderTransport = (*Transport)(nil)
	_ reverseproxy.ProxyProtocolTransport              = (*Transport)(nil)
	_ reverseproxy.RequestHeaderOpsTransport           = (*Transport)(nil)
)
