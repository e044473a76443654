package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/reprise-go/reprise/cmd/reprise/internal/proxy"
	"github.com/reprise-go/reprise/cmd/reprise/internal/proxyconf"
	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// proxyCommand is `reprise proxy`.
type proxyCommand struct {
	Listen   string   `group:"Proxy" default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Where clients connect. Beyond this machine only if the address says so. Default: ${default}."`
	Upstream []string `group:"Proxy" sep:"," placeholder:"URL" help:"The service that all requests are for. Several URLs are the same service: attempts go round them, a retry to the next."`
	Config   string   `group:"Proxy" placeholder:"FILE" help:"Upstreams from a file in YAML or TOML, instead of --upstream and the Engine flags. SIGHUP reads it again."`
	Check    bool     `group:"Proxy" help:"Say whether flags and file are right, and end."`
	Admin    string   `group:"Proxy" default:"127.0.0.1:9901" placeholder:"HOST:PORT" help:"Where /-/healthy, /-/metrics and /-/engines are; off for nowhere. Default: ${default}."`
	Grace    duration `group:"Proxy" default:"30s" help:"Time for requests under way to end after SIGTERM or SIGINT. Default: ${default}."`

	Mode               *string          `group:"Engine" placeholder:"MODE" help:"Retry mode: standard, adaptive, legacy. Default: standard."`
	MaxAttempts        *int             `group:"Engine" placeholder:"N" help:"Most attempts of a request, the first included. Default: 3, DynamoDB 4, legacy 5."`
	Service            *string          `group:"Engine" placeholder:"ID" help:"AWS service whose defaults count, such as dynamodb."`
	Timeout            *time.Duration   `group:"Engine" placeholder:"TIME" help:"Time until the headers of the answer, retries included; 0s is no limit. Default: 1m."`
	AttemptTimeout     []time.Duration  `group:"Engine" sep:"," placeholder:"TIME" help:"Time until the headers of one attempt's answer; of several the first attempt has the first, and the last is for all further ones. 0s is no limit. Default: 0s."`
	Hedge              *time.Duration   `group:"Engine" placeholder:"DELAY" help:"Send one more attempt beside one that has no answer after so long, if the request may be sent twice and the quota pays. Default: 0s, none."`
	RetryMark          bool             `group:"Engine" help:"Mark requests that are retried here (header Retry-Attempt), and send marked ones once: whoever marked them retries."`
	BodyLimit          *proxyconf.Bytes `group:"Engine" placeholder:"BYTES" help:"How much of a request's body is kept for a retry; a longer one is sent once. Default: 64KiB."`
	AnyMethod          bool             `group:"Engine" help:"Every request may be sent twice, not only idempotent methods and requests with Idempotency-Key."`
	StandardRetryAfter bool             `group:"Engine" help:"Let Retry-After lengthen the backoff, by 5s at the most, where there is no x-amz-retry-after."`
	PassHost           bool             `group:"Engine" help:"Send the client's Host header on, instead of the upstream's name."`
	Coalesce           *time.Duration   `group:"Engine" placeholder:"WINDOW" help:"In adaptive mode, let a burst of throttles within so long cut the rate once. Default: 0s, none."`
	QuotaCapacity      *int             `group:"Engine" placeholder:"TOKENS" help:"Tokens of the retry quota. Default: 500."`
	QuotaTransient     *int             `name:"quota-transient-cost" group:"Engine" placeholder:"TOKENS" help:"What a retry after a transient failure costs. Default: 14."`
	QuotaThrottling    *int             `name:"quota-throttling-cost" group:"Engine" placeholder:"TOKENS" help:"What a retry after a throttling failure costs. Default: 5."`
	BackoffTransient   *time.Duration   `group:"Engine" placeholder:"TIME" help:"Base of the delays after transient failures. Default: 50ms."`
	BackoffThrottling  *time.Duration   `group:"Engine" placeholder:"TIME" help:"Base of the delays after throttling failures. Default: 1s."`
	BackoffMax         *time.Duration   `group:"Engine" placeholder:"TIME" help:"The longest delay, before its jitter. Default: 20s."`

	MaxConnections int             `group:"Clients" default:"4096" placeholder:"N" help:"Connections at a time; others wait. Default: ${default}."`
	MaxHeader      proxyconf.Bytes `group:"Clients" default:"64KiB" placeholder:"BYTES" help:"Longest header of a request. Default: ${default}."`
	ClientTimeout  duration        `group:"Clients" default:"30s" help:"Time for a client to send a header, to go on with a body, or to take a piece of the answer. Default: ${default}."`
	IdleTimeout    duration        `group:"Clients" default:"2m" help:"Time that a connection may be without a request. Default: ${default}."`
	TrustForwarded []string        `group:"Clients" sep:"," placeholder:"CIDR" help:"Proxies whose X-Forwarded headers are continued. Everyone else's are replaced. Default: none."`

	Log       string `group:"Output" default:"text" enum:"text,json" help:"Form of the log, on standard error: text, json. Default: ${default}."`
	LogLevel  string `group:"Output" default:"info" enum:"debug,info,warn,error" help:"Least level that is logged: debug, info, warn, error. Default: ${default}."`
	AccessLog bool   `group:"Output" help:"Log each request, at the info level instead of debug."`
}

// Help is the long help of the command.
func (proxyCommand) Help() string {
	return `An upstream has one engine, so one retry quota, whatever the number of its URLs. Its own answer passes through, whatever its status; where there is none the proxy answers 429 with Retry-After (the send limiter lets nothing be sent), 504 (out of time) or 502, and logs why. GET, HEAD, OPTIONS, TRACE, PUT, DELETE and requests with an Idempotency-Key are retried; others only if the upstream cannot have seen them.

A file has several upstreams, told apart by host and path:

  defaults:                       # settings for all; keys as below
    timeout: 30s
  upstreams:
    - name: orders
      urls: [http://127.0.0.1:9001, http://127.0.0.1:9002]
      hosts: [orders.example]     # without: any
      paths: [/orders, /carts]    # without: all; the longest wins
      mode: adaptive
      quota: {capacity: 1000, transient_cost: 14, throttling_cost: 5}
      backoff: {transient: 50ms, throttling: 1s, max: 20s}
    - name: rest
      urls: http://127.0.0.1:9003

Keys besides: service, max_attempts, attempt_timeout, body_limit, any_method, retry_mark, hedge, standard_retry_after, pass_host, coalesce. They mean what the flags do.

Signals: SIGHUP reads --config again, without dropping a request or a token; a file that is wrong is logged, and what was served goes on. Without --config it ends the proxy like SIGTERM and SIGINT: no new connections, requests under way get --grace to end, what is left is cut off. A second of these ends it at once.

Exit codes: 0 ended by a signal, and every request was served; 1 it could not begin or go on, or requests were cut off; 2 the command line is wrong; 129, 130 and 143 ended by a second signal. With --check: 0 all is right, 1 the file is wrong, 2 the command line is.

Examples:
  reprise proxy --upstream http://127.0.0.1:9000
  reprise proxy --upstream http://127.0.0.1:9001,http://127.0.0.1:9002 --max-attempts 2 --attempt-timeout 2s
  reprise proxy --config proxy.yaml --check
  reprise proxy --config proxy.yaml --log json --access-log
  kill -HUP PID                                    read proxy.yaml again
  curl -s 127.0.0.1:9901/-/engines                 quotas, limiters and stops by reason`
}

// duration is one above zero.
type duration time.Duration

func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v <= 0 {
		return fmt.Errorf("want a duration above zero such as 10s or 1m30s, got %q", scenario.Shorten(string(text)))
	}
	*d = duration(v)
	return nil
}

// Run serves until a signal ends it.
func (c *proxyCommand) Run(out streams) error {
	options, err := c.options(out.Err)
	if err != nil {
		return usageError{fmt.Errorf("proxy: %w", err)}
	}
	config, err := c.configuration()
	if err != nil {
		return inProxy(err)
	}
	if c.Check {
		return c.tell(config, out.Out)
	}
	signals := watchProxySignals(c.Config != "")
	defer signals.stop()
	server, err := proxy.Start(options, config)
	if err != nil {
		return inProxy(err)
	}
	c.announce(options.Log, server, config)
	for {
		select {
		case <-signals.reload:
			c.reload(options.Log, server)
		case err := <-server.Failed():
			return inProxy(err)
		case s := <-signals.end:
			options.Log.Info("ending: no new connections", "signal", s.String(), "grace", time.Duration(c.Grace))
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(c.Grace))
			defer cancel()
			if err := server.Shutdown(ctx); err != nil {
				return inProxy(err)
			}
			options.Log.Info("ended")
			return nil
		}
	}
}

func inProxy(err error) error {
	if faults, several := errors.AsType[proxyconf.Faults](err); several {
		each := make(errorLines, len(faults))
		for i, fault := range faults {
			each[i] = fmt.Errorf("proxy: %w", fault)
		}
		return each
	}
	var usage usageError
	if errors.As(err, &usage) {
		return usageError{fmt.Errorf("proxy: %w", err)}
	}
	return fmt.Errorf("proxy: %w", err)
}

// reload serves what the file says now, if it is right.
func (c *proxyCommand) reload(log *slog.Logger, server *proxy.Server) {
	config, err := proxyconf.Load(c.Config)
	if err != nil {
		server.ReloadFailed()
	} else {
		err = server.Reload(config)
	}
	if err != nil {
		text := err.Error()
		if faults, several := errors.AsType[proxyconf.Faults](err); several {
			text = faults.InOneLine()
		}
		log.Error("not reloaded: what was served goes on", "error", inOneLine(text))
		return
	}
	log.Info("reloaded", "config", c.Config, "upstreams", len(config.Upstreams))
}

func inOneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// announce says what is served, and warns where that is open to other machines.
func (c *proxyCommand) announce(log *slog.Logger, server *proxy.Server, config proxyconf.Config) {
	admin := "off"
	if at := server.AdminAddr(); at != nil {
		admin = at.String()
		if beyond(at) {
			log.Warn("the admin endpoints are open to other machines", "admin", admin)
		}
	}
	if beyond(server.Addr()) {
		log.Warn("the proxy is open to other machines", "listen", server.Addr().String())
	}
	log.Info("serving", "listen", server.Addr().String(), "admin", admin, "upstreams", len(config.Upstreams))
}

func beyond(at net.Addr) bool {
	tcp, ok := at.(*net.TCPAddr)
	return !ok || !tcp.IP.IsLoopback()
}

// tell prints what --check has found right.
func (c *proxyCommand) tell(config proxyconf.Config, to io.Writer) error {
	from := "the flags are right"
	if c.Config != "" {
		from = scenario.Printable(c.Config) + " is right"
	}
	var text strings.Builder
	_, _ = fmt.Fprintf(&text, "%s: %d upstream%s\n", from, len(config.Upstreams), plural(len(config.Upstreams)))
	for _, u := range config.Upstreams {
		_, _ = fmt.Fprintf(&text, "  %s: %d URL%s, %v mode\n", u.Name, len(u.URLs), plural(len(u.URLs)), u.Mode)
	}
	_, err := io.WriteString(to, text.String())
	return err
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// options reads the flags that hold as long as the proxy runs.
func (c *proxyCommand) options(stderr io.Writer) (proxy.Options, error) {
	o := proxy.Options{
		Listen: c.Listen, Admin: c.Admin, MaxHeader: int(c.MaxHeader), MaxConnections: c.MaxConnections,
		ClientTimeout: time.Duration(c.ClientTimeout), IdleTimeout: time.Duration(c.IdleTimeout),
		AccessLog: c.AccessLog, Version: version(),
	}
	if o.Admin == "off" {
		o.Admin = ""
	}
	for _, at := range []struct{ flag, address string }{{"--listen", o.Listen}, {"--admin", o.Admin}} {
		host, port, err := net.SplitHostPort(at.address)
		if _, number := strconv.ParseUint(port, 10, 16); at.address != "" && (err != nil || host == "" || number != nil) {
			return o, fmt.Errorf("%s %q: want HOST:PORT such as 127.0.0.1:8080; 0.0.0.0:8080 or [::]:8080 is every address of this machine",
				at.flag, scenario.Shorten(at.address))
		}
	}
	const least, most = 1 << 10, 16 << 20
	if o.MaxHeader < least || o.MaxHeader > most {
		return o, fmt.Errorf("--max-header is %v: want 1KiB to 16MiB", c.MaxHeader)
	}
	if o.MaxConnections < 1 || o.MaxConnections > math.MaxInt32 {
		return o, fmt.Errorf("--max-connections is %d: want 1 or more", o.MaxConnections)
	}
	for _, text := range c.TrustForwarded {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
		if addr, alone := netip.ParseAddr(strings.TrimSpace(text)); alone == nil {
			prefix, err = addr.Prefix(addr.BitLen())
		}
		if err != nil {
			return o, fmt.Errorf("--trust-forwarded %q: want addresses or networks such as 10.0.0.0/8", scenario.Shorten(text))
		}
		o.Trusted = append(o.Trusted, prefix.Masked())
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return o, err
	}
	handler := &slog.HandlerOptions{Level: level}
	if o.Log = slog.New(slog.NewTextHandler(stderr, handler)); c.Log == "json" {
		o.Log = slog.New(slog.NewJSONHandler(stderr, handler))
	}
	return o, nil
}

// configuration reads the file, or the flags that stand for one.
func (c *proxyCommand) configuration() (proxyconf.Config, error) {
	s, given, err := c.settings()
	switch {
	case err != nil:
		return proxyconf.Config{}, usageError{err}
	case c.Config == "" && len(c.Upstream) == 0:
		return proxyconf.Config{}, usageError{errors.New("nothing to serve: want --upstream URL or --config FILE")}
	case c.Config != "" && len(c.Upstream) > 0:
		given = "upstream"
		fallthrough
	case c.Config != "" && given != "":
		return proxyconf.Config{}, usageError{fmt.Errorf("--%s and --config: want it in the file, which says all about upstreams", given)}
	case c.Config != "":
		return proxyconf.Load(c.Config)
	}
	config, err := proxyconf.One(c.Upstream, s)
	if err != nil {
		return config, usageError{err}
	}
	return config, nil
}

// settings are what the flags say about the upstream; given is the name of one
// that was.
func (c *proxyCommand) settings() (s proxyconf.Settings, given string, err error) {
	s = proxyconf.Default()
	set := func(flag string, is bool) bool {
		if is {
			given = flag
		}
		return is
	}
	if set("mode", c.Mode != nil) {
		if s.Mode, err = scenario.ParseMode(*c.Mode); err != nil {
			return s, given, fmt.Errorf("--mode: %w", err)
		}
	}
	if set("service", c.Service != nil) {
		s.Service = *c.Service
	}
	if set("max-attempts", c.MaxAttempts != nil) {
		if err := scenario.CheckAttempts(*c.MaxAttempts); err != nil {
			return s, given, err
		}
		s.MaxAttempts = *c.MaxAttempts
	}
	if set("attempt-timeout", len(c.AttemptTimeout) > 0) && (len(c.AttemptTimeout) > 1 || c.AttemptTimeout[0] != 0) {
		s.AttemptTimeout = c.AttemptTimeout
	}
	s.RetryMark = set("retry-mark", c.RetryMark)
	if set("body-limit", c.BodyLimit != nil) {
		s.BodyLimit = int(*c.BodyLimit)
	}
	s.AnyMethod = set("any-method", c.AnyMethod)
	s.StandardRetryAfter = set("standard-retry-after", c.StandardRetryAfter)
	s.PassHost = set("pass-host", c.PassHost)
	s.Quota, s.Backoff = engine.Quota{}, fastbackoff.Schedule{}
	for _, n := range []struct {
		flag     string
		from, to *int
	}{{"quota-capacity", c.QuotaCapacity, &s.Quota.Capacity}, {"quota-transient-cost", c.QuotaTransient, &s.Quota.TransientCost}, {"quota-throttling-cost", c.QuotaThrottling, &s.Quota.ThrottlingCost}} {
		if set(n.flag, n.from != nil) {
			*n.to = *n.from
		}
	}
	for _, d := range []struct {
		flag     string
		from, to *time.Duration
	}{
		{"timeout", c.Timeout, &s.Timeout}, {"hedge", c.Hedge, &s.Hedge}, {"coalesce", c.Coalesce, &s.Coalesce},
		{"backoff-transient", c.BackoffTransient, &s.Backoff.Transient}, {"backoff-throttling", c.BackoffThrottling, &s.Backoff.Throttling},
		{"backoff-max", c.BackoffMax, &s.Backoff.Max},
	} {
		if set(d.flag, d.from != nil) {
			*d.to = *d.from
		}
	}
	return s, given, nil
}
