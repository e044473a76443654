package httpretry_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// BenchmarkRoundTrip is one call over a base that answers at once; impl=bare is
// the base alone, to be subtracted.
func BenchmarkRoundTrip(b *testing.B) {
	ok, busy := response(200, ""), response(503, "")
	succeed := roundTripper(func(*http.Request) (*http.Response, error) { return ok, nil })
	fail := roundTripper(func(req *http.Request) (*http.Response, error) { r := *busy; return &r, nil })
	var bare http.RoundTripper = succeed
	e := newEngine(b, engine.WithClock(noSleep{}))
	group, err := engine.NewGroup[string](e, 10)
	if err != nil {
		b.Fatal(err)
	}
	for _, bench := range []struct {
		name string
		rt   http.RoundTripper
	}{
		{"path=success/impl=bare", bare},
		{"path=success/impl=httpretry", newTransport(b, e, httpretry.WithBase(succeed))},
		{"path=success/impl=httpretry/headers=aws", newTransport(b, e, httpretry.WithBase(succeed), httpretry.WithAWSHeaders())},
		{"path=success/impl=httpretry/engine=host", newTransport(b, e, httpretry.WithBase(succeed), httpretry.WithEngineByHost(group))},
		{"path=success/impl=httpretry/headers=mark", newTransport(b, e, httpretry.WithBase(succeed), httpretry.WithRetryMark())},
		{"path=success/impl=httpretry/timeout=attempt", newTransport(b, e, httpretry.WithBase(succeed), httpretry.WithAttemptTimeout(time.Minute))},
		{"path=success/impl=httpretry/hedge=on", newTransport(b, e, httpretry.WithBase(succeed), httpretry.WithHedge(time.Minute))},
		{"path=success/impl=httpretry/resend=no", newTransport(b, e, httpretry.WithBase(httpretry.NoResend(succeed)))},
		{"path=refused/impl=httpretry", newTransport(b, newEngine(b, engine.WithTokens(0)), httpretry.WithBase(fail))},
	} {
		b.Run(bench.name, func(b *testing.B) {
			req := get(b, b.Context())
			b.ReportAllocs()
			for b.Loop() {
				if _, err := bench.rt.RoundTrip(req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkErrorCode is a failed attempt whose code is in its body.
func BenchmarkErrorCode(b *testing.B) {
	e := newEngine(b, engine.WithMaxAttempts(1))
	for name, answer := range map[string]func() *http.Response{
		"header": func() *http.Response { return response(400, throttled, "X-Amzn-Errortype", "ThrottlingException") },
		"json":   func() *http.Response { return response(400, throttled, "Content-Type", "application/json") },
		"xml":    func() *http.Response { return response(400, "<Error><Code>SlowDown</Code></Error>") },
	} {
		b.Run("in="+name, func(b *testing.B) {
			transport := newTransport(b, e, httpretry.WithBase(roundTripper(func(*http.Request) (*http.Response, error) { return answer(), nil })))
			req := get(b, b.Context())
			b.ReportAllocs()
			for b.Loop() {
				if _, err := transport.RoundTrip(req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
