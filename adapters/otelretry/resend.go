package otelretry

import (
	"net/http"
	"strconv"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/reprise-go/reprise/adapters/httpretry"
)

// ResendCount returns a transport for beneath the one that starts a span for each
// attempt. It sets http.request.resend_count on that span, if the attempt is not the
// first:
//
//	httpretry.New(e, httpretry.WithRetryMark(), httpretry.WithBase(
//		otelhttp.NewTransport(otelretry.ResendCount(http.DefaultTransport))))
//
// The number comes from the header that [httpretry.WithRetryMark] sets; without it
// nothing is known and nothing set. A nil base is http.DefaultTransport.
func ResendCount(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return resendCount{base}
}

type resendCount struct{ base http.RoundTripper }

func (t resendCount) RoundTrip(req *http.Request) (*http.Response, error) {
	if span := trace.SpanFromContext(req.Context()); span.IsRecording() {
		if attempt, err := strconv.Atoi(req.Header.Get(httpretry.RetryMarkHeader)); err == nil && attempt > 1 {
			span.SetAttributes(semconv.HTTPRequestResendCount(attempt - 1))
		}
	}
	return t.base.RoundTrip(req)
}

// CloseIdleConnections closes those of the base.
func (t resendCount) CloseIdleConnections() {
	if base, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}
