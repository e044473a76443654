package otelretry_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

func newEngine(tb testing.TB, opts ...engine.Option) *engine.Engine {
	tb.Helper()
	e, err := engine.New(append([]engine.Option{engine.WithSource(fastbackoff.Fixed(0.5))}, opts...)...)
	require.NoError(tb, err)
	return e
}

// coded is an error with a code (R3).
type coded string

func (c coded) Error() string     { return string(c) }
func (c coded) ErrorCode() string { return string(c) }

var (
	slowDown = coded("SlowDown")      // throttling
	internal = coded("InternalError") // transient
	errFinal = errors.New("denied")   // not retryable
)

// failing is an op that fails in these ways, one after the other, and then succeeds.
func failing(errs ...error) func(context.Context) error {
	return func(context.Context) error {
		if len(errs) == 0 {
			return nil
		}
		err := errs[0]
		errs = errs[1:]
		return err
	}
}

// traced is a tracer and what it has recorded.
func traced(tb testing.TB, opts ...sdktrace.TracerProviderOption) (trace.Tracer, *tracetest.InMemoryExporter) {
	tb.Helper()
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(append(opts, sdktrace.WithSyncer(exporter))...)
	tb.Cleanup(func() { require.NoError(tb, provider.Shutdown(context.Background())) })
	return provider.Tracer("test"), exporter
}

// event is a span's event, to be compared.
type event struct {
	name       string
	attributes map[attribute.Key]any
}

func events(span tracetest.SpanStub) (found []event) {
	for _, e := range span.Events {
		found = append(found, event{e.Name, asMap(e.Attributes)})
	}
	return found
}

func asMap(attributes []attribute.KeyValue) map[attribute.Key]any {
	m := make(map[attribute.Key]any)
	for _, kv := range attributes {
		m[kv.Key] = kv.Value.AsInterface()
	}
	return m
}

// measured is what a reader collects: values by metric and attributes; of a
// histogram its count.
func measured(tb testing.TB, reader metric.Reader) map[string]float64 {
	tb.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(tb, reader.Collect(context.Background(), &all))
	values := make(map[string]float64)
	key := func(name string, set attribute.Set) string {
		return name + " " + set.Encoded(attribute.DefaultEncoder())
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				require.True(tb, data.IsMonotonic)
				for _, p := range data.DataPoints {
					values[key(m.Name, p.Attributes)] = float64(p.Value)
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					values[key(m.Name, p.Attributes)] = float64(p.Value)
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					values[key(m.Name, p.Attributes)] = p.Value
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					values[key(m.Name, p.Attributes)] = float64(p.Count)
				}
			default:
				require.Fail(tb, "an unknown kind", m.Name)
			}
		}
	}
	return values
}
