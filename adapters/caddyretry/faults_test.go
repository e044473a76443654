package caddyretry_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/caddyretry"
	"github.com/reprise-go/reprise/engine"
)

// Faults that other retry libraries shipped around HTTP (H), observability (O) and
// contexts and deadlines (X), by their number in the list of peer faults, and what
// holds the right value at this door:
//
//	4, 88, 91, 95   TestDoorsAgree, from the tokens on
//	92              TestDoorsAgree; TestFault92CausesInTheLog
//	7               TestFault7RefusalInTheLog
//	8               TestTheUpstreamsAnswerComesThrough, TestThrottledHere
//	17, 128         TestReport
//	22              TestFault22HedgeWithoutTokens
//	56, 59          nothing is added above the engine's waits: its own tests
//	61              TestFault61ThrottlesReachTheLimiter
//	67, 74          TestDoorsAgree
//	89, 94          TestFault94ClientThatLeft, TestStatusWithoutAnAnswer
//	97              TestFault97TheCallsTimeHolds
//	98              TestLimited: from the start, and to the headers
//	100, 101        TestFault94ClientThatLeft
//	115, 122, 133   TestBodies: the reason is in the log and in the metrics
//	116             TestFault116OneConnection
//	118             TestNothingIsSentUnpaid
//	119             TestHedge
//	121             TestOneSendForASuccess, TestDoorsAgree
//	127             TestFault127HooksThatPanic
//	130             TestDoorsAgree
//
// 112 and 113 are about servers' delays: TestDoorsAgree has what HTTP has of them.

// 7: the refusal shows the failure and the quota.
func TestFault7RefusalInTheLog(t *testing.T) {
	fast(t, engine.WithTokens(13))
	s := serve(t, proxy(serveWire(t, reset).addr, ""))
	assert.Equal(t, 502, s.get("/").status)
	line := s.logged(`"http.log.error"`)[0]
	assert.Contains(t, line, "connection reset by peer")
	assert.Contains(t, line, "13 of 500 are left")
}

// 22: without tokens there is no hedge, and the attempt under way goes on.
func TestFault22HedgeWithoutTokens(t *testing.T) {
	fast(t, engine.WithTokens(0))
	release := make(chan struct{})
	w := serveWire(t, func(n int, conn net.Conn, req *http.Request) bool {
		<-release
		return say(200, "hello")(n, conn, req)
	})
	s := serve(t, proxy(w.addr, "hedge 1ms"))
	done := make(chan reply, 1)
	go func() { done <- s.get("/") }()
	require.Eventually(t, func() bool { return w.hits() == 1 }, 5*time.Second, ms)
	close(release)
	assert.Equal(t, "hello", (<-done).body)
	assert.Equal(t, 1, w.hits())
}

// 61: one throttle turns adaptive mode's limiter on.
func TestFault61ThrottlesReachTheLimiter(t *testing.T) {
	fast(t)
	w := serveWire(t, inTurn(say(429, ""), say(200, "")))
	s := serve(t, proxy(w.addr, "mode adaptive"))
	s.get("/")
	assert.True(t, engineOf(t, w.addr).Stats().Limiter.Enabled)
}

// 92: the log has what failed and why nobody waited any longer.
func TestFault92CausesInTheLog(t *testing.T) {
	caddyretry.SetEngineOptions(t)
	s := serve(t, proxy(serveWire(t, reset).addr, "timeout 300ms\nbackoff {\n transient 1h\n max 1h\n}"))
	assert.Equal(t, 502, s.get("/").status, "it was reset, and nothing was late")
	line := s.logged(`"http.log.error"`)[0]
	assert.Contains(t, line, "connection reset by peer")
	assert.Contains(t, line, "no time for a retry before the deadline")
	s.logged(`"retry_reason":"deadline"`)
}

// 94, 100, 101: a client that leaves ends the call, the attempt and the delay, and
// nothing more is sent.
func TestFault94ClientThatLeft(t *testing.T) {
	for name, answer := range map[string]script{"in an attempt": silence, "in a delay": say(503, "")} {
		t.Run(name, func(t *testing.T) {
			caddyretry.SetEngineOptions(t)
			arrived := make(chan struct{})
			w := serveWire(t, func(n int, conn net.Conn, req *http.Request) bool { close(arrived); return answer(n, conn, req) })
			s := serve(t, proxy(w.addr, "timeout 1h\nbackoff {\n transient 1h\n max 1h\n}"))
			ctx, leave := context.WithCancel(t.Context())
			req, err := http.NewRequestWithContext(ctx, "GET", s.url("/"), nil)
			require.NoError(t, err)
			go func() {
				<-arrived
				leave()
			}()
			_, err = client(t).Do(req)
			require.Error(t, err)
			line := s.logged("handled request")[0]
			assert.Contains(t, line, `"status":499`)
			assert.Contains(t, line, `"retry_reason":"cancelled"`)
			assert.Equal(t, 1, w.hits())
			assert.Equal(t, 500, engineOf(t, w.addr).Stats().QuotaLevel, "R6.3")
		})
	}
}

// 97: the call's time holds, however many attempts there are.
func TestFault97TheCallsTimeHolds(t *testing.T) {
	caddyretry.SetEngineOptions(t)
	w := serveWire(t, silence)
	s := serve(t, proxy(w.addr, "max_attempts 1000000\nattempt_timeout 10ms\ntimeout 300ms\nbackoff {\n transient 1ms\n max 1ms\n}"))
	assert.Equal(t, 504, s.get("/").status)
	assert.Less(t, w.hits(), 36, "35 retries are paid for, and 300 ms are 30 attempts")
}

// 116: failed answers are read and closed, so that one connection does.
func TestFault116OneConnection(t *testing.T) {
	fast(t)
	w := serveWire(t, inTurn(say(503, "busy"), say(503, "busy"), say(200, "hello")))
	s := serve(t, proxy(w.addr, "max_conns_per_host 1"))
	assert.Equal(t, "hello", s.get("/").body)
	assert.Equal(t, 3, w.hits())
}

// 127: a hook that panics fails no request.
func TestFault127HooksThatPanic(t *testing.T) {
	fast(t, engine.WithObserver(engine.Observer{
		Retry: func(engine.RetryEvent) { panic("odd") }, Success: func(engine.SuccessEvent) { panic(errors.New("odd")) },
	}))
	w := serveWire(t, inTurn(say(503, ""), say(200, "hello")))
	s := serve(t, proxy(w.addr, ""))
	assert.Equal(t, "hello", s.get("/").body)
	assert.Equal(t, uint64(2), engineOf(t, w.addr).Stats().HookPanics)
}
