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

const (
	ms = time.Millisecond
	// near is what a draw as near to 1 as there is takes off a ceiling.
	near = time.Nanosecond
)

func newEngine(tb testing.TB, opts ...engine.Option) *engine.Engine {
	tb.Helper()
	e, err := engine.New(append([]engine.Option{engine.WithSource(fastbackoff.Fixed(1))}, opts...)...)
	require.NoError(tb, err)
	return e
}

func level(e *engine.Engine) int { return e.Stats().QuotaLevel }

var (
	transient  = engine.Outcome{Class: classify.Transient}
	throttling = engine.Outcome{Class: classify.Throttling}
	final      = engine.Outcome{Class: classify.NonRetryable}
)

// step is a failed attempt and what must come of it; a zero outcome with
// success set is a success.
type step struct {
	outcome engine.Outcome
	success bool

	reason engine.Reason
	delay  time.Duration
	quota  int
}

func ok(quota int) step { return step{success: true, quota: quota} }

func failed(o engine.Outcome, reason engine.Reason, delay time.Duration, quota int) step {
	return step{outcome: o, reason: reason, delay: delay, quota: quota}
}

// Scripts in, decisions out. Each row names its clause.
func TestCallByClause(t *testing.T) {
	retry, stop := engine.ReasonRetry, engine.ReasonNonRetryable
	for _, row := range []struct {
		name  string
		opts  []engine.Option
		poll  bool
		steps []step
	}{
		{"R6: first success at a full quota", nil, false, []step{ok(500)}},
		{"R6: first success adds one", []engine.Option{engine.WithTokens(7)}, false, []step{ok(8)}},
		{"R2.1, R3.3: a non-retryable failure touches nothing", nil, false, []step{failed(final, stop, 0, 500)}},
		{"R2.1: nor does it with an empty quota", []engine.Option{engine.WithTokens(0)}, false, []step{failed(final, stop, 0, 0)}},
		{"R6: a success gives back what the last retry took, no more", nil, false, []step{
			failed(transient, retry, 50*ms-near, 486), failed(throttling, retry, 2*time.Second-near, 481), ok(486),
		}},
		{"R4.1: base by the latest error, exponent by the overall index", []engine.Option{engine.WithMaxAttempts(5)}, false, []step{
			failed(throttling, retry, time.Second-near, 495), failed(transient, retry, 100*ms-near, 481),
			failed(throttling, retry, 4*time.Second-near, 476), failed(transient, retry, 400*ms-near, 462),
			failed(transient, engine.ReasonMaxAttempts, 0, 462),
		}},
		{"R1.1: three attempts by default", nil, false, []step{
			failed(transient, retry, 50*ms-near, 486), failed(transient, retry, 100*ms-near, 472),
			failed(transient, engine.ReasonMaxAttempts, 0, 472),
		}},
		{"R1.1: DynamoDB makes four, from 25 ms", []engine.Option{engine.WithService("DynamoDB Streams")}, false, []step{
			failed(transient, retry, 25*ms-near, 486), failed(transient, retry, 50*ms-near, 472),
			failed(transient, retry, 100*ms-near, 458), failed(transient, engine.ReasonMaxAttempts, 0, 458),
		}},
		{"R1.1: one attempt turns retries off", []engine.Option{engine.WithMaxAttempts(1)}, false, []step{
			failed(transient, engine.ReasonMaxAttempts, 0, 500),
		}},
		{"R2.1: attempts before quota", []engine.Option{engine.WithMaxAttempts(1), engine.WithTokens(0)}, false, []step{
			failed(throttling, engine.ReasonMaxAttempts, 0, 0),
		}},
		{"R6.1: too few tokens, nothing taken", []engine.Option{engine.WithTokens(13)}, false, []step{
			failed(transient, engine.ReasonQuota, 0, 13),
		}},
		{"R6: thirteen tokens pay for a throttling retry", []engine.Option{engine.WithTokens(13)}, false, []step{
			failed(throttling, retry, time.Second-near, 8), ok(13),
		}},
		{"R6.4: a retry that ends non-retryable keeps its cost", nil, false, []step{
			failed(throttling, retry, time.Second-near, 495), failed(final, stop, 0, 495),
		}},
		{"R5: a hint lengthens the delay", nil, false, []step{
			failed(engine.Outcome{Class: classify.Transient, RetryAfter: 1500 * ms}, retry, 1500*ms, 486), ok(500),
		}},
		{"R5: by five seconds at the most", nil, false, []step{
			failed(engine.Outcome{Class: classify.Transient, RetryAfter: time.Hour}, retry, 5050*ms-near, 486),
		}},
		{"R5.2: and never wraps", nil, false, []step{
			failed(engine.Outcome{Class: classify.Transient, RetryAfter: math.MaxInt64}, retry, 5050*ms-near, 486),
		}},
		{"R5.1: a negative hint is none", nil, false, []step{
			failed(engine.Outcome{Class: classify.Transient, RetryAfter: -time.Hour}, retry, 50*ms-near, 486),
		}},
		{"R5.1: a hint never makes an error retryable", nil, false, []step{
			failed(engine.Outcome{RetryAfter: time.Second}, stop, 0, 500),
		}},
		{"R7: a refused long poll waits", []engine.Option{engine.WithTokens(0)}, true, []step{
			failed(transient, engine.ReasonQuota, 50*ms-near, 0),
		}},
		{"R7, R5.1: with the server's hint", []engine.Option{engine.WithTokens(0)}, true, []step{
			failed(engine.Outcome{Class: classify.Throttling, RetryAfter: 3 * time.Second}, engine.ReasonQuota, 3*time.Second, 0),
		}},
		{"R7: on a retry by its index", []engine.Option{engine.WithTokens(14)}, true, []step{
			failed(transient, retry, 50*ms-near, 0), failed(transient, engine.ReasonQuota, 100*ms-near, 0),
		}},
		{"R7: not on attempts used up", []engine.Option{engine.WithMaxAttempts(1), engine.WithTokens(0)}, true, []step{
			failed(transient, engine.ReasonMaxAttempts, 0, 0),
		}},
		{"R7: not on a non-retryable failure", []engine.Option{engine.WithTokens(0)}, true, []step{failed(final, stop, 0, 0)}},
		{"R7: a long poll that succeeds is any call", []engine.Option{engine.WithTokens(3)}, true, []step{ok(4)}},
		{"pacing is the long-poll rule for every call", []engine.Option{engine.WithTokens(0), engine.WithPacing()}, false, []step{
			failed(throttling, engine.ReasonQuota, time.Second-near, 0),
		}},
		{"a request that cannot be sent again takes nothing", nil, false, []step{
			failed(engine.Outcome{Class: classify.Transient, NotReplayable: true}, engine.ReasonNotReplayable, 0, 500),
		}},
		{"R2.1: attempts before replayability", []engine.Option{engine.WithMaxAttempts(1)}, false, []step{
			failed(engine.Outcome{Class: classify.Transient, NotReplayable: true}, engine.ReasonMaxAttempts, 0, 500),
		}},
		{"replayability before the quota", []engine.Option{engine.WithTokens(0)}, false, []step{
			failed(engine.Outcome{Class: classify.Transient, NotReplayable: true}, engine.ReasonNotReplayable, 0, 0),
		}},
		{"a class that does not exist is not retried", nil, false, []step{
			failed(engine.Outcome{Class: 77}, stop, 0, 500),
		}},
		{"own costs and capacity", []engine.Option{engine.WithQuota(engine.Quota{Capacity: 10, TransientCost: 7, ThrottlingCost: 10})}, false, []step{
			failed(transient, retry, 50*ms-near, 3), failed(throttling, engine.ReasonQuota, 0, 3),
		}},
		{"own schedule, zero fields by default", []engine.Option{engine.WithSchedule(fastbackoff.Schedule{Max: 60 * ms})}, false, []step{
			failed(transient, retry, 50*ms-near, 486), failed(throttling, retry, 60*ms-near, 481),
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			e := newEngine(t, row.opts...)
			c := e.Begin()
			if row.poll {
				c = e.BeginLongPoll()
			}
			for i, s := range row.steps {
				c.Admit()
				if s.success {
					c.Succeed()
				} else {
					assert.Equal(t, engine.Decision{Delay: s.delay, Reason: s.reason}, c.Fail(s.outcome), "step %d", i)
				}
				assert.Equal(t, s.quota, level(e), "quota after step %d", i)
			}
		})
	}
}

// A deadline is compared at the time that is passed, and takes no tokens.
func TestDeadline(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, row := range []struct {
		name   string
		left   time.Duration
		reason engine.Reason
		quota  int
	}{
		{"far", time.Hour, engine.ReasonRetry, 486},
		{"just after the delay", 50 * ms, engine.ReasonRetry, 486},
		{"at the end of the delay", 50*ms - near, engine.ReasonDeadline, 500},
		{"before it", 10 * ms, engine.ReasonDeadline, 500},
		{"now", 0, engine.ReasonDeadline, 500},
		{"past", -time.Hour, engine.ReasonDeadline, 500},
	} {
		e := newEngine(t)
		c := e.Begin()
		o := transient
		o.Deadline = now.Add(row.left)
		assert.Equal(t, row.reason, c.FailAt(now, o).Reason, row.name)
		assert.Equal(t, row.quota, level(e), row.name)
	}
	e := newEngine(t, engine.WithTokens(0))
	o := transient
	for left, delay := range map[time.Duration]time.Duration{10 * ms: 0, 50*ms - near: 0, 50 * ms: 50*ms - near} {
		c := e.BeginLongPoll()
		o.Deadline = now.Add(left)
		assert.Equal(t, engine.Decision{Delay: delay, Reason: engine.ReasonQuota}, c.FailAt(now, o), "a refused poll's wait must fit too: %v left", left)
	}
	c := e.Begin()
	o.Deadline = now.Add(-1)
	assert.Equal(t, engine.ReasonQuota, c.FailAt(now, o).Reason, "R2.1: the quota is asked before the backoff is known")
}

// R6.3: a retry that was granted and never sent gives its tokens back; one that
// was sent does not.
func TestAbandon(t *testing.T) {
	e := newEngine(t)
	c := e.Begin()
	c.Fail(transient)
	require.Equal(t, 486, level(e))
	c.Abandon()
	assert.Equal(t, 500, level(e), "never sent")
	c.Abandon()
	assert.Equal(t, 500, level(e))

	c = e.Begin()
	c.Fail(transient)
	c.Admit()
	c.Abandon()
	assert.Equal(t, 486, level(e), "sent")

	c = e.Begin()
	c.Fail(transient)
	c.Admit()
	c.Fail(throttling)
	require.Equal(t, 467, level(e))
	c.Abandon()
	assert.Equal(t, 472, level(e), "the second retry was never sent, the first was")

	c = e.Begin()
	c.Abandon()
	assert.Equal(t, 472, level(e), "a first attempt has nothing to give back")

	s := e.Stats()
	assert.EqualValues(t, 4, s.Stops[engine.ReasonCancelled])
	assert.EqualValues(t, 2, s.UnsentRetries)
}

// R6.3: each way to be admitted, in each mode that has a quota, makes a retry
// one that was sent.
func TestAbandonAfterEachAdmission(t *testing.T) {
	now := time.Unix(100, 0)
	for name, admit := range map[string]func(*engine.Call) time.Duration{
		"Admit":     (*engine.Call).Admit,
		"AdmitAt":   func(c *engine.Call) time.Duration { return c.AdmitAt(now) },
		"AdmitWait": func(c *engine.Call) time.Duration { return c.AdmitWait(t.Context()).Delay },
	} {
		for _, row := range []struct {
			mode      engine.Mode
			throttled bool // so that the limiter gives the leave
			inLine    bool // and has no token left, so that AdmitWait waits for it
		}{{mode: engine.Standard}, {mode: engine.Adaptive}, {engine.Adaptive, true, false}, {engine.Adaptive, true, true}} {
			if row.inLine && name != "AdmitWait" {
				continue
			}
			clock := &fakeClock{now: now.Add(-10 * time.Second)}
			e := newEngine(t, engine.WithMode(row.mode), engine.WithClock(clock))
			if row.throttled {
				c := e.Begin()
				c.Fail(throttling)
				c.Abandon()
			}
			clock.now = now // a token has come
			if row.inLine {
				c := e.Begin()
				require.Zero(t, c.Admit())
			}
			c := e.Begin()
			require.Equal(t, engine.ReasonRetry, c.Fail(transient).Reason)
			require.Zero(t, admit(&c))
			assert.Equal(t, row.inLine, len(clock.slept) > 0)
			c.Abandon()
			assert.Equal(t, 486, level(e), "%s, %+v", name, row)
			assert.Equal(t, 2, c.Attempts(), "%s, %+v", name, row)
		}
	}
}

// Whatever follows the end of a call is without effect (peer fault 25: a double
// release).
func TestEndedCallIsInert(t *testing.T) {
	for name, end := range map[string]func(*engine.Call){
		"success":  (*engine.Call).Succeed,
		"abandon":  (*engine.Call).Abandon,
		"failure":  func(c *engine.Call) { c.Fail(final) },
		"attempts": func(c *engine.Call) { c.Fail(transient); c.Fail(transient); c.Fail(transient) },
	} {
		for _, start := range []int{0, 100, 500} {
			e := newEngine(t, engine.WithTokens(start))
			c := e.Begin()
			end(&c)
			before := e.Stats()
			c.Succeed()
			c.Abandon()
			c.Admit()
			assert.Equal(t, engine.Decision{}, c.Fail(transient), name)
			assert.Equal(t, engine.Decision{}, c.FailWait(t.Context(), throttling), name)
			c.Succeed()
			assert.Equal(t, before, e.Stats(), "%s from %d tokens", name, start)
		}
	}
}

// The zero Call cannot retry and touches nothing.
func TestZeroCall(t *testing.T) {
	var c engine.Call
	assert.Zero(t, c.Fail(transient))
	assert.Zero(t, c.FailAt(time.Time{}, transient))
	assert.Zero(t, c.FailWait(t.Context(), transient))
	assert.Zero(t, c.Admit())
	c.Succeed()
	c.Abandon()
	assert.Zero(t, c.Attempts())
}

func TestBeginNeedsAnEngine(t *testing.T) {
	const want = "reprise/engine: a call needs an engine made by New; this *Engine is nil or zero"
	for _, e := range []*engine.Engine{nil, new(engine.Engine)} {
		assert.PanicsWithValue(t, want, func() { e.Begin() })
		assert.PanicsWithValue(t, want, func() { e.BeginLongPoll() })
		_, err := e.Derive()
		assert.Error(t, err)
	}
}

func TestLongPollingOperations(t *testing.T) { // R7
	for _, operation := range []string{"ReceiveMessage", "GetActivityTask", "PollForActivityTask", "PollForDecisionTask"} {
		assert.True(t, engine.LongPolling(operation), operation)
	}
	for _, operation := range []string{"", "SendMessage", "receivemessage", "GetItem"} {
		assert.False(t, engine.LongPolling(operation), operation)
	}
}

// Peer fault 11: nothing of one call's end reaches the next.
func TestPeerFault11CallsShareNoState(t *testing.T) {
	e := newEngine(t)
	c := e.Begin()
	for c.Fail(throttling).Reason == engine.ReasonRetry {
	}
	c = e.Begin()
	assert.Equal(t, 1, c.Attempts())
	assert.Equal(t, time.Second-near, c.Fail(throttling).Delay)
}

// Peer fault 10: the quota stops retries long before the attempts do.
func TestPeerFault10QuotaIsInstalled(t *testing.T) {
	e := newEngine(t, engine.WithMaxAttempts(10_000))
	c := e.Begin()
	retries := 0
	for c.Fail(transient).Reason == engine.ReasonRetry {
		retries++
	}
	assert.Equal(t, 35, retries, "floor(500/14)")
	assert.EqualValues(t, 1, e.Stats().Stops[engine.ReasonQuota])
}

// Peer fault 2: what a terminal answer to a retry costs is documented (R6.4).
func TestPeerFault2TerminalAnswersKeepTheCost(t *testing.T) {
	e := newEngine(t)
	for range 99 {
		c := e.Begin()
		require.Equal(t, engine.ReasonRetry, c.Fail(throttling).Reason)
		require.Equal(t, engine.ReasonNonRetryable, c.Fail(final).Reason)
	}
	assert.Equal(t, 500-99*5, level(e))
}

// Peer fault 41: a million consecutive failures, every delay in the cap region.
func TestPeerFault41DelaysStayAtTheCap(t *testing.T) {
	e := newEngine(t, engine.WithMaxAttempts(math.MaxInt32),
		engine.WithQuota(engine.Quota{Capacity: math.MaxInt32, TransientCost: 1}))
	c := e.Begin()
	for i := range 1_000_000 {
		d := c.Fail(transient)
		if d.Reason != engine.ReasonRetry || i >= 9 && d.Delay != 20*time.Second-near {
			t.Fatalf("retry %d: %+v", i, d)
		}
	}
}
