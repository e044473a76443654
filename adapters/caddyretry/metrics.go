package caddyretry

import (
	"github.com/caddyserver/caddy/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// metrics shows the engines of all names, whose collectors are promretry's: the label
// engine is the name, and key the upstream. They come and go with the configurations,
// so nothing is described ahead.
type metrics struct{}

// Describe names nothing, which makes it what Prometheus calls unchecked.
func (metrics) Describe(chan<- *prometheus.Desc) {}

// Collect shows what there is.
func (metrics) Collect(to chan<- prometheus.Metric) {
	var all []*fleet // first, since who reads may be slow and the pool is locked
	pool.Range(func(_, value any) bool {
		if f := value.(*kept).fleet.Load(); f != nil {
			all = append(all, f)
		}
		return true
	})
	for _, f := range all {
		f.metrics.Collect(to)
	}
}

// registries are those of the configurations: each has metrics once, however many
// transports there are.
var registries = caddy.NewUsagePool()

// registration is metrics in a registry.
type registration struct{}

// Destruct leaves the registry alone: it ends with its configuration.
func (registration) Destruct() error { return nil }

// register adds metrics to a configuration's registry. unregister must follow.
func register(registry *prometheus.Registry) error {
	if registry == nil {
		return nil
	}
	_, _, err := registries.LoadOrNew(registry, func() (caddy.Destructor, error) {
		return registration{}, registry.Register(metrics{})
	})
	return err
}

func unregister(registry *prometheus.Registry) { _, _ = registries.Delete(registry) }
