package promretry_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/promretry"
	"github.com/reprise-go/reprise/engine"
)

// withRecorder returns an engine with a recorder and its collector.
func withRecorder(tb testing.TB, name string, opts ...engine.Option) (*engine.Engine, *promretry.Collector) {
	tb.Helper()
	r := promretry.NewRecorder()
	e := newEngine(tb, append(opts, engine.WithObserver(r.Observer()))...)
	c, err := promretry.New(name, e, promretry.WithRecorder(r))
	require.NoError(tb, err)
	return e, c
}

// The whole page, as Prometheus reads it.
func TestExposition(t *testing.T) {
	e, c := withRecorder(t, "orders")
	call(e)
	call(e)
	call(e, transient)                       // +0
	call(e, throttling, final)               // -5
	call(e, transient, transient, transient) // -28
	abandoned := e.Begin()
	abandoned.Fail(transient)
	abandoned.Abandon()
	assert.NoError(t, testutil.GatherAndCompare(registry(t, c), strings.NewReader(`
# HELP reprise_attempts_total Attempts that these calls made.
# TYPE reprise_attempts_total counter
reprise_attempts_total{engine="orders",key=""} 10
# HELP reprise_calls_total Calls that have ended, whatever their end.
# TYPE reprise_calls_total counter
reprise_calls_total{engine="orders",key=""} 6
# HELP reprise_hedges_total Attempts sent beside another, paid for like retries and not counted among them.
# TYPE reprise_hedges_total counter
reprise_hedges_total{engine="orders",key=""} 0
# HELP reprise_observer_panics_total Panics of observer hooks.
# TYPE reprise_observer_panics_total counter
reprise_observer_panics_total{engine="orders",key=""} 0
# HELP reprise_quota_capacity_tokens Tokens that the retry quota holds at the most.
# TYPE reprise_quota_capacity_tokens gauge
reprise_quota_capacity_tokens{engine="orders",key=""} 500
# HELP reprise_quota_tokens Tokens in the retry quota.
# TYPE reprise_quota_tokens gauge
reprise_quota_tokens{engine="orders",key=""} 467
# HELP reprise_recoveries_total Calls that succeeded on a retry.
# TYPE reprise_recoveries_total counter
reprise_recoveries_total{engine="orders",key=""} 1
# HELP reprise_retries_total Retries granted, by the class of the failure.
# TYPE reprise_retries_total counter
reprise_retries_total{class="throttling",engine="orders",key=""} 1
reprise_retries_total{class="transient",engine="orders",key=""} 4
# HELP reprise_retry_delay_seconds Delays of granted retries, by the class of the failure.
# TYPE reprise_retry_delay_seconds histogram
reprise_retry_delay_seconds_bucket{class="throttling",engine="orders",key="",le="0.025"} 0
reprise_retry_delay_seconds_bucket{class="throttling",engine="orders",key="",le="0.05"} 0
reprise_retry_delay_seconds_bucket{class="throttling",engine="orders",key="",le="0.1"} 0
reprise_retry_delay_seconds_bucket{class="throttling",engine="orders",key="",le="0.2"} 0
reprise_retry_delay_seconds_bucket{class="throttling",engine="orders",key="",le="0.4"} 0
reprise_retry_delay_seconds_bucket{class="throttling",engine="orders",key="",le="0.8"} 0
reprise_retry_delay_seconds_bucket{class="throttling",engine="orders",key="",le="1.6"} 1
reprise_retry_delay_seconds_bucket{class="throttling",engine="orders",key="",le="3.2"} 1
reprise_retry_delay_seconds_bucket{class="throttling",engine="orders",key="",le="6.4"} 1
reprise_retry_delay_seconds_bucket{class="throttling",engine="orders",key="",le="12.8"} 1
reprise_retry_delay_seconds_bucket{class="throttling",engine="orders",key="",le="20"} 1
reprise_retry_delay_seconds_bucket{class="throttling",engine="orders",key="",le="25"} 1
reprise_retry_delay_seconds_bucket{class="throttling",engine="orders",key="",le="+Inf"} 1
reprise_retry_delay_seconds_sum{class="throttling",engine="orders",key=""} 0.999999999
reprise_retry_delay_seconds_count{class="throttling",engine="orders",key=""} 1
reprise_retry_delay_seconds_bucket{class="transient",engine="orders",key="",le="0.025"} 0
reprise_retry_delay_seconds_bucket{class="transient",engine="orders",key="",le="0.05"} 3
reprise_retry_delay_seconds_bucket{class="transient",engine="orders",key="",le="0.1"} 4
reprise_retry_delay_seconds_bucket{class="transient",engine="orders",key="",le="0.2"} 4
reprise_retry_delay_seconds_bucket{class="transient",engine="orders",key="",le="0.4"} 4
reprise_retry_delay_seconds_bucket{class="transient",engine="orders",key="",le="0.8"} 4
reprise_retry_delay_seconds_bucket{class="transient",engine="orders",key="",le="1.6"} 4
reprise_retry_delay_seconds_bucket{class="transient",engine="orders",key="",le="3.2"} 4
reprise_retry_delay_seconds_bucket{class="transient",engine="orders",key="",le="6.4"} 4
reprise_retry_delay_seconds_bucket{class="transient",engine="orders",key="",le="12.8"} 4
reprise_retry_delay_seconds_bucket{class="transient",engine="orders",key="",le="20"} 4
reprise_retry_delay_seconds_bucket{class="transient",engine="orders",key="",le="25"} 4
reprise_retry_delay_seconds_bucket{class="transient",engine="orders",key="",le="+Inf"} 4
reprise_retry_delay_seconds_sum{class="transient",engine="orders",key=""} 0.249999996
reprise_retry_delay_seconds_count{class="transient",engine="orders",key=""} 4
# HELP reprise_stops_total Calls that ended without success, by the reason for which there was no further attempt.
# TYPE reprise_stops_total counter
reprise_stops_total{engine="orders",key="",reason="cancelled"} 1
reprise_stops_total{engine="orders",key="",reason="deadline"} 0
reprise_stops_total{engine="orders",key="",reason="max_attempts"} 1
reprise_stops_total{engine="orders",key="",reason="non_retryable"} 1
reprise_stops_total{engine="orders",key="",reason="not_replayable"} 0
reprise_stops_total{engine="orders",key="",reason="quota"} 0
# HELP reprise_unsent_retries_total Retries and hedges granted and never sent; their tokens were given back.
# TYPE reprise_unsent_retries_total counter
reprise_unsent_retries_total{engine="orders",key=""} 1
`)))
}

// Names and units as Prometheus wants them, in every mode and of a group.
func TestLint(t *testing.T) {
	_, standard := withRecorder(t, "standard")
	_, adaptive := withRecorder(t, "adaptive", engine.WithMode(engine.Adaptive))
	_, legacy := withRecorder(t, "legacy", engine.WithMode(engine.Legacy))
	g := newGroup(t, 10)
	g.For("a")
	group, err := promretry.NewGroup("group", g, promretry.WithRecorder(promretry.NewRecorder()))
	require.NoError(t, err)
	set, err := promretry.NewSet(slices.Values([]promretry.Source{{Name: "one", Engine: newEngine(t), Recorder: promretry.NewRecorder()}}))
	require.NoError(t, err)
	r := registry(t, standard, adaptive, legacy, group)
	for _, r := range []*prometheus.Registry{r, registry(t, set)} {
		problems, err := testutil.GatherAndLint(r)
		require.NoError(t, err)
		assert.Empty(t, problems)
	}

	all := gather(t, r)
	assert.Contains(t, all, "reprise_quota_tokens engine=standard")
	assert.NotContains(t, all, "reprise_quota_tokens engine=legacy", "R1.4: there is none")
	assert.NotContains(t, all, "reprise_limiter_enabled engine=standard")
	assert.Contains(t, all, "reprise_limiter_enabled engine=adaptive")
	assert.ErrorContains(t, r.Register(set), "different label names", "a set wants a registry of its own")
}

// The limiter's state (R8).
func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, c := withRecorder(t, "throttled", engine.WithMode(engine.Adaptive), engine.WithMaxAttempts(1))
		r := registry(t, c)
		assert.Zero(t, gather(t, r)["reprise_limiter_enabled engine=throttled"])
		one := e.Begin()
		one.Fail(throttling)
		s := gather(t, r)
		assert.Equal(t, 1.0, s["reprise_limiter_enabled engine=throttled"])
		assert.Equal(t, 0.5, s["reprise_limiter_fill_attempts_per_second engine=throttled"])
		assert.Equal(t, 1.0, s["reprise_limiter_capacity_tokens engine=throttled"])
		assert.Contains(t, s, "reprise_limiter_waiting engine=throttled")
	})
}

// An attempt that the limiter did not let be sent is none (peer fault 128).
func TestAttemptsAreSends(t *testing.T) {
	e, c := withRecorder(t, "one", engine.WithMode(engine.Adaptive), engine.WithMaxAttempts(2))
	first := e.Begin()
	first.Fail(throttling)
	first.Abandon()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := engine.Do(ctx, e, func(context.Context) (int, error) { panic("not sent") })
	require.ErrorIs(t, err, engine.ErrCancelled)
	s := gather(t, registry(t, c))
	assert.Equal(t, 2.0, s["reprise_calls_total engine=one"])
	assert.Equal(t, 1.0, s["reprise_attempts_total engine=one"])
}

func TestRegistration(t *testing.T) {
	e, orders := withRecorder(t, "orders")
	_, carts := withRecorder(t, "carts")
	_, again := withRecorder(t, "orders")
	bare, err := promretry.New("bare", e)
	require.NoError(t, err)
	r := registry(t, orders, carts, bare)
	var twice prometheus.AlreadyRegisteredError
	require.ErrorAs(t, r.Register(again), &twice)
	assert.Same(t, orders, twice.ExistingCollector)
	assert.ElementsMatch(t, []string{"bare", "carts", "orders"}, labels(t, r, "reprise_quota_tokens", "engine"))
	assert.ElementsMatch(t, []string{"carts", "orders"}, labels(t, r, "reprise_calls_total", "engine"))
	assert.True(t, r.Unregister(orders))
	assert.False(t, r.Unregister(orders))
	assert.ElementsMatch(t, []string{"bare", "carts"}, labels(t, r, "reprise_quota_tokens", "engine"))
	require.NoError(t, r.Register(again), "the name is free again")

	assert.Empty(t, gather(t, registry(t, new(promretry.Collector))), "the zero Collector shows nothing")
	require.NoError(t, prometheus.WrapRegistererWith(prometheus.Labels{"zone": "b"}, registry(t)).Register(orders))
}

func TestMisuse(t *testing.T) {
	e, g := newEngine(t), newGroup(t, 1)
	mine := func(_ *promretry.Collector, err error) error { return err }
	for want, err := range map[string]error{
		`New(""): want a name`:                  mine(promretry.New("", e)),
		`New("a\xff"): want a name`:             mine(promretry.New("a\xff", e)),
		`New("a") with a nil or zero`:           mine(promretry.New("a", nil)),
		`New("b") with a nil or zero`:           mine(promretry.New("b", new(engine.Engine))),
		`WithRecorder(nil)`:                     mine(promretry.New("a", e, promretry.WithRecorder(nil))),
		`option 1 of 1 is nil`:                  mine(promretry.New("a", e, nil)),
		`one engine has no keys`:                mine(promretry.New("a", e, promretry.WithKeyLimit(1))),
		`NewGroup("g") with a nil`:              mine(promretry.NewGroup[string]("g", nil)),
		`NewGroup(""): want a name`:             mine(promretry.NewGroup("", g)),
		`WithKeyLimit(0): want 1 to 10000`:      mine(promretry.NewGroup("g", g, promretry.WithKeyLimit(0))),
		`WithKeyLimit(10001): want 1 to`:        mine(promretry.NewGroup("g", g, promretry.WithKeyLimit(10001))),
		`WithKeyLabel(nil)`:                     mine(promretry.NewGroup("g", g, promretry.WithKeyLabel[string](nil))),
		`func(int) string: want a func(string)`: mine(promretry.NewGroup("g", g, promretry.WithKeyLabel(func(int) string { return "" }))),
		`NewSet with nil sources`:               mine(promretry.NewSet(nil)),
	} {
		assert.ErrorContains(t, err, "reprise/promretry: ")
		assert.ErrorContains(t, err, want)
	}
}

// What a set yields may be odd, and may differ from scrape to scrape.
func TestSet(t *testing.T) {
	a, b := newEngine(t), newEngine(t, engine.WithTokens(7))
	sources := []promretry.Source{{Name: "a", Engine: a}, {Name: "nil"}, {Name: "zero", Engine: new(engine.Engine)},
		{Name: "a", Engine: b}, {Name: "b\xff", Engine: b, Recorder: new(promretry.Recorder)}, {Name: "", Engine: a}}
	c, err := promretry.NewSet(func(yield func(promretry.Source) bool) { slices.Values(sources)(yield) })
	require.NoError(t, err)
	r := registry(t, c)
	s := gather(t, r)
	assert.Equal(t, 500.0, s["reprise_quota_tokens engine=a"])
	assert.Equal(t, 7.0, s["reprise_quota_tokens engine=b\uFFFD"])
	assert.Len(t, labels(t, r, "reprise_quota_tokens", "engine"), 3)
	sources = sources[:1]
	assert.Equal(t, []string{"a"}, labels(t, r, "reprise_quota_tokens", "engine"))
}

// Calls and scrapes at once; the end is exact.
func TestHammer(t *testing.T) {
	const workers, rounds = 4, 2000
	e, c := withRecorder(t, "busy", engine.WithQuota(engine.Quota{Capacity: 1 << 20}))
	r := registry(t, c)
	var calling, scraping sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		scraping.Go(func() {
			var before series
			for {
				now := gather(t, r)
				for _, counter := range []string{"reprise_calls_total engine=busy", "reprise_attempts_total engine=busy"} {
					assert.GreaterOrEqual(t, now[counter], before[counter])
				}
				before = now
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for range workers {
		calling.Go(func() {
			for i := range rounds {
				switch i % 4 {
				case 0:
					call(e, transient)
				case 1:
					call(e, throttling, final)
				default:
					call(e)
				}
			}
		})
	}
	calling.Wait()
	close(done)
	scraping.Wait()
	s := gather(t, r)
	assert.Equal(t, float64(workers*rounds), s["reprise_calls_total engine=busy"])
	assert.Equal(t, float64(workers*rounds*3/2), s["reprise_attempts_total engine=busy"])
	assert.Equal(t, float64(workers*rounds/4), s["reprise_retry_delay_seconds class=transient engine=busy"])
}
