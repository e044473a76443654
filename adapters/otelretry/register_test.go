package otelretry_test

import (
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/reprise-go/reprise/adapters/otelretry"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := metric.NewManualReader()
		provider := metric.NewMeterProvider(metric.WithReader(reader))
		recorder := otelretry.NewRecorder()
		e := newEngine(t, engine.WithObserver(recorder.Observer()))
		unregister, err := otelretry.Register(provider, "orders", e, otelretry.WithRecorder(recorder))
		require.NoError(t, err)
		other := newEngine(t, engine.WithMode(engine.Adaptive), engine.WithMaxAttempts(1))
		_, err = otelretry.Register(provider, "throttled", other)
		require.NoError(t, err)
		old := newEngine(t, engine.WithMode(engine.Legacy))
		_, err = otelretry.Register(provider, "old", old)
		require.NoError(t, err)

		require.Error(t, engine.Run(t.Context(), other, failing(slowDown)))
		require.NoError(t, engine.Run(t.Context(), e, failing()))
		require.NoError(t, engine.Run(t.Context(), e, failing(internal)))
		require.Error(t, engine.Run(t.Context(), e, failing(slowDown, errFinal)))
		got := measured(t, reader)
		for name, want := range map[string]float64{
			"reprise.quota.tokens reprise.engine=orders":                         495,
			"reprise.quota.capacity reprise.engine=orders":                       500,
			"reprise.retries reprise.class=transient,reprise.engine=orders":      1,
			"reprise.retries reprise.class=throttling,reprise.engine=orders":     1,
			"reprise.unsent_retries reprise.engine=orders":                       0,
			"reprise.hedges reprise.engine=orders":                               0,
			"reprise.recoveries reprise.engine=orders":                           1,
			"reprise.stops reprise.engine=orders,reprise.reason=non_retryable":   1,
			"reprise.stops reprise.engine=orders,reprise.reason=quota":           0,
			"reprise.calls reprise.engine=orders":                                3,
			"reprise.attempts reprise.engine=orders":                             5,
			"reprise.retry.delay reprise.class=throttling,reprise.engine=orders": 1,
			"reprise.stops reprise.engine=throttled,reprise.reason=max_attempts": 1,
			"reprise.limiter.enabled reprise.engine=throttled":                   1,
			"reprise.limiter.fill reprise.engine=throttled":                      0.5,
			"reprise.limiter.waiting reprise.engine=throttled":                   0,
			"reprise.retries reprise.class=transient,reprise.engine=old":         0,
		} {
			if assert.Contains(t, got, name) {
				assert.Equal(t, want, got[name], name)
			}
		}
		assert.Contains(t, got, "reprise.limiter.measured reprise.engine=throttled")
		assert.NotContains(t, got, "reprise.limiter.enabled reprise.engine=orders")
		assert.NotContains(t, got, "reprise.quota.tokens reprise.engine=old", "R1.4")
		assert.NotContains(t, got, "reprise.calls reprise.engine=old", "without a recorder")

		named := make(map[string]bool)
		for name := range got {
			name, _, _ = strings.Cut(name, " ")
			named[name] = true
		}
		page, err := os.ReadFile("doc.go")
		require.NoError(t, err)
		listed := make(map[string]bool)
		for _, line := range regexp.MustCompile(`(?m)^//\t(reprise[\w.]+) +(gauge|counter|histogram)`).FindAllStringSubmatch(string(page), -1) {
			listed[line[1]] = true
		}
		assert.Equal(t, named, listed, "the list of the package's page")

		require.NoError(t, unregister())
		require.NoError(t, unregister(), "once more does nothing")
		require.NoError(t, engine.Run(t.Context(), e, failing(slowDown)))
		got = measured(t, reader)
		assert.NotContains(t, got, "reprise.quota.tokens reprise.engine=orders")
		assert.Contains(t, got, "reprise.limiter.enabled reprise.engine=throttled")
		_, err = otelretry.Register(provider, "orders", e, otelretry.WithRecorder(recorder))
		require.NoError(t, err, "the recorder is free again")
		assert.Equal(t, 4.0, measured(t, reader)["reprise.calls reprise.engine=orders"])
	})
}

func TestMisuse(t *testing.T) {
	e, provider, taken := newEngine(t), noop.NewMeterProvider(), otelretry.NewRecorder()
	_, err := otelretry.Register(provider, "taken", e, otelretry.WithRecorder(taken))
	require.NoError(t, err)
	mine := func(_ func() error, err error) error { return err }
	for want, err := range map[string]error{
		"nil provider":                mine(otelretry.Register(nil, "a", e)),
		`Register(""): want a name`:   mine(otelretry.Register(provider, "", e)),
		`Register("\xff")`:            mine(otelretry.Register(provider, "\xff", e)),
		"nil *engine.Engine":          mine(otelretry.Register(provider, "a", nil)),
		"zero Engine":                 mine(otelretry.Register(provider, "a", new(engine.Engine))),
		"option 1 of 1 is nil":        mine(otelretry.Register(provider, "a", e, nil)),
		"WithRecorder(nil)":           mine(otelretry.Register(provider, "a", e, otelretry.WithRecorder(nil))),
		"recorder that is registered": mine(otelretry.Register(provider, "a", e, otelretry.WithRecorder(taken))),
	} {
		assert.ErrorContains(t, err, "reprise/otelretry: ")
		assert.ErrorContains(t, err, want)
	}
}

// Calls, collections and registrations at once; the end is exact.
func TestHammer(t *testing.T) {
	const workers, rounds = 4, 500
	reader := metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	recorder := otelretry.NewRecorder()
	tracer, exporter := traced(t)
	e := newEngine(t, engine.WithSource(fastbackoff.Fixed(0)), engine.WithQuota(engine.Quota{Capacity: 1 << 20}),
		engine.WithObserver(otelretry.Spans().Then(recorder.Observer())))
	unregister, err := otelretry.Register(provider, "busy", e, otelretry.WithRecorder(recorder))
	require.NoError(t, err)
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for range rounds {
				ctx, span := tracer.Start(t.Context(), "call")
				assert.NoError(t, engine.Run(ctx, e, failing(internal)))
				span.End()
			}
		})
	}
	for range 20 {
		measured(t, reader)
		require.NoError(t, unregister())
		unregister, err = otelretry.Register(provider, "busy", e, otelretry.WithRecorder(recorder))
		require.NoError(t, err)
	}
	wait.Wait()
	got := measured(t, reader)
	assert.Equal(t, float64(workers*rounds), got["reprise.calls reprise.engine=busy"])
	assert.Equal(t, float64(workers*rounds), got["reprise.recoveries reprise.engine=busy"])
	spans := exporter.GetSpans()
	assert.Len(t, spans, workers*rounds)
	for _, span := range spans {
		assert.Len(t, span.Events, 1)
	}
}
