package promretry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/internal/tally"
)

// descs are the metrics of a collector.
type descs struct {
	quota, capacity, retries, unsent, hedges, recoveries, stops, panics *prometheus.Desc
	enabled, fill, measured, tokens, tokensMost, waiting                *prometheus.Desc
	calls, attempts, delay                                              *prometheus.Desc

	engines, limit, made, dropped, expired, overflows, unkeyed, templatePanics, lowest *prometheus.Desc
}

// newDescs are those of the engine with that name; of none, if the name is a label
// that differs from metric to metric.
func newDescs(name string) *descs {
	var fixed prometheus.Labels
	var first []string
	if name == "" {
		first = []string{"engine"}
	} else {
		fixed = prometheus.Labels{"engine": name}
	}
	of := func(labels ...string) func(name, help string) *prometheus.Desc {
		labels = append(append([]string(nil), first...), labels...)
		return func(name, help string) *prometheus.Desc {
			return prometheus.NewDesc("reprise_"+name, help, labels, fixed)
		}
	}
	keyed, byClass, byReason, group := of("key"), of("key", "class"), of("key", "reason"), of()
	return &descs{
		quota:      keyed("quota_tokens", "Tokens in the retry quota."),
		capacity:   keyed("quota_capacity_tokens", "Tokens that the retry quota holds at the most."),
		retries:    byClass("retries_total", "Retries granted, by the class of the failure."),
		unsent:     keyed("unsent_retries_total", "Retries and hedges granted and never sent; their tokens were given back."),
		hedges:     keyed("hedges_total", "Attempts sent beside another, paid for like retries and not counted among them."),
		recoveries: keyed("recoveries_total", "Calls that succeeded on a retry."),
		stops:      byReason("stops_total", "Calls that ended without success, by the reason for which there was no further attempt."),
		panics:     keyed("observer_panics_total", "Panics of observer hooks."),

		enabled:    keyed("limiter_enabled", "1 once something was throttled in adaptive mode."),
		fill:       keyed("limiter_fill_attempts_per_second", "Attempts per second that the send limiter lets through."),
		measured:   keyed("limiter_measured_attempts_per_second", "Attempts per second that the send limiter has measured."),
		tokens:     keyed("limiter_tokens", "Attempts that the send limiter would let through at once."),
		tokensMost: keyed("limiter_capacity_tokens", "Attempts that it would let through at once after a pause."),
		waiting:    keyed("limiter_waiting", "Calls that wait for the send limiter."),

		calls:    keyed("calls_total", "Calls that have ended, whatever their end."),
		attempts: keyed("attempts_total", "Attempts that these calls made."),
		delay:    byClass("retry_delay_seconds", "Delays of granted retries, by the class of the failure."),

		engines:        group("group_engines", "Engines in the group."),
		limit:          group("group_engines_limit", "Engines that the group holds at the most."),
		made:           group("group_made_engines_total", "Engines made, one for each new key."),
		dropped:        group("group_dropped_engines_total", "Engines that went to make room and equalled new ones."),
		expired:        group("group_expired_engines_total", "Engines that went because nobody had asked for them for long."),
		overflows:      group("group_overflows_total", "Look-ups that found no room: calls without retries."),
		unkeyed:        group("group_unkeyed_total", "Look-ups of keys that no map can hold: calls without retries."),
		templatePanics: group("group_template_panics_total", "Panics of the template func: keys without retries."),
		lowest:         group("group_lowest_quota_ratio", "Level over capacity of the emptiest retry quota of all keys; 1 if there is none."),
	}
}

func (d *descs) ofEngine() []*prometheus.Desc {
	return []*prometheus.Desc{
		d.quota, d.capacity, d.retries, d.unsent, d.hedges, d.recoveries, d.stops, d.panics,
		d.enabled, d.fill, d.measured, d.tokens, d.tokensMost, d.waiting,
	}
}

func (d *descs) ofRecorder() []*prometheus.Desc {
	return []*prometheus.Desc{d.calls, d.attempts, d.delay}
}

func (d *descs) ofGroup() []*prometheus.Desc {
	return []*prometheus.Desc{
		d.engines, d.limit, d.made, d.dropped, d.expired, d.overflows, d.unkeyed, d.templatePanics, d.lowest,
	}
}

// sink is where a collector's metrics go, with the labels that all of them have.
type sink struct {
	*descs
	to     chan<- prometheus.Metric
	labels []string // the engine's name where it is no fixed label
}

func (s sink) send(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
	m, err := prometheus.NewConstMetric(d, kind, v, append(s.labels[:len(s.labels):len(s.labels)], labels...)...)
	if err != nil { // which fails the scrape and says why, and not the program
		m = prometheus.NewInvalidMetric(d, err)
	}
	s.to <- m
}

func (s sink) counter(d *prometheus.Desc, n uint64, labels ...string) {
	s.send(d, prometheus.CounterValue, float64(n), labels...)
}

func (s sink) gauge(d *prometheus.Desc, v float64, labels ...string) {
	s.send(d, prometheus.GaugeValue, v, labels...)
}

// row sends what is known of one engine, or of several together.
func (s sink) row(key string, r row) {
	if r.quotas > 0 {
		s.gauge(s.quota, float64(r.level), key)
		s.gauge(s.capacity, float64(r.capacity), key)
	}
	s.counter(s.retries, r.counts.transient, key, "transient")
	s.counter(s.retries, r.counts.throttling, key, "throttling")
	s.counter(s.unsent, r.counts.unsent, key)
	s.counter(s.hedges, r.counts.hedges, key)
	s.counter(s.recoveries, r.counts.recoveries, key)
	for reason, n := range r.counts.stops {
		if reason := engine.Reason(reason); reason != engine.ReasonRetry {
			s.counter(s.stops, n, key, reason.String())
		}
	}
	s.counter(s.panics, r.counts.panics, key)
	if r.limiters > 0 {
		s.gauge(s.enabled, float64(r.enabled), key)
		s.gauge(s.fill, r.fill, key)
		s.gauge(s.measured, r.measured, key)
		s.gauge(s.tokens, r.tokens, key)
		s.gauge(s.tokensMost, r.tokensMost, key)
		s.gauge(s.waiting, float64(r.waiting), key)
	}
}

// recorder sends what a recorder has counted.
func (s sink) recorder(r *Recorder) {
	if r == nil {
		return
	}
	calls, attempts := r.tally.Calls()
	s.counter(s.calls, calls, "")
	s.counter(s.attempts, attempts, "")
	for _, class := range [...]classify.Class{classify.Transient, classify.Throttling} {
		upTo, count, sum := r.tally.Delays(class)
		buckets := make(map[float64]uint64, len(upTo))
		for i, n := range upTo {
			buckets[tally.Bounds[i]] = n
		}
		m, err := prometheus.NewConstHistogram(s.delay, count, sum.Seconds(), buckets, append(s.labels[:len(s.labels):len(s.labels)], "", class.String())...)
		if err != nil {
			m = prometheus.NewInvalidMetric(s.delay, err)
		}
		s.to <- m
	}
}
