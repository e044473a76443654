package httpretry_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// Faults that other retry libraries shipped around HTTP (H), amplification (A) and
// server-directed delays (S), by their number in the list of peer faults, and what
// holds the right value here:
//
//	5              TestPeerFault5AnEmptyQuotaDoesNotSpeedCallersUp
//	22             below; of hedges, TestHedge
//	67             TestMethods, TestResetOverTCP, TestRefusedOverTCP
//	73             TestRefusedStreams, TestGoAwayOverTCP, TestShutdownOverTLS
//	74             TestSameClassThroughDo; a success's body is the caller's to
//	               read, so one that is cut is TestCutSuccess
//	88             TestHintBeyondTheDeadline
//	106, 107       below, TestHints
//	109            TestHintIsAFloor
//	110            below, TestHints
//	112            TestHints
//	115            TestMethods, TestGetBodyFails
//	116            TestConnectionReuse, TestDiscardIsBounded; the last body is open
//	               in TestLastAnswer
//	118            TestDeadConnection, TestNoResend, TestRefusedStreams,
//	               TestLayersDoNotMultiply
//	119            TestSocketHedge, TestAttemptTimeoutLeavesTheBody
//	121            TestHits, TestSocketEarlyHints, TestSocketSlow
//	122            TestBodyLimit, TestSocketBodyLimit
//	130            TestSameClassThroughDo
//	133            TestGateway
//
// 113 is about gRPC's metadata, which no HTTP answer has.

// 22: an empty quota ends the call before the delay, however long the server asked
// for, and the answer is there.
func TestFault22NoSleepForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := answers(func(int) *http.Response { return response(503, "busy", "X-Amz-Retry-After", "3600000") })
		start := time.Now()
		resp, err := newTransport(t, newEngine(t, engine.WithTokens(0)), httpretry.WithBase(b)).RoundTrip(get(t, t.Context()))
		require.NoError(t, err)
		assert.Zero(t, time.Since(start))
		r, ok := httpretry.ResultOf(resp)
		require.True(t, ok)
		assert.Equal(t, engine.ReasonQuota, r.Reason)
		assert.Equal(t, "busy", readAll(t, resp))
		assert.Len(t, b.sent, 1)
	})
}

// 106 and 107: what is no delay is none, what is too large is the largest that
// there is (R5), and none of them is below the backoff.
func TestFaults106And107OddValues(t *testing.T) {
	const t0 = 50*ms - near
	const most = t0 + 5*time.Second
	for _, row := range []struct {
		value           string
		amz, retryAfter time.Duration
	}{
		{"-1", t0, t0}, {"0", t0, t0}, {"1.5", t0, t0}, {"", t0, t0}, {"soon", t0, t0},
		{" 3", t0, 3 * time.Second},
		{strings.Repeat("9", 400), most, most},
		{"9223372036854775807", most, most}, // MaxInt64
		{"9223372036855", most, most},       // MaxInt64/1e6 + 1
		{"9223372037", most, most},          // MaxInt64/1e9 + 1
		{"-9223372036854775808", t0, t0},
		{"Fri, 31 Dec 1999 23:59:59 GMT", t0, t0}, {"Sat, 01 Jan 2000 00:00:02 GMT", t0, 2 * time.Second},
	} {
		for name, want := range map[string]time.Duration{"X-Amz-Retry-After": row.amz, "Retry-After": row.retryAfter} {
			synctest.Test(t, func(t *testing.T) {
				assert.Equal(t, want, delayAfter(t, newEngine(t), name, row.value), "%s: %q", name, row.value)
			})
		}
	}
}

// 110: the bound is on what the server asks for, whatever the jitter.
func TestFault110BoundBeforeJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, engine.WithSource(new(fastbackoff.Shards)))
		for range 1000 {
			d := delayAfter(t, e, "Retry-After", "126230400")
			require.GreaterOrEqual(t, d, 5*time.Second)
			require.Less(t, d, 5*time.Second+50*ms)
		}
	})
}

// delayAfter returns how long a call waits for its retry after a 503 with a header.
func delayAfter(t *testing.T, e *engine.Engine, name, value string) time.Duration {
	b := answers(func(n int) *http.Response {
		if n == 1 {
			return response(503, "", name, value)
		}
		return response(200, "")
	})
	_, err := newTransport(t, e, httpretry.WithBase(b), httpretry.WithStandardRetryAfter()).RoundTrip(get(t, t.Context()))
	require.NoError(t, err)
	require.Len(t, b.sent, 2)
	return b.sent[1].at.Sub(b.sent[0].at)
}
