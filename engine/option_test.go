package engine_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

func TestDefaults(t *testing.T) { // R1.1, R4, R6
	e, err := engine.New()
	require.NoError(t, err)
	assert.Equal(t, engine.Standard, e.Mode())
	assert.Equal(t, 3, e.MaxAttempts())
	assert.Equal(t, fastbackoff.Schedule{Transient: 50 * ms, Throttling: time.Second, Max: 20 * time.Second}, e.Schedule())
	assert.Equal(t, engine.Quota{Capacity: 500, TransientCost: 14, ThrottlingCost: 5}, e.Quota())
	assert.Same(t, classify.Default, e.Classifier())
	assert.Empty(t, e.Service())
	assert.Equal(t, engine.Stats{QuotaLevel: 500, QuotaCapacity: 500}, e.Stats())
}

// R1.1, R4.1 (peer fault 38: one table of presets).
func TestServicePresets(t *testing.T) {
	for _, row := range []struct {
		id       string
		attempts int
		base     time.Duration
	}{
		{"DynamoDB", 4, 25 * ms},
		{"dynamodb", 4, 25 * ms},
		{"DynamoDB Streams", 4, 25 * ms},
		{"dynamodbstreams", 4, 25 * ms},
		{"dynamodb-streams", 4, 25 * ms},
		{"SQS", 3, 50 * ms},
		{"DynamoDBX", 3, 50 * ms},
	} {
		e := newEngine(t, engine.WithService(row.id))
		assert.Equal(t, row.attempts, e.MaxAttempts(), row.id)
		assert.Equal(t, row.base, e.Schedule().Transient, row.id)
		assert.Equal(t, time.Second, e.Schedule().Throttling, row.id)
	}
	e := newEngine(t, engine.WithMaxAttempts(7), engine.WithSchedule(fastbackoff.Schedule{Transient: ms}), engine.WithService("DynamoDB"))
	assert.Equal(t, 7, e.MaxAttempts(), "explicit wins, whatever the order")
	assert.Equal(t, ms, e.Schedule().Transient)
}

// Peer faults 53, 104 and 124: every bad option is an error that says what is
// wrong and what would be right; the later of two options counts.
func TestBadOptions(t *testing.T) {
	for _, row := range []struct {
		opt  engine.Option
		want string
	}{
		{nil, "reprise/engine: option 1 of 1 is nil"},
		{engine.WithMaxAttempts(0), "reprise/engine: WithMaxAttempts(0): want 1 (no retries) to 2147483647, the first attempt included"},
		{engine.WithMaxAttempts(-1), "WithMaxAttempts(-1): want 1"},
		{engine.WithMode(9), "reprise/engine: WithMode(Mode(9)): want Standard, Adaptive or Legacy"},
		{engine.WithService(" "), "reprise/engine: WithService: the service id is empty"},
		{engine.WithQuota(engine.Quota{Capacity: -1}), "reprise/engine: Quota.Capacity is -1: want 1 to 2147483647 tokens (0 for the default, 500)"},
		{engine.WithQuota(engine.Quota{TransientCost: -14}), "reprise/engine: Quota.TransientCost is -14: want 1 to the capacity, 500 tokens"},
		{engine.WithQuota(engine.Quota{ThrottlingCost: 501}), "reprise/engine: Quota.ThrottlingCost is 501: want 1 to the capacity, 500 tokens"},
		{engine.WithQuota(engine.Quota{Capacity: 10}), "reprise/engine: Quota.TransientCost is 14: want 1 to the capacity, 10 tokens"},
		{engine.WithTokens(-1), "reprise/engine: WithTokens(-1): want 0 or more tokens"},
		{engine.WithTokens(501), "reprise/engine: WithTokens(501): want 0 to the capacity, 500 tokens"},
		{engine.WithSchedule(fastbackoff.Schedule{Max: -1}), "reprise/engine: WithSchedule("},
		{engine.WithThrottleCoalescing(0), "reprise/engine: WithThrottleCoalescing(0s): want a window above zero"},
		{engine.WithClassifier(nil), "reprise/engine: WithClassifier(nil)"},
		{engine.WithSource(nil), "reprise/engine: WithSource(nil)"},
		{engine.WithClock(nil), "reprise/engine: WithClock(nil)"},
	} {
		e, err := engine.New(row.opt)
		assert.ErrorContains(t, err, row.want)
		assert.Nil(t, e)
	}
	if math.MaxInt > math.MaxInt32 {
		_, err := engine.New(engine.WithMaxAttempts(math.MaxInt))
		assert.Error(t, err, "no input means unlimited")
	}
	e := newEngine(t, engine.WithMaxAttempts(9), engine.WithMaxAttempts(2))
	assert.Equal(t, 2, e.MaxAttempts())
}

// A derived engine pays from the same quota by its own rules (R6.2).
func TestDerive(t *testing.T) {
	e := newEngine(t, engine.WithService("DynamoDB"))
	d, err := e.Derive(engine.WithMaxAttempts(2), engine.WithPacing())
	require.NoError(t, err)
	assert.Equal(t, 2, d.MaxAttempts())
	assert.Equal(t, 4, e.MaxAttempts(), "the parent is unchanged")
	assert.Equal(t, 25*ms, d.Schedule().Transient, "the rest is inherited")

	c := d.Begin()
	require.Equal(t, engine.ReasonRetry, c.Fail(transient).Reason)
	assert.Equal(t, 486, level(e))
	assert.Equal(t, e.Stats(), d.Stats())
	assert.Equal(t, engine.ReasonMaxAttempts, c.Fail(transient).Reason)

	dd, err := d.Derive()
	require.NoError(t, err)
	c = dd.Begin()
	c.Succeed()
	assert.Equal(t, 487, level(e))

	for _, shared := range []engine.Option{
		engine.WithQuota(engine.Quota{}), engine.WithTokens(1), engine.WithMode(engine.Standard),
	} {
		_, err := e.Derive(shared)
		assert.ErrorContains(t, err, "shared with the engine this one is derived from")
	}
	_, err = e.Derive(engine.WithMaxAttempts(-1))
	assert.Error(t, err)
}

// R6.2, R8: a derived engine has its parent's limiter as well, and its own
// settings never change what is shared.
func TestDerivedEngineSharesLimiterAndCapacity(t *testing.T) {
	e := newEngine(t, engine.WithMode(engine.Adaptive), engine.WithMaxAttempts(1))
	d, err := e.Derive(engine.WithMaxAttempts(2))
	require.NoError(t, err)
	c := d.Begin()
	require.Zero(t, c.Admit())
	c.Fail(throttling)
	assert.True(t, e.Stats().Limiter.Enabled)
	c = e.Begin()
	assert.NotZero(t, c.Admit(), "the parent's first attempts wait now (R8.1)")

	require.NoError(t, e.Reconfigure(engine.WithQuota(engine.Quota{Capacity: 50})))
	require.NoError(t, d.Reconfigure(engine.WithMaxAttempts(3)))
	dd, err := d.Derive()
	require.NoError(t, err)
	require.NoError(t, dd.Reconfigure(engine.WithMaxAttempts(4)))
	assert.Equal(t, 50, e.Stats().QuotaCapacity)
	for _, engine := range []*engine.Engine{e, d, dd} {
		assert.Equal(t, 50, engine.Quota().Capacity, "it is one bucket, so there is one capacity")
	}
	assert.ErrorContains(t, dd.Reconfigure(engine.WithQuota(engine.Quota{})), "reconfigure that")
}

// Costs are the quota's, so they change for all that pay from it: a derived
// engine with the old cost could ask for more than there ever is (R6).
func TestDerivedEngineFollowsTheQuota(t *testing.T) {
	e := newEngine(t)
	d, err := e.Derive(engine.WithMaxAttempts(2))
	require.NoError(t, err)
	dd, err := d.Derive(engine.WithMaxAttempts(4))
	require.NoError(t, err)
	small := engine.Quota{Capacity: 10, TransientCost: 3, ThrottlingCost: 2}
	require.NoError(t, e.Reconfigure(engine.WithQuota(small), engine.WithMaxAttempts(9)))
	for want, derived := range map[int]*engine.Engine{2: d, 4: dd} {
		assert.Equal(t, small, derived.Quota())
		assert.Equal(t, want, derived.MaxAttempts(), "its own")
	}
	c := d.Begin()
	assert.Equal(t, engine.ReasonRetry, c.Fail(transient).Reason)
	assert.Equal(t, 7, level(e))
	c.Succeed()
	assert.Equal(t, 10, level(e))

	c = dd.Begin()
	err = c.Wrap(t.Context(), slowDown, classify.Throttling, engine.Decision{Reason: engine.ReasonQuota})
	var stopped *engine.Error
	require.ErrorAs(t, err, &stopped)
	assert.Equal(t, 2, stopped.QuotaCost)
}

// A limiter has one clock: instants of another would stop it or fill it.
func TestDeriveKeepsTheLimitersClock(t *testing.T) {
	e := newEngine(t, engine.WithMode(engine.Adaptive))
	_, err := e.Derive(engine.WithClock(&fakeClock{}))
	assert.ErrorContains(t, err, "reprise/engine: WithClock: adaptive mode's limiter goes by the clock of the engine this one is derived from: set it in New")
	_, err = newEngine(t).Derive(engine.WithClock(&fakeClock{}))
	assert.NoError(t, err, "standard mode has no limiter")
}

func TestWords(t *testing.T) {
	assert.Equal(t, "standard adaptive legacy Mode(3)",
		engine.Standard.String()+" "+engine.Adaptive.String()+" "+engine.Legacy.String()+" "+engine.Mode(3).String())
	for reason, want := range []string{"non_retryable", "retry", "max_attempts", "not_replayable", "quota", "deadline", "cancelled", "Reason(7)"} {
		assert.Equal(t, want, engine.Reason(reason).String())
	}
}
