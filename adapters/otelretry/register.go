package otelretry

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/internal/tally"
)

// Option changes what [Register] observes.
type Option func(*options) error

type options struct{ recorder *Recorder }

// WithRecorder observes what r has counted as well. nil is an error, as is one that
// is registered. Default: none.
func WithRecorder(r *Recorder) Option {
	return func(o *options) error {
		if r == nil {
			return errors.New("reprise/otelretry: WithRecorder(nil): want one from NewRecorder, whose Observer the engine has")
		}
		o.recorder = r
		return nil
	}
}

// scope is the name of the meter.
const scope = "github.com/reprise-go/reprise/adapters/otelretry"

// Register makes the metrics of an engine in a provider, under a name: not empty,
// valid UTF-8, another for each engine. Its counts are read when a reader collects.
// What it returns ends that, and may be called again without effect. A nil provider,
// a nil or zero engine, and what the provider refuses are errors.
func Register(provider metric.MeterProvider, name string, e *engine.Engine, opts ...Option) (unregister func() error, err error) {
	var o options
	if provider == nil {
		return nil, fmt.Errorf("reprise/otelretry: Register(%q) with a nil provider: otel.GetMeterProvider() is the global one", name)
	}
	if name == "" || !utf8.ValidString(name) {
		return nil, fmt.Errorf("reprise/otelretry: Register(%q): want a name for %s, valid UTF-8 and not empty", name, EngineKey)
	}
	if e == nil {
		return nil, fmt.Errorf("reprise/otelretry: Register(%q) with a nil *engine.Engine: make one with engine.New", name)
	}
	if _, err := e.Derive(); err != nil {
		return nil, fmt.Errorf("reprise/otelretry: Register(%q) with a zero Engine: make one with engine.New", name)
	}
	for i, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("reprise/otelretry: option %d of %d is nil", i+1, len(opts))
		}
		if err := opt(&o); err != nil {
			return nil, err
		}
	}
	i, err := newInstruments(provider.Meter(scope), name)
	if err != nil {
		return nil, fmt.Errorf("reprise/otelretry: Register(%q): %w", name, err)
	}
	if o.recorder != nil && !o.recorder.delays.CompareAndSwap(nil, i.delays) {
		return nil, fmt.Errorf("reprise/otelretry: Register(%q) with a recorder that is registered: each engine wants its own", name)
	}
	registration, err := i.meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		i.observe(to, e.Stats(), o.recorder)
		return nil
	}, i.observables()...)
	if err != nil {
		if o.recorder != nil {
			o.recorder.delays.CompareAndSwap(i.delays, nil)
		}
		return nil, fmt.Errorf("reprise/otelretry: Register(%q): %w", name, err)
	}
	return func() error {
		if o.recorder != nil {
			o.recorder.delays.CompareAndSwap(i.delays, nil)
		}
		return registration.Unregister()
	}, nil
}

// instruments are the metrics of one engine.
type instruments struct {
	meter metric.Meter

	retries, unsent, hedges, recoveries, stops, calls, attempts metric.Int64ObservableCounter
	tokens, capacity, enabled, waiting                          metric.Int64ObservableGauge
	fill, measured                                              metric.Float64ObservableGauge
	delays                                                      *delays

	plain    metric.ObserveOption // the engine's name
	byClass  [3]metric.ObserveOption
	byReason [len(engine.Stats{}.Stops)]metric.ObserveOption
}

func newInstruments(meter metric.Meter, name string) (*instruments, error) {
	i := &instruments{meter: meter, delays: new(delays)}
	var errs []error
	counter := func(to *metric.Int64ObservableCounter, name, unit, description string) {
		var err error
		*to, err = meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(description))
		errs = append(errs, err)
	}
	gauge := func(to *metric.Int64ObservableGauge, name, unit, description string) {
		var err error
		*to, err = meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
		errs = append(errs, err)
	}
	rate := func(to *metric.Float64ObservableGauge, name, description string) {
		var err error
		*to, err = meter.Float64ObservableGauge(name, metric.WithUnit("{attempt}/s"), metric.WithDescription(description))
		errs = append(errs, err)
	}
	gauge(&i.tokens, "reprise.quota.tokens", "{token}", "Tokens in the retry quota.")
	gauge(&i.capacity, "reprise.quota.capacity", "{token}", "Tokens that the retry quota holds at the most.")
	counter(&i.retries, "reprise.retries", "{retry}", "Retries granted, by the class of the failure.")
	counter(&i.unsent, "reprise.unsent_retries", "{retry}", "Retries and hedges granted and never sent; their tokens were given back.")
	counter(&i.hedges, "reprise.hedges", "{attempt}", "Attempts sent beside another, paid for like retries and not counted among them.")
	counter(&i.recoveries, "reprise.recoveries", "{call}", "Calls that succeeded on a retry.")
	counter(&i.stops, "reprise.stops", "{call}", "Calls that ended without success, by the reason for which there was no further attempt.")
	gauge(&i.enabled, "reprise.limiter.enabled", "1", "1 once something was throttled in adaptive mode.")
	rate(&i.fill, "reprise.limiter.fill", "What the send limiter lets through.")
	rate(&i.measured, "reprise.limiter.measured", "What the send limiter has measured.")
	gauge(&i.waiting, "reprise.limiter.waiting", "{call}", "Calls that wait for the send limiter.")
	counter(&i.calls, "reprise.calls", "{call}", "Calls that have ended, whatever their end.")
	counter(&i.attempts, "reprise.attempts", "{attempt}", "Attempts that these calls made.")
	histogram, err := meter.Float64Histogram("reprise.retry.delay", metric.WithUnit("s"),
		metric.WithDescription("Delays of granted retries, by the class of the failure."), metric.WithExplicitBucketBoundaries(tally.Bounds[:]...))
	i.delays.histogram = histogram

	set := func(more ...attribute.KeyValue) metric.MeasurementOption {
		return metric.WithAttributeSet(attribute.NewSet(append(more, EngineKey.String(name))...))
	}
	i.plain = set()
	for _, class := range classes {
		option := set(ClassKey.String(class.String()))
		i.byClass[class], i.delays.options[class] = option, []metric.RecordOption{option}
	}
	for reason := range i.byReason {
		i.byReason[reason] = set(ReasonKey.String(engine.Reason(reason).String()))
	}
	return i, errors.Join(append(errs, err)...)
}

func (i *instruments) observables() []metric.Observable {
	return []metric.Observable{
		i.tokens, i.capacity, i.retries, i.unsent, i.hedges, i.recoveries, i.stops,
		i.enabled, i.fill, i.measured, i.waiting, i.calls, i.attempts,
	}
}

func (i *instruments) observe(to metric.Observer, s engine.Stats, r *Recorder) {
	if s.Mode != engine.Legacy {
		to.ObserveInt64(i.tokens, int64(s.QuotaLevel), i.plain)
		to.ObserveInt64(i.capacity, int64(s.QuotaCapacity), i.plain)
	}
	for n, count := range [...]uint64{s.TransientRetries, s.ThrottlingRetries} {
		to.ObserveInt64(i.retries, int64(count), i.byClass[classes[n]])
	}
	to.ObserveInt64(i.unsent, int64(s.UnsentRetries), i.plain)
	to.ObserveInt64(i.hedges, int64(s.Hedges), i.plain)
	to.ObserveInt64(i.recoveries, int64(s.Recoveries), i.plain)
	for reason, n := range s.Stops {
		if engine.Reason(reason) != engine.ReasonRetry {
			to.ObserveInt64(i.stops, int64(n), i.byReason[reason])
		}
	}
	if s.Mode == engine.Adaptive {
		enabled := int64(0)
		if s.Limiter.Enabled {
			enabled = 1
		}
		to.ObserveInt64(i.enabled, enabled, i.plain)
		to.ObserveFloat64(i.fill, s.Limiter.FillRate, i.plain)
		to.ObserveFloat64(i.measured, s.Limiter.MeasuredRate, i.plain)
		to.ObserveInt64(i.waiting, int64(s.Limiter.Waiting), i.plain)
	}
	if r != nil {
		calls, attempts := r.tally.Calls()
		to.ObserveInt64(i.calls, int64(calls), i.plain)
		to.ObserveInt64(i.attempts, int64(attempts), i.plain)
	}
}
