package otelretry_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/adapters/otelretry"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

type attributes = map[attribute.Key]any

// The caller's span has what the engine decided, in its order, and no other span
// has anything.
func TestSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracer, exporter := traced(t)
		e := newEngine(t, engine.WithObserver(otelretry.Spans()))
		ctx, outer := tracer.Start(t.Context(), "outer")
		ctx, span := tracer.Start(ctx, "call")
		require.ErrorIs(t, engine.Run(ctx, e, failing(slowDown, internal, slowDown)), engine.ErrMaxAttempts)
		span.End()
		outer.End()
		spans := exporter.GetSpans()
		require.Len(t, spans, 2)
		assert.Empty(t, spans[1].Events)
		assert.Equal(t, []event{
			{"reprise.retry", attributes{"reprise.attempts": int64(1), "reprise.class": "throttling", "reprise.reason": "retry",
				"reprise.delay": 0.5, "reprise.quota.tokens": int64(495)}},
			{"reprise.retry", attributes{"reprise.attempts": int64(2), "reprise.class": "transient", "reprise.reason": "retry",
				"reprise.delay": 0.05, "reprise.quota.tokens": int64(481)}},
			{"reprise.stop", attributes{"reprise.attempts": int64(3), "reprise.class": "throttling", "reprise.reason": "max_attempts",
				"reprise.quota.tokens": int64(481)}},
		}, events(spans[0]))
		assert.Equal(t, 500*time.Millisecond, spans[0].Events[1].Time.Sub(spans[0].Events[0].Time), "at the time of the decision")
		assert.Empty(t, spans[0].Attributes, "nobody said HTTP")
	})
}

// A success adds nothing; a failure that is not retried says so.
func TestSpansOfOneAttempt(t *testing.T) {
	tracer, exporter := traced(t)
	e := newEngine(t, engine.WithObserver(otelretry.Spans(otelretry.WithHTTP(), nil)))
	for _, op := range []func(context.Context) error{failing(), failing(errFinal)} {
		ctx, span := tracer.Start(t.Context(), "call")
		_ = engine.Run(ctx, e, op)
		span.End()
	}
	spans := exporter.GetSpans()
	assert.Empty(t, spans[0].Events)
	assert.Equal(t, []event{{"reprise.stop", attributes{"reprise.attempts": int64(1), "reprise.class": "non_retryable",
		"reprise.reason": "non_retryable", "reprise.quota.tokens": int64(500)}}}, events(spans[1]))
	assert.Empty(t, spans[1].Attributes, "nothing was sent again")
}

// A retry that was granted and not sent does not count as sent.
func TestSpansOfACancelledWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracer, exporter := traced(t)
		e := newEngine(t, engine.WithObserver(otelretry.Spans(otelretry.WithHTTP())))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		ctx, span := tracer.Start(ctx, "call")
		require.ErrorIs(t, engine.Run(ctx, e, failing(slowDown)), engine.ErrCancelled)
		span.End()
		got := exporter.GetSpans()[0]
		require.Len(t, got.Events, 2)
		assert.Equal(t, event{"reprise.stop", attributes{"reprise.attempts": int64(1), "reprise.class": "throttling",
			"reprise.reason": "cancelled", "reprise.quota.tokens": int64(500)}}, events(got)[1])
		assert.Equal(t, attributes{"http.request.resend_count": int64(0)}, asMap(got.Attributes))
	})
}

// A span that is not sampled, none, and one that has ended are left alone.
func TestSpansThatDoNotRecord(t *testing.T) {
	tracer, exporter := traced(t, sdktrace.WithSampler(sdktrace.NeverSample()))
	e := newEngine(t, engine.WithObserver(otelretry.Spans(otelretry.WithHTTP())))
	ctx, span := tracer.Start(t.Context(), "call")
	assert.ErrorIs(t, engine.Run(ctx, e, failing(errFinal)), errFinal)
	span.End()
	assert.ErrorIs(t, engine.Run(t.Context(), e, failing(errFinal)), errFinal)
	assert.Empty(t, exporter.GetSpans())

	tracer, exporter = traced(t)
	ctx, span = tracer.Start(t.Context(), "call")
	span.End()
	assert.ErrorIs(t, engine.Run(ctx, e, failing(errFinal)), errFinal)
	assert.Empty(t, exporter.GetSpans()[0].Events)
	assert.Zero(t, e.Stats().HookPanics)
}

// attemptSpans starts a span for each attempt, as otelhttp does.
type attemptSpans struct {
	tracer trace.Tracer
	base   http.RoundTripper
}

func (a attemptSpans) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, span := a.tracer.Start(req.Context(), "attempt", trace.WithSpanKind(trace.SpanKindClient))
	defer span.End()
	return a.base.RoundTrip(req.WithContext(ctx))
}

// Through the HTTP door: the decisions are on the span of the request, the resend
// count there and on the attempts' own.
func TestThroughTheHTTPDoor(t *testing.T) {
	statuses := []int{503, 503, 200}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		status := statuses[0]
		statuses = statuses[1:]
		w.WriteHeader(status)
	}))
	defer server.Close()
	tracer, exporter := traced(t)
	e := newEngine(t, engine.WithSource(fastbackoff.Fixed(0)), engine.WithObserver(otelretry.Spans(otelretry.WithHTTP())))
	door, err := httpretry.New(e, httpretry.WithRetryMark(),
		httpretry.WithBase(attemptSpans{tracer, otelretry.ResendCount(nil)}))
	require.NoError(t, err)
	ctx, span := tracer.Start(t.Context(), "request")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	require.NoError(t, err)
	resp, err := (&http.Client{Transport: door}).Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	span.End()
	door.CloseIdleConnections()

	spans := exporter.GetSpans()
	require.Len(t, spans, 4)
	const resends = attribute.Key("http.request.resend_count")
	for i, want := range []any{nil, int64(1), int64(2), int64(2)} {
		assert.Equal(t, want, asMap(spans[i].Attributes)[resends], "span %d, %s", i, spans[i].Name)
	}
	assert.Len(t, spans[3].Events, 2)
	assert.Equal(t, "reprise.retry", spans[3].Events[1].Name)
}
