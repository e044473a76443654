package awsretry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/metrics"
	"github.com/aws/smithy-go/middleware"
	"github.com/aws/smithy-go/tracing"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/awsretry"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// seen is all that can be told of a call from outside.
type seen struct {
	result  any
	headers []string // Amz-Sdk-Request, one for each request
	gaps    []time.Duration
	took    time.Duration
	results []string // of the attempts, in the metadata
	spans   []string
	counts  map[string]int
	lines   int
	errors  []string // the types that errors.As finds
	tokens  int
}

// parityScripts are what both loops must answer in the same way. The draw is
// one half.
var parityScripts = []struct {
	name        string
	script      []answer
	tokens      int // to start with
	latency     time.Duration
	cancelAfter time.Duration
	timeout     time.Duration
	longPolling bool
	perCall     func(*options)
	retryer     func(sdk *seen) // what NewRetryer does otherwise, on purpose
	deliberate  func(sdk *seen) // what Apply does
}{
	{name: "success"},
	{name: "R4.1 transient and throttling", script: []answer{fail(503, "x"), fail(400, "ThrottlingException")}},
	{name: "R2.1 attempts used up", script: []answer{fail(500, "x"), fail(502, "x"), fail(504, "x")}},
	{name: "R3.3 non-retryable", script: []answer{fail(400, "ValidationException")}},
	{name: "R6.4 non-retryable on a retry", script: []answer{fail(500, "x"), fail(400, "ValidationException")}, tokens: 100},
	{name: "R6 refused by the quota", script: []answer{fail(500, "x")}, tokens: 13, deliberate: func(sdk *seen) {
		sdk.lines++ // the end of a call is told, whatever ended it
	}},
	// The SDK waits too, if a real client tells it that the operation is one.
	{name: "R7 long poll refused by the quota", script: []answer{fail(500, "x")}, tokens: 13, longPolling: true, deliberate: func(sdk *seen) {
		sdk.took, sdk.lines = 25*time.Millisecond, 1
	}},
	{name: "R7 long poll refused, R5", script: []answer{after(fail(500, "x"), "3000")}, tokens: 13, longPolling: true, deliberate: func(sdk *seen) {
		sdk.took, sdk.lines = 3*time.Second, 1
	}},
	{name: "R3.2 reset", script: []answer{{err: &httpError{syscall.ECONNRESET}}}},
	{name: "R3.6 attempt's own time-out", script: []answer{{err: &httpError{context.DeadlineExceeded}}}},
	{name: "R3.6 cancelled in flight", latency: time.Minute, cancelAfter: time.Second},
	// A Retryer cannot tell the caller's deadline from an attempt's own until it is
	// asked for a token, and is given the context.
	{name: "R3.6 deadline in flight", latency: time.Minute, timeout: time.Second, retryer: func(sdk *seen) {
		sdk.results = []string{"status=0 retryable=true retried=false error=[ResponseError 0 CanceledError context.DeadlineExceeded]"}
		sdk.counts = map[string]int{"client.call.attempts S3 GetObject <nil>": 1, "client.call.attempt_duration S3 GetObject <nil>": 1, "client.call.errors S3 GetObject *errors.joinError": 1}
		sdk.lines = 0
	}},
	{name: "R3.4 unmodelled 429", script: []answer{fail(429, "Unheard")}},
	{name: "R3.4 modelled 429", script: []answer{fail(429, "Modelled")}},
	{name: "R3.4 modelled 429 with a throttling code", script: []answer{fail(429, "TooManyRequestsException")}},
	{name: "R5 retry after", script: []answer{after(fail(503, "x"), "2000"), after(fail(503, "x"), "60000"), fail(503, "x")}},
	{name: "R5.1 invalid retry after", script: []answer{after(fail(503, "x"), "1.5")}},
	{name: "cancelled in the wait", script: []answer{after(fail(503, "x"), "5000")}, cancelAfter: time.Second, deliberate: func(sdk *seen) {
		sdk.tokens += 14 // R6.3
		sdk.lines = 2    // of the retry, before its wait, and of the end
		// The service's error stays to be found.
		sdk.results = []string{"status=503 retryable=true retried=false error=[APIError x ResponseError 503 RequestCanceledError CanceledError context.Canceled]"}
		sdk.errors = []string{"OperationError", "APIError x", "ResponseError 503", "RequestCanceledError", "CanceledError", "context.Canceled"}
		delete(sdk.counts, "client.call.errors S3 GetObject *aws.RequestCanceledError")
		sdk.counts["client.call.errors S3 GetObject x"] = 1
	}},
	{name: "call asks for two attempts", script: []answer{fail(500, "x"), fail(500, "x")}, perCall: func(o *options) { o.retryMaxAttempts = 2 }},
	{name: "call asks for five attempts", script: []answer{fail(500, "x"), fail(500, "x"), fail(500, "x"), fail(500, "x")}, perCall: func(o *options) { o.retryMaxAttempts = 5 }},
	{name: "call asks for one attempt", script: []answer{fail(500, "x")}, perCall: func(o *options) { o.retryMaxAttempts = 1 }},
	{name: "call brings no retries", script: []answer{fail(500, "x")}, perCall: func(o *options) { o.retryer = aws.NopRetryer{} }},
	{name: "call adds a code", script: []answer{fail(400, "Odd"), fail(400, "ValidationException")}, perCall: func(o *options) { o.retryer = retry.AddWithErrorCodes(o.retryer, "Odd") }},
	{name: "call brings the SDK's retryer", script: []answer{fail(500, "x"), fail(500, "x")}, perCall: func(o *options) {
		o.retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.Backoff = half(50 * time.Millisecond) })
	}},
}

func TestParity(t *testing.T) {
	for _, script := range parityScripts {
		t.Run(script.name, func(t *testing.T) {
			tokens := script.tokens
			if tokens == 0 {
				tokens = 400
			}
			run := func(make func(s *server) (aws.Config, func() int)) (got seen) {
				synctest.Test(t, func(t *testing.T) {
					s := &server{script: append([]answer(nil), script.script...), latency: script.latency}
					cfg, left := make(s)
					w := &watch{counts: map[string]int{}}
					cfg.Logger, cfg.ClientLogMode = w, aws.LogRetries
					c := newClient(cfg, "S3", func(o *options) {
						o.meter, o.tracer, o.longPolling, o.modelled = w, w, script.longPolling, modelledError
					})
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if script.timeout > 0 {
						ctx, cancel = context.WithTimeout(ctx, script.timeout)
						defer cancel()
					}
					if script.cancelAfter > 0 {
						time.AfterFunc(script.cancelAfter, cancel)
					}
					start := time.Now()
					var fns []func(*options)
					if script.perCall != nil {
						fns = append(fns, script.perCall)
					}
					out, metadata, err := c.call(ctx, "GetObject", &input{}, fns...)
					got = seen{
						result: out, headers: s.headers("Amz-Sdk-Request"), took: time.Since(start), tokens: left(),
						results: results(metadata), spans: w.spans, counts: w.counts, lines: len(w.lines), errors: types(err),
					}
					for i, r := range s.seen()[1:] {
						got.gaps = append(got.gaps, r.at.Sub(s.seen()[i].at))
					}
				})
				return got
			}
			sdk := run(func(s *server) (aws.Config, func() int) {
				quota := ratelimit.NewTokenRateLimit(500)
				_, err := quota.GetToken(context.Background(), uint(500-tokens))
				require.NoError(t, err)
				r := retry.NewStandard(func(o *retry.StandardOptions) {
					o.RateLimiter, o.Backoff = quota, half(50*time.Millisecond)
				})
				return aws0(s, r), func() int { return int(quota.Remaining()) }
			})
			applied := run(func(s *server) (aws.Config, func() int) {
				e := newEngine(t, engine.WithSource(fastbackoff.Fixed(0.5)), engine.WithTokens(tokens))
				return applied(t, s, e, awsretry.WithSharedEngine()), func() int { return e.Stats().QuotaLevel }
			})
			dropped := run(func(s *server) (aws.Config, func() int) {
				e := newEngine(t, engine.WithSource(fastbackoff.Fixed(0.5)), engine.WithTokens(tokens))
				r, err := awsretry.NewRetryer(e)
				require.NoError(t, err)
				return aws0(s, r), func() int { return e.Stats().QuotaLevel }
			})
			want := sdk
			if script.retryer != nil {
				script.retryer(&want)
			}
			assert.Equal(t, want, dropped, "NewRetryer")
			if script.deliberate != nil {
				script.deliberate(&sdk)
			}
			assert.Equal(t, sdk, applied, "Apply")
		})
	}
}

// half is the SDK's backoff with a draw of one half.
func half(base time.Duration) retry.BackoffDelayer {
	throttles := retry.IsErrorThrottles(retry.DefaultThrottles)
	return retry.BackoffDelayerFunc(func(attempt int, err error) (time.Duration, error) {
		base := base
		if throttles.IsErrorThrottle(err).Bool() {
			base = time.Second
		}
		return min(base<<(attempt-1), 20*time.Second) / 2, nil
	})
}

func after(a answer, millis string) answer {
	a.header = http.Header{"X-Amz-Retry-After": {millis}}
	return a
}

// httpError is what net/http returns for a connection that broke.
type httpError struct{ err error }

func (e *httpError) Error() string { return "read: connection reset: " + e.err.Error() }
func (e *httpError) Unwrap() error { return e.err }

// modelledException is an error type that a service's model has.
type modelledException struct{ code string }

func (e *modelledException) Error() string                 { return e.code }
func (e *modelledException) ErrorCode() string             { return e.code }
func (e *modelledException) ErrorMessage() string          { return "" }
func (e *modelledException) ErrorFault() smithy.ErrorFault { return smithy.FaultClient }

func modelledError(code string) error {
	if code == "Modelled" || code == "TooManyRequestsException" {
		return &modelledException{code}
	}
	return nil
}

// results describes the attempts in a call's metadata.
func results(metadata middleware.Metadata) (all []string) {
	attempts, ok := retry.GetAttemptResults(metadata)
	if !ok {
		return nil
	}
	for _, r := range attempts.Results {
		status := 0
		if raw, ok := r.GetRawResponse().(*smithyhttp.Response); ok {
			status = raw.StatusCode
		}
		all = append(all, fmt.Sprintf("status=%d retryable=%v retried=%v error=%v", status, r.Retryable, r.Retried, types(r.Err)))
	}
	return all
}

// types names what errors.As finds of what a user of the SDK may look for.
func types(err error) (found []string) {
	look := func(name string, ok bool) {
		if ok {
			found = append(found, name)
		}
	}
	var (
		operation *smithy.OperationError
		api       smithy.APIError
		modelled  *modelledException
		response  *smithyhttp.ResponseError
		attempts  *retry.MaxAttemptsError
		quota     ratelimit.QuotaExceededError
		cancelled *aws.RequestCanceledError
		any       interface{ CanceledError() bool }
	)
	look("OperationError", errors.As(err, &operation))
	if errors.As(err, &api) {
		look("APIError "+api.ErrorCode(), true)
	}
	look("modelled", errors.As(err, &modelled))
	if errors.As(err, &response) {
		look(fmt.Sprintf("ResponseError %d", response.HTTPStatusCode()), true)
	}
	if errors.As(err, &attempts) {
		look(fmt.Sprintf("MaxAttemptsError %d", attempts.Attempt), true)
	}
	if errors.As(err, &quota) {
		look(fmt.Sprintf("QuotaExceededError %d of %d", quota.Requested, quota.Available), true)
	}
	look("RequestCanceledError", errors.As(err, &cancelled))
	look("CanceledError", errors.As(err, &any) && any.CanceledError())
	look("context.Canceled", errors.Is(err, context.Canceled))
	look("context.DeadlineExceeded", errors.Is(err, context.DeadlineExceeded))
	return found
}

// watch is a client's logger, meter and tracer.
type watch struct {
	metrics.Meter
	mu     sync.Mutex
	lines  []string
	spans  []string
	counts map[string]int
}

func (w *watch) Logf(class logging.Classification, format string, v ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, fmt.Sprintf("%s: "+format, append([]any{class}, v...)...))
}

type depthKey struct{}

func (w *watch) StartSpan(ctx context.Context, name string, opts ...tracing.SpanOption) (context.Context, tracing.Span) {
	var o tracing.SpanOptions
	for _, opt := range opts {
		opt(&o)
	}
	depth, _ := ctx.Value(depthKey{}).(int)
	line := fmt.Sprintf("%*s%s", 2*depth, "", name)
	if n := o.Properties.Get("operation.attempt"); n != nil {
		line += fmt.Sprint(" ", n)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spans = append(w.spans, line)
	return context.WithValue(ctx, depthKey{}, depth+1), &watchedSpan{w: w, line: line}
}

type watchedSpan struct {
	tracing.Span
	w    *watch
	line string
}

func (s *watchedSpan) End() {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.w.spans = append(s.w.spans, s.line+" ends")
}
func (s *watchedSpan) SetProperty(_, _ any) {}

func (w *watch) Int64Counter(name string, _ ...metrics.InstrumentOption) (metrics.Int64Counter, error) {
	return instrument[int64]{w, name}, nil
}

func (w *watch) Float64Histogram(name string, _ ...metrics.InstrumentOption) (metrics.Float64Histogram, error) {
	return instrument[float64]{w, name}, nil
}

type instrument[T any] struct {
	w    *watch
	name string
}

func (i instrument[T]) count(opts []metrics.RecordMetricOption) {
	var o metrics.RecordMetricOptions
	for _, opt := range opts {
		opt(&o)
	}
	name := fmt.Sprint(i.name, " ", o.Properties.Get("rpc.service"), " ", o.Properties.Get("rpc.method"), " ", o.Properties.Get("exception.type"))
	i.w.mu.Lock()
	defer i.w.mu.Unlock()
	i.w.counts[name]++
}

func (i instrument[T]) Add(_ context.Context, _ T, opts ...metrics.RecordMetricOption) { i.count(opts) }
func (i instrument[T]) Record(_ context.Context, _ T, opts ...metrics.RecordMetricOption) {
	i.count(opts)
}
