package proxy

import (
	"fmt"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/reprise-go/reprise/adapters/promretry"
)

// metrics reads, when it is asked, what upstreams have counted beside their
// engines, which promretry shows. Labels have no value that a request chooses, so
// their number is that of the configuration.
type metrics struct {
	server                                                       *Server
	responses, own, inFlight, latency, attempts, failed, passed  *prometheus.Desc
	connections, refused, unrouted, reloads, upstreams, shutting *prometheus.Desc
	build                                                        *prometheus.Desc
}

func newMetrics(s *Server) *prometheus.Registry {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("reprise_"+name, help, labels, nil)
	}
	m := &metrics{
		server:      s,
		responses:   desc("proxy_responses_total", "Answers of the upstream passed on, by class of status.", "upstream", "code"),
		own:         desc("proxy_own_responses_total", "Answers made by the proxy because there was none to pass on; 499 stands for a client that left.", "upstream", "code"),
		inFlight:    desc("proxy_requests_in_flight", "Requests being served, upgraded connections included.", "upstream"),
		latency:     desc("proxy_response_seconds", "Time from a request to the headers of the upstream's answer, retries and waits included.", "upstream"),
		attempts:    desc("proxy_attempts_total", "Attempts sent to a URL.", "upstream", "url"),
		failed:      desc("proxy_failed_attempts_total", "Attempts that got no answer from a URL.", "upstream", "url"),
		passed:      desc("proxy_url_passed_over", "1 while a URL is left alone because no connection to it could be made.", "upstream", "url"),
		connections: desc("proxy_connections", "Connections of clients."),
		refused:     desc("proxy_refused_requests_total", "Requests that took the proxy for a forward proxy."),
		unrouted:    desc("proxy_unrouted_requests_total", "Requests that no upstream is for."),
		reloads:     desc("proxy_reloads_total", "Reloads of the configuration.", "result"),
		upstreams:   desc("proxy_upstreams", "Upstreams in the configuration."),
		shutting:    desc("proxy_ending", "1 once the proxy takes no new connections."),
		build:       desc("build_info", "1; what runs is in the labels.", "version", "goversion"),
	}
	engines, err := promretry.NewSet(s.sources)
	if err != nil {
		panic(err) // there are sources
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(m, engines, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// sources are the upstreams' engines.
func (s *Server) sources(yield func(promretry.Source) bool) {
	for _, u := range s.table.Load().upstreams {
		if !yield(promretry.Source{Name: u.Name, Engine: u.engine, Recorder: u.counts.calls}) {
			return
		}
	}
}

// Describe names all that Collect sends.
func (m *metrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		m.responses, m.own, m.inFlight, m.latency, m.attempts, m.failed, m.passed, m.connections, m.refused,
		m.unrouted, m.reloads, m.upstreams, m.shutting, m.build,
	} {
		to <- d
	}
}

// Collect reads all counts. They are right each, and nearly of one instant.
func (m *metrics) Collect(to chan<- prometheus.Metric) {
	counter := func(d *prometheus.Desc, n uint64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	s := m.server
	table := s.table.Load()
	for _, u := range table.upstreams {
		for digit := range u.counts.answers {
			code := "other"
			if digit > 0 {
				code = fmt.Sprintf("%dxx", digit)
			}
			counter(m.responses, u.counts.answers[digit].Load(), u.Name, code)
		}
		for i, status := range ourStatuses {
			code := "other"
			if status > 0 {
				code = fmt.Sprint(status)
			}
			counter(m.own, u.counts.ours[i].Load(), u.Name, code)
		}
		gauge(m.inFlight, float64(u.counts.inFlight.Load()), u.Name)
		to <- labelled{u.counts.latency, m.latency, u.Name}
		for _, r := range u.replicas.all {
			counter(m.attempts, r.attempts.Load(), u.Name, r.url.String())
			counter(m.failed, r.failures.Load(), u.Name, r.url.String())
			gauge(m.passed, oneIf(r.passedOver()), u.Name, r.url.String())
		}
	}
	gauge(m.connections, float64(s.counts.connections.Load()))
	counter(m.refused, s.counts.refused.Load())
	counter(m.unrouted, s.counts.unrouted.Load())
	counter(m.reloads, s.counts.reloads.Load(), "ok")
	counter(m.reloads, s.counts.failedReloads.Load(), "failed")
	gauge(m.upstreams, float64(len(table.upstreams)))
	gauge(m.shutting, oneIf(s.ending.Load()))
	gauge(m.build, 1, s.o.Version, runtime.Version())
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
