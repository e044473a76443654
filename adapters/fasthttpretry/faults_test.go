package fasthttpretry_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/reprise-go/reprise/adapters/fasthttpretry"
	"github.com/reprise-go/reprise/engine"
)

// Faults that other retry libraries shipped around HTTP (H), amplification (A) and
// server-directed delays (S), by their number in the list of peer faults, and what
// holds the right value here:
//
//	5, 7, 22       below
//	64             below
//	67, 74, 88     TestDoorsAgree, odd replies too; 88 also TestHintBeyondTheDeadline
//	106, 107, 110  TestDoorsAgree
//	109            TestHintIsAFloor
//	112            TestDoorsAgree: 429, 500 and 503 count, 413 and below 400 do not
//	115            TestNotReplayable, TestStreamedBody
//	116            TestOneConnection
//	118            TestNothingIsSentBeneath, TestDeadConnections
//	121            TestNothingIsSentBeneath, TestInterimAnswers
//	122            TestBigBodies: there is no limit up to which a body is kept
//	130            TestDoorsAgree
//	133            TestProxyAnswers, TestProxyStreams
//
// 113 is about gRPC's metadata, which no HTTP answer has. 119 and the half of 22
// about work in flight are about hedges, which this door does not send; that the
// body of a returned answer can be read to its end is in TestOneConnection.

// 5: with pacing, a caller that loops while everything fails is held to the
// backoff even when the quota is empty.
func TestFault5PacedWhenTheQuotaIsEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, engine.WithTokens(0), engine.WithPacing())
		d := statuses(503)
		c := newClient(t, e, d)
		start := time.Now()
		for time.Since(start) < time.Second {
			req, resp := get(t, "http://service.test/")
			require.NoError(t, c.Do(req, resp))
		}
		assert.Len(t, d.sent, 21, "one in 50 ms")
	})
}

// 7: who gets the quota's refusal sees the failure and the quota.
func TestFault7RefusalShowsBoth(t *testing.T) {
	req, resp := get(t, "http://service.test/")
	err := newClient(t, quick(t, engine.WithTokens(13)), failing(fasthttp.ErrConnectionClosed)).Do(req, resp)
	require.ErrorIs(t, err, fasthttp.ErrConnectionClosed)
	require.ErrorIs(t, err, engine.ErrQuota)
	var e *engine.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, []int{13, 14, 500}, []int{e.QuotaLeft, e.QuotaCost, e.QuotaCapacity})
}

// 22: an empty quota ends the call before the delay, however long the server
// asked for, and the answer is there.
func TestFault22NoSleepForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := statuses(503)
		status := d.answer
		d.answer = func(n int, resp *fasthttp.Response) error {
			resp.Header.Set("x-amz-retry-after", "3600000")
			return status(n, resp)
		}
		start := time.Now()
		req, resp := get(t, "http://service.test/")
		r, err := newClient(t, newEngine(t, engine.WithTokens(0)), d).DoContext(t.Context(), req, resp)
		require.NoError(t, err)
		assert.Zero(t, time.Since(start))
		assert.Equal(t, engine.ReasonQuota, r.Reason)
		assert.Equal(t, 503, resp.StatusCode())
	})
}

// 127: a hook that panics fails no call. 128: attempts are counted once.
func TestFault127And128Observer(t *testing.T) {
	var ev events
	d := statuses(500, 200)
	e := quick(t, engine.WithObserver(engine.Observer{Retry: func(engine.RetryEvent) { panic("hook") }}))
	req, resp := get(t, "http://service.test/")
	require.NoError(t, newClient(t, e, d).Do(req, resp))
	assert.Equal(t, uint64(1), e.Stats().HookPanics)
	for range 3 {
		require.NoError(t, newClient(t, quick(t, ev.observer()), statuses(500, 200)).Do(req, resp))
	}
	assert.Len(t, ev.retries, 3)
	assert.Len(t, ev.success, 3)
	assert.Equal(t, 2, ev.success[0].Attempts)
}

// 64: this client's own limits are no samples for the limiter (R8.3): of the
// server they say nothing. A connection that it ended is one.
func TestFault64LocalRefusalsAreNoSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for err, sample := range map[error]bool{
			fasthttp.ErrNoFreeConns: false, fasthttp.ErrPipelineOverflow: false, fasthttp.ErrNoAvailableClients: false,
			fmt.Errorf("ask: %w", fasthttp.ErrNoFreeConns): false,
			fasthttp.ErrConnectionClosed:                   true, fasthttp.ErrDialTimeout: true,
		} {
			e := newEngine(t, engine.WithMode(engine.Adaptive), engine.WithMaxAttempts(1))
			c := newClient(t, e, failing(err))
			for range 5 {
				req, resp := get(t, "http://service.test/")
				require.ErrorIs(t, c.Do(req, resp), err)
				<-time.After(time.Second)
			}
			assert.Equal(t, sample, e.Stats().Limiter.MeasuredRate > 0, "%v", err)
		}
	})
}

// A panic of the client beneath goes on, and the request is as it was.
func TestPanicBeneath(t *testing.T) {
	e := quick(t)
	d := &doer{answer: func(int, *fasthttp.Response) error { panic("beneath") }}
	req, resp := get(t, "http://service.test/")
	assert.PanicsWithValue(t, "beneath", func() {
		_ = newClient(t, e, d, fasthttpretry.WithAWSHeaders(), fasthttpretry.WithAttemptTimeout(time.Second)).Do(req, resp)
	})
	assert.Zero(t, req.GetTimeOut())
	assert.Empty(t, req.Header.Peek("Amz-Sdk-Request"))
	assert.Equal(t, 500, level(e))
}
