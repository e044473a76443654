package promretry_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

var (
	transient  = engine.Outcome{Class: classify.Transient}
	throttling = engine.Outcome{Class: classify.Throttling}
	final      = engine.Outcome{Class: classify.NonRetryable}
)

func newEngine(tb testing.TB, opts ...engine.Option) *engine.Engine {
	tb.Helper()
	e, err := engine.New(append([]engine.Option{engine.WithSource(fastbackoff.Fixed(1))}, opts...)...)
	require.NoError(tb, err)
	return e
}

// call is one call that fails so often, in these ways, and then succeeds, unless it
// is stopped.
func call(e *engine.Engine, failures ...engine.Outcome) {
	c := e.Begin()
	for _, o := range failures {
		if c.Fail(o).Reason != engine.ReasonRetry {
			return
		}
		c.Admit()
	}
	c.Succeed()
}

func registry(tb testing.TB, collectors ...prometheus.Collector) *prometheus.Registry {
	tb.Helper()
	r := prometheus.NewPedanticRegistry()
	for _, c := range collectors {
		require.NoError(tb, r.Register(c))
	}
	return r
}

// series are the values of all counters and gauges, by name and labels: in the
// order of the labels' names, empty ones left out.
type series map[string]float64

func gather(tb testing.TB, from prometheus.Gatherer) series {
	tb.Helper()
	families, err := from.Gather()
	require.NoError(tb, err)
	s := make(series)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name := family.GetName()
			for _, label := range m.GetLabel() {
				if label.GetValue() != "" {
					name += " " + label.GetName() + "=" + label.GetValue()
				}
			}
			switch family.GetType() {
			case dto.MetricType_COUNTER:
				s[name] = m.GetCounter().GetValue()
			case dto.MetricType_GAUGE:
				s[name] = m.GetGauge().GetValue()
			case dto.MetricType_HISTOGRAM:
				s[name] = float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return s
}

// labels are the values of a label in the series of one metric.
func labels(tb testing.TB, from prometheus.Gatherer, metric, label string) (values []string) {
	tb.Helper()
	families, err := from.Gather()
	require.NoError(tb, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				if family.GetName() == metric && l.GetName() == label {
					values = append(values, l.GetValue())
				}
			}
		}
	}
	return values
}
