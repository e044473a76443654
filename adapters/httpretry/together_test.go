package httpretry_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// hurried is a clock a thousand times as quick as the system's.
type hurried struct{ start time.Time }

func (h hurried) Now() time.Time { return h.start.Add(1000 * time.Since(h.start)) }

func (h hurried) Sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d / 1000)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-wake:
	}
}

// moody is an upstream that answers, refuses, fails and dawdles, as a seed says.
type moody struct {
	seed     uint64
	arrivals sync.Map // *atomic.Int32 by Id
	sent     atomic.Uint64
	open     sync.WaitGroup // connections
}

func (m *moody) watch(_ net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		m.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		m.open.Done()
	}
}

func (m *moody) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("Id")
	count, _ := m.arrivals.LoadOrStore(id, new(atomic.Int32))
	count.(*atomic.Int32).Inc()
	rng := rand.New(rand.NewPCG(m.seed, m.sent.Inc()))
	_, _ = io.Copy(io.Discard, r.Body)
	pause := func(d time.Duration) {
		select {
		case <-time.After(d):
		case <-r.Context().Done():
		}
	}
	w.Header().Set("Attempt", r.Header.Get("Amz-Sdk-Request"))
	w.Header().Set("Content-Type", "application/json")
	text := strings.Repeat(id+" ", []int{1, 100, 20_000}[rng.IntN(3)])
	w.Header().Set("Size", strconv.Itoa(len(text)))
	switch rng.IntN(10) {
	case 0: // no answer
		<-r.Context().Done()
		return
	case 1:
		cutOff(w, rng.IntN(2) == 0)
		return
	case 2: // with the code at its end
		w.WriteHeader(503)
		_, _ = io.WriteString(w, `{"message":"`+text+`","code":"Busy"}`)
		return
	case 3:
		w.WriteHeader(400)
		_, _ = io.WriteString(w, `{"code":"ThrottlingException","message":"`+text+`"}`)
		return
	case 4: // an answer that is late, if not too late
		pause(time.Duration(rng.IntN(12)) * ms)
	case 5: // one that is cut
		w.Header().Set("Cut", "1")
		w.Header().Set("Content-Length", strconv.Itoa(len(text)+1))
	case 6: // one that takes longer than any attempt may
		_, _ = io.WriteString(w, text[:len(text)/2])
		w.(http.Flusher).Flush()
		pause(30 * ms)
		_, _ = io.WriteString(w, text[len(text)/2:])
		return
	case 7:
		w.WriteHeader(404)
	}
	_, _ = io.WriteString(w, text)
}

// All options together, on sockets, against upstreams that fail in every way, for
// callers who leave at any moment, read half and close, or read to the end: what is
// not idempotent arrives once, what is no more often than it has attempts; the body
// of an answer is whole, however long it takes; each upstream's quota has what R6
// leaves it, to the token; and when all is over there are no connections and no
// goroutines.
func TestEverythingTogether(t *testing.T) {
	const tokens, cost, attempts, workers = 1 << 20, 14, 4, 8
	calls := 2000
	if testing.Short() {
		calls = 600
	}
	before := runtime.NumGoroutine()
	inner := &http.Transport{MaxIdleConnsPerHost: 3}
	template := newEngine(t, engine.WithMode(engine.Adaptive), engine.WithClock(hurried{time.Now()}), engine.WithMaxAttempts(attempts),
		engine.WithQuota(engine.Quota{Capacity: 2 * tokens, TransientCost: cost, ThrottlingCost: cost}), engine.WithTokens(tokens))
	group, err := engine.NewGroup[string](template, 8)
	require.NoError(t, err)
	transport := newTransport(t, newEngine(t, engine.WithMaxAttempts(1)), httpretry.WithBase(httpretry.NoResend(inner)), httpretry.WithEngineByHost(group),
		httpretry.WithHedge(2*ms), httpretry.WithAttemptTimeout(10*ms, 20*ms), httpretry.WithRetryMark(), httpretry.WithAWSHeaders())

	var upstreams []*moody
	var servers []*httptest.Server
	var earned []*atomic.Int64 // tokens of successes, by upstream
	for i := range 3 {
		m := &moody{seed: uint64(i)}
		server := httptest.NewUnstartedServer(m)
		server.Config.ConnState = m.watch
		server.Start()
		upstreams, servers, earned = append(upstreams, m), append(servers, server), append(earned, new(atomic.Int64))
	}

	var whole atomic.Int32
	send := func(n int, rng *rand.Rand) {
		method := []string{"GET", "PUT", "POST"}[rng.IntN(3)]
		var body io.Reader
		if text := strings.Repeat("x", []int{10, 70_000}[rng.IntN(2)]); method != "GET" && rng.IntN(2) == 0 {
			body = strings.NewReader(text)
		} else if method != "GET" {
			body = opaque(text)
		}
		ctx := t.Context() // ends after all checks: that must not be what tidies up
		if rng.IntN(2) == 0 {
			var cancel context.CancelCauseFunc
			ctx, cancel = context.WithCancelCause(ctx)
			timer := time.AfterFunc(time.Duration(rng.IntN(30_000))*time.Microsecond, func() { cancel(errShutdown) })
			defer timer.Stop()
		}
		to := rng.IntN(len(servers))
		req, err := http.NewRequestWithContext(ctx, method, servers[to].URL, body)
		if !assert.NoError(t, err) {
			return
		}
		id := fmt.Sprint(method, n)
		req.Header.Set("Id", id)
		resp, err := transport.RoundTrip(req)
		if err != nil {
			return
		}
		defer func() { assert.NoError(t, resp.Body.Close()) }()
		_, marked := httpretry.RetryMarked(resp.Request.Context())
		assert.False(t, marked)
		assert.Empty(t, resp.Request.Header.Get(httpretry.RetryMarkHeader))
		if resp.StatusCode < 400 {
			if strings.HasPrefix(resp.Header.Get("Attempt"), "attempt=1;") {
				earned[to].Inc()
			} else {
				earned[to].Add(cost)
			}
		}
		if rng.IntN(3) == 0 {
			_, _ = io.CopyN(io.Discard, resp.Body, int64(rng.IntN(100)))
			return
		}
		text, err := io.ReadAll(resp.Body)
		switch {
		case err == nil && resp.StatusCode < 500 && resp.StatusCode != 400:
			assert.Equal(t, resp.Header.Get("Size"), strconv.Itoa(len(text)))
			assert.Empty(t, strings.ReplaceAll(string(text), id+" ", ""))
			whole.Inc()
		case err == nil:
			assert.Contains(t, string(text[max(0, len(text)-20):]), "}", "the failure's own end")
		case resp.Header.Get("Cut") != "":
			// as it was sent
		default:
			assert.Error(t, ctx.Err(), "%v in an answer to %s, %s", err, id, resp.Header.Get("Attempt"))
		}
	}
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(worker), 11))
			for n := worker; n < calls; n += workers {
				send(n, rng)
			}
		})
	}
	wg.Wait()

	var hedges, retries uint64
	for i, server := range servers {
		s := group.For(strings.TrimPrefix(server.URL, "http://")).Stats()
		paid := int(s.TransientRetries+s.ThrottlingRetries+s.Hedges-s.UnsentRetries) * cost
		assert.Equal(t, tokens-paid+int(earned[i].Load()), s.QuotaLevel, "upstream %d: %+v", i, s)
		hedges += s.Hedges
		retries += s.TransientRetries + s.ThrottlingRetries
	}
	assert.Equal(t, 3, group.Len())
	transport.CloseIdleConnections()
	for i, server := range servers {
		upstreams[i].open.Wait() // before Close, which would end them
		server.Close()
		upstreams[i].arrivals.Range(func(id, count any) bool {
			most := int32(attempts)
			if strings.HasPrefix(id.(string), "POST") {
				most = 1
			}
			return assert.LessOrEqual(t, count.(*atomic.Int32).Load(), most, id)
		})
	}
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), before)
	assert.NotZero(t, hedges)
	assert.NotZero(t, retries)
	assert.NotZero(t, whole.Load())
}
