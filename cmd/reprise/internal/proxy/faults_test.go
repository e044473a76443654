package proxy_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/cmd/reprise/internal/proxyconf"
	"github.com/reprise-go/reprise/engine"
)

// Faults that other retry libraries shipped around HTTP (H), amplification (A) and
// server-directed delays (S), by their number in the list of peer faults, and what
// holds the right value here:
//
//	5              TestOutage: an upstream that is down gets hardly more than is offered
//	22             below
//	67             TestPOST
//	74             TestHalfSentAnswer: it is cut for the client too
//	88             below
//	106, 107, 110  below
//	109            below
//	112            below
//	115            TestPOST, TestBodyLimit
//	116            below
//	118            TestDeadConnectionsArePaidFor, TestStaleConnectionsAreReplaced
//	119            below
//	121            below, TestStreaming
//	122            TestBodyLimit
//	133            TestPOST, TestAnswersPassThrough
//
// 113 is about gRPC's metadata, which no HTTP answer has.

// 22: what the quota refuses is the hedge alone, and without tokens nobody waits
// for the delay that the server asked for.
func TestFault22NothingIsLostToTheQuota(t *testing.T) {
	var hits atomic.Int32
	p := start(t, one(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		switch r.URL.Path {
		case "/slow":
			<-time.After(100 * time.Millisecond)
			_, _ = io.WriteString(w, "slow")
			return
		case "/hour":
			w.Header().Set("X-Amz-Retry-After", "3600000")
		}
		w.WriteHeader(503)
	})), settings(func(s *proxyconf.Settings) {
		s.Hedge, s.MaxAttempts, s.Timeout = 20*time.Millisecond, 2, 0
		s.Quota = engine.Quota{Capacity: 14}
	}))
	do(t, "GET", p.url, "")
	require.Zero(t, p.state(t).Quota.Level)
	hits.Store(0)
	resp, _ := do(t, "GET", p.url+"/hour", "")
	assert.Equal(t, 503, resp.StatusCode)
	assert.Equal(t, "quota", p.log.request(t, "/hour")["reason"])
	resp, text := do(t, "GET", p.url+"/slow", "")
	assert.Equal(t, 200, resp.StatusCode)
	assert.Equal(t, "slow", text)
	assert.EqualValues(t, 2, hits.Load())
}

// 88, 106, 107, 110: what is no delay is none; one that does not end in time is not
// begun, and the client learns what the upstream asked for. 109: a delay is not
// cut short. 112: it makes nothing retryable.
func TestFaults88To112Delays(t *testing.T) {
	const none, late = 0, -1
	for _, row := range []struct {
		status int
		value  string
		delay  time.Duration
	}{
		{503, "-1", none}, {503, "0", none}, {503, "1.5", none}, {503, "", none}, {503, "soon", none},
		{503, "Fri, 31 Dec 1999 23:59:59 GMT", none}, {503, "1", time.Second}, {500, "1", time.Second},
		{503, "86400", late}, {503, "126230400", late}, {503, "9223372036854775807", late}, {503, "9223372037", late}, {503, strings.Repeat("9", 400), late},
		{301, "1", late}, {404, "1", late}, {413, "1", late},
	} {
		var hits atomic.Int32
		p := start(t, one(t, upstream(t, func(w http.ResponseWriter, _ *http.Request) {
			if hits.Add(1) == 1 {
				w.Header().Set("Retry-After", row.value)
				w.WriteHeader(row.status)
			}
		})), settings(func(s *proxyconf.Settings) { s.StandardRetryAfter, s.Timeout = true, 5*time.Second }))
		began := time.Now()
		resp, _ := do(t, "GET", p.url, "")
		if row.delay == late {
			assert.Equal(t, row.status, resp.StatusCode, "%+v", row)
			assert.Equal(t, []string{row.value}, resp.Header.Values("Retry-After"))
			assert.EqualValues(t, 1, hits.Load(), "%+v", row)
			assert.Equal(t, 500, p.state(t).Quota.Level)
			continue
		}
		assert.Equal(t, 200, resp.StatusCode, "%+v", row)
		assert.EqualValues(t, 2, hits.Load())
		assert.GreaterOrEqual(t, time.Since(began), row.delay)
	}
}

// 116: failed answers are drained and closed, so one connection does for all.
func TestFault116OneConnection(t *testing.T) {
	var mu sync.Mutex
	from := make(map[string]int)
	p := start(t, one(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		from[r.RemoteAddr]++
		failed := from[r.RemoteAddr]%3 != 0
		mu.Unlock()
		if failed {
			w.WriteHeader(503)
		}
		_, _ = io.WriteString(w, strings.Repeat("x", 10_000))
	})))
	for range 3 {
		resp, text := do(t, "GET", p.url, "")
		assert.Equal(t, 200, resp.StatusCode)
		assert.Len(t, text, 10_000)
	}
	mu.Lock()
	defer mu.Unlock()
	assert.Len(t, from, 1)
}

// 121: a success is one hit, also after interim answers and after a while.
func TestFault121OneHit(t *testing.T) {
	var hits atomic.Int32
	p := start(t, one(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		switch r.URL.Path {
		case "/early":
			w.WriteHeader(http.StatusProcessing)
			w.WriteHeader(http.StatusEarlyHints)
		case "/slow":
			<-time.After(200 * time.Millisecond)
		}
	})))
	for _, path := range []string{"/", "/early", "/slow"} {
		resp, _ := do(t, "GET", p.url+path, "")
		assert.Equal(t, 200, resp.StatusCode)
		assert.EqualValues(t, 1, hits.Swap(0), path)
	}
}

// 119: the answer of a hedge that wins arrives to its end, however long after it.
func TestFault119TheWinnersBody(t *testing.T) {
	const size = 512 << 10
	slow := upstream(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	quick := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", size/2))
		_ = http.NewResponseController(w).Flush()
		<-time.After(100 * time.Millisecond)
		_, _ = io.WriteString(w, strings.Repeat("x", size/2))
	})
	p := start(t, one(t, slow, quick), settings(func(s *proxyconf.Settings) { s.Hedge = 20 * time.Millisecond }))
	resp, text := do(t, "GET", p.url, "")
	assert.Equal(t, 200, resp.StatusCode)
	assert.Len(t, text, size)
	assert.Equal(t, 1, p.state(t).Retries.Hedges)
}
