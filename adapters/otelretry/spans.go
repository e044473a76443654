package otelretry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/reprise-go/reprise/engine"
)

// The names of events and attributes.
const (
	RetryEvent = "reprise.retry" // an attempt failed, and another was granted
	StopEvent  = "reprise.stop"  // the call has ended without success

	AttemptsKey    = attribute.Key("reprise.attempts")     // attempts made so far
	ClassKey       = attribute.Key("reprise.class")        // of the failure
	ReasonKey      = attribute.Key("reprise.reason")       // why the call goes on, or does not
	DelayKey       = attribute.Key("reprise.delay")        // seconds
	QuotaTokensKey = attribute.Key("reprise.quota.tokens") // left
	EngineKey      = attribute.Key("reprise.engine")       // the name given to Register
)

// SpanOption changes what [Spans] writes.
type SpanOption func(*spans)

// WithHTTP sets http.request.resend_count on the spans too: they are those of HTTP
// requests, each with its attempts inside.
func WithHTTP() SpanOption { return func(s *spans) { s.http = true } }

// Spans returns an observer that adds an event to the caller's span for each failed
// attempt, and where a wait ends a call. It is for any number of engines. Its hook
// does not block, beyond what the span does; it allocates nothing where the span
// does not record, and where there is none. A nil option is ignored.
func Spans(opts ...SpanOption) engine.Observer {
	s := new(spans)
	for _, opt := range opts {
		if opt != nil {
			opt(s)
		}
	}
	return engine.Observer{Decided: s.decided}
}

type spans struct {
	http bool
}

func (s *spans) decided(ctx context.Context, e engine.DecisionEvent) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		s.add(span, e)
	}
}

func (s *spans) add(span trace.Span, e engine.DecisionEvent) {
	attributes := make([]attribute.KeyValue, 0, 5)
	attributes = append(attributes, AttemptsKey.Int(e.Attempts), ClassKey.String(e.Class.String()),
		ReasonKey.String(e.Reason.String()), QuotaTokensKey.Int(e.QuotaLeft))
	if e.Delay > 0 || e.Reason == engine.ReasonRetry {
		attributes = append(attributes, DelayKey.Float64(e.Delay.Seconds()))
	}
	name, resent := StopEvent, e.Attempts-1
	if e.Reason == engine.ReasonRetry {
		name, resent = RetryEvent, e.Attempts
	}
	span.AddEvent(name, trace.WithAttributes(attributes...))
	if s.http && (resent > 0 || e.Reason == engine.ReasonCancelled || e.Reason == engine.ReasonDeadline) {
		span.SetAttributes(semconv.HTTPRequestResendCount(max(resent, 0)))
	}
}
