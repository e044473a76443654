//go:build !race

package otelretry_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/reprise-go/reprise/adapters/otelretry"
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// Nothing is allocated where there is no span, or one that does not record; nor by
// a registered recorder where no retry is granted.
func TestAllocations(t *testing.T) {
	tracer, _ := traced(t, sdktrace.WithSampler(sdktrace.NeverSample()))
	unsampled, span := tracer.Start(t.Context(), "call")
	defer span.End()
	recorder := otelretry.NewRecorder()
	spans := newEngine(t, engine.WithObserver(otelretry.Spans(otelretry.WithHTTP())))
	both := newEngine(t, engine.WithObserver(otelretry.Spans().Then(recorder.Observer())))
	_, err := otelretry.Register(metric.NewMeterProvider(metric.WithReader(metric.NewManualReader())), "both", both, otelretry.WithRecorder(recorder))
	require.NoError(t, err)
	throttled := engine.Outcome{Class: classify.Throttling}
	for name, ctx := range map[string]context.Context{"no span": context.Background(), "not sampled": unsampled} {
		for what, f := range map[string]func(){
			"retry":            func() { c := spans.Begin(); c.FailIn(ctx, throttled); c.Admit(); c.Succeed() },
			"stop":             func() { c := spans.Begin(); c.FailIn(ctx, engine.Outcome{}) },
			"recorded success": func() { c := both.Begin(); c.Succeed() },
			"recorded stop":    func() { c := both.Begin(); c.FailIn(ctx, engine.Outcome{}) },
			"Run":              func() { _ = engine.Run(ctx, both, func(context.Context) error { return nil }) },
		} {
			assert.Zero(t, testing.AllocsPerRun(500, f), "%s, %s", what, name)
		}
	}
}
