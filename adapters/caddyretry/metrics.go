package caddyretry

import (
	"errors"
	"strconv"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reprise-go/reprise/engine"
)

// metrics reads, when it is asked, what the engines have counted. The names and
// labels are those of adapters/promretry: engine is the transport's name, key the
// upstream, of which there are as many as engines, whose number max_upstreams bounds.
type metrics struct {
	tokens, capacity, retries, unsent, hedges, recoveries, stops                            *prometheus.Desc
	limiterOn, limiterFill, limiterMeasured, limiterTokens, limiterCapacity, limiterWaiting *prometheus.Desc
	calls, attempts, engines, engineLimit, overflows                                        *prometheus.Desc
}

var theMetrics = newMetrics()

// register adds the metrics to a configuration's registry, once.
func register(registry *prometheus.Registry) error {
	if registry == nil {
		return nil
	}
	err := registry.Register(theMetrics)
	if known := (prometheus.AlreadyRegisteredError{}); errors.As(err, &known) {
		return nil
	}
	return err
}

func newMetrics() *metrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("reprise_"+name, help, append([]string{"engine"}, labels...), nil)
	}
	return &metrics{
		tokens:          desc("quota_tokens", "Tokens in the retry quota.", "key"),
		capacity:        desc("quota_capacity_tokens", "Tokens that the retry quota holds at the most.", "key"),
		retries:         desc("retries_total", "Retries granted, by the class of the failure.", "key", "class"),
		unsent:          desc("unsent_retries_total", "Retries and hedges granted and never sent; their tokens were given back.", "key"),
		hedges:          desc("hedges_total", "Attempts sent beside another, paid for like retries and not counted among them.", "key"),
		recoveries:      desc("recoveries_total", "Calls that succeeded on a retry.", "key"),
		stops:           desc("stops_total", "Calls that ended without success, by the reason for which there was no further attempt.", "key", "reason"),
		limiterOn:       desc("limiter_enabled", "1 once something was throttled in adaptive mode.", "key"),
		limiterFill:     desc("limiter_fill_attempts_per_second", "Attempts per second that the send limiter lets through.", "key"),
		limiterMeasured: desc("limiter_measured_attempts_per_second", "Attempts per second that the send limiter has measured.", "key"),
		limiterTokens:   desc("limiter_tokens", "Attempts that the send limiter would let through at once.", "key"),
		limiterCapacity: desc("limiter_capacity_tokens", "Attempts that it would let through at once after a pause.", "key"),
		limiterWaiting:  desc("limiter_waiting", "Calls that wait for the send limiter.", "key"),
		calls:           desc("calls_total", "Calls that have ended, whatever their end.", "key"),
		attempts:        desc("attempts_total", "Attempts that these calls made.", "key"),
		engines:         desc("group_engines", "Engines in the group."),
		engineLimit:     desc("group_engines_limit", "Engines that the group holds at the most."),
		overflows:       desc("group_overflows_total", "Look-ups that found no room: calls without retries."),
	}
}

// Describe names all that Collect sends.
func (m *metrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		m.tokens, m.capacity, m.retries, m.unsent, m.hedges, m.recoveries, m.stops, m.limiterOn, m.limiterFill, m.limiterMeasured,
		m.limiterTokens, m.limiterCapacity, m.limiterWaiting, m.calls, m.attempts, m.engines, m.engineLimit, m.overflows,
	} {
		to <- d
	}
}

// Collect reads all counts. They are right each, and nearly of one instant.
func (m *metrics) Collect(to chan<- prometheus.Metric) {
	var all []*kept // first, since who reads may be slow and the pool is locked
	pool.Range(func(_, value any) bool {
		all = append(all, value.(*kept))
		return true
	})
	for _, k := range all {
		f := k.fleet.Load()
		if f == nil {
			continue
		}
		stats := f.group.Stats()
		gauge(to, m.engines, float64(stats.Engines), k.name)
		gauge(to, m.engineLimit, float64(stats.Limit), k.name)
		counter(to, m.overflows, stats.Overflowed, k.name)
		counter(to, m.calls, k.calls.Load(), k.name, "")
		counter(to, m.attempts, k.attempts.Load(), k.name, "")
		for upstream, e := range f.group.All() {
			m.collect(to, e.Stats(), k.name, label(upstream))
		}
	}
}

func (m *metrics) collect(to chan<- prometheus.Metric, stats engine.Stats, name, upstream string) {
	if stats.Mode != engine.Legacy {
		gauge(to, m.tokens, float64(stats.QuotaLevel), name, upstream)
		gauge(to, m.capacity, float64(stats.QuotaCapacity), name, upstream)
	}
	counter(to, m.retries, stats.TransientRetries, name, upstream, "transient")
	counter(to, m.retries, stats.ThrottlingRetries, name, upstream, "throttling")
	counter(to, m.unsent, stats.UnsentRetries, name, upstream)
	counter(to, m.hedges, stats.Hedges, name, upstream)
	counter(to, m.recoveries, stats.Recoveries, name, upstream)
	for reason, n := range stats.Stops {
		if reason := engine.Reason(reason); reason != engine.ReasonRetry {
			counter(to, m.stops, n, name, upstream, reason.String())
		}
	}
	if stats.Mode == engine.Adaptive {
		enabled := 0.0
		if stats.Limiter.Enabled {
			enabled = 1
		}
		gauge(to, m.limiterOn, enabled, name, upstream)
		gauge(to, m.limiterFill, stats.Limiter.FillRate, name, upstream)
		gauge(to, m.limiterMeasured, stats.Limiter.MeasuredRate, name, upstream)
		gauge(to, m.limiterTokens, stats.Limiter.Level, name, upstream)
		gauge(to, m.limiterCapacity, stats.Limiter.Capacity, name, upstream)
		gauge(to, m.limiterWaiting, float64(stats.Limiter.Waiting), name, upstream)
	}
}

// label is an upstream as a label: an address with placeholders may become anything.
func label(upstream string) string {
	if utf8.ValidString(upstream) {
		return upstream
	}
	return strconv.QuoteToASCII(upstream)
}

func gauge(to chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func counter(to chan<- prometheus.Metric, d *prometheus.Desc, n uint64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
}
