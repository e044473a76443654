package upstreams_test

import (
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"
	"go.uber.org/goleak"

	"github.com/reprise-go/reprise/engine"
)

// outage is a load on an upstream that fails fully for a while.
type outage struct {
	rate          int // calls a second, whatever becomes of them
	before, fault time.Duration
	after         time.Duration
}

// outages are the ways of failing. An upstream that hangs up gets half the load:
// each of its failures costs the caller a connection.
var outages = map[string]int{"503": 1000, "reject": 500}

// size is that of the tests below: short enough with -short, and still with more
// calls in the outage than ten times the retries that a full quota pays for.
func size(rate int) outage {
	if testing.Short() {
		return outage{rate: 500, before: 300 * time.Millisecond, fault: 2 * time.Second, after: 1300 * time.Millisecond}
	}
	return outage{rate: rate, before: 500 * time.Millisecond, fault: 5 * time.Second, after: 1500 * time.Millisecond}
}

// made is a call of the load.
type made struct {
	id         string
	begun, end time.Time
	status     int // 0: no answer
}

// enough is how many calls see the outage at least: on a machine that is slow today it
// lasts longer.
func (o outage) enough() int {
	return int(o.fault.Seconds()*float64(o.rate)) / 2
}

// run offers the load, an open loop: a call begins when it is due. Every tenth
// is a POST. It returns the calls and the instant from which the upstream lives
// again.
func (o outage) run(t *testing.T, s *server, send sender, mode string) (all []made, recovered time.Time) {
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	var callers sync.WaitGroup
	var mu sync.Mutex
	begin, failing, sent := time.Now(), false, 0
	var failed atomic.Int64
	for now := range ticker.C {
		elapsed := now.Sub(begin)
		if !recovered.IsZero() && now.Sub(recovered) >= o.after {
			break
		}
		if !failing && recovered.IsZero() && elapsed >= o.before {
			s.set(t, mode)
			failing = true
		}
		if failing && elapsed >= o.before+o.fault && failed.Load() >= int64(o.enough()) {
			s.set(t, "live")
			failing, recovered = false, time.Now()
		}
		for due := int(elapsed.Seconds() * float64(o.rate)); sent < due; sent++ {
			a := ask{url: s.url, call: fmt.Sprint(sent)}
			if sent%10 == 0 {
				a.method, a.body, a.call = http.MethodPost, "order", a.call+"-once"
			}
			callers.Go(func() {
				one := made{id: a.call, begun: time.Now()}
				one.status = send(t.Context(), a).status
				one.end = time.Now()
				if one.status != http.StatusOK {
					failed.Inc()
				}
				mu.Lock()
				all = append(all, one)
				mu.Unlock()
			})
		}
	}
	callers.Wait()
	return all, recovered
}

// failures returns how many requests the upstream failed, and of how many calls.
func failures(seen []line) (requests, calls int) {
	ids := make(map[string]bool)
	for _, one := range seen {
		if one.status != http.StatusOK {
			requests++
			ids[one.call] = true
		}
	}
	return requests, len(ids)
}

// The upstream fails fully and comes back, under a load that does not wait for
// it, through each door: by an answer, and by hanging up. Its load stays below
// 1.1 of what is offered, no POST arrives twice, and within a second of its
// recovery every call succeeds. Afterwards nothing is left of it.
func TestOutage(t *testing.T) {
	for mode, rate := range outages {
		t.Run(mode, func(t *testing.T) {
			standing := goleak.IgnoreCurrent()
			before := heap()
			t.Run("doors", func(t *testing.T) {
				for _, d := range steady {
					t.Run(d.name, func(t *testing.T) {
						t.Parallel()
						e, err := engine.New()
						require.NoError(t, err)
						o := size(rate)
						s := haproxy(t, moody)
						further := o.hold(t, s, d.open(t, e, 0), mode)
						assert.LessOrEqual(t, further, int(e.Stats().TransientRetries), "requests beyond a call's first that were not granted")
						assert.GreaterOrEqual(t, e.Stats().QuotaLevel, 300, "R6: successes fill it again")
					})
				}
				t.Run("proxy", func(t *testing.T) {
					t.Parallel()
					o := size(rate)
					s := haproxy(t, moody)
					g := inFront(t, s.url, "--mode=standard")
					require.Equal(t, http.StatusOK, g.send(t.Context(), ask{url: s.url}).status)
					goroutines := g.metric(t, "go_goroutines")
					o.hold(t, s, g.send, mode)
					assert.GreaterOrEqual(t, g.account(t).Quota.Level, 300)
					g.forget()
					assert.Eventually(t, func() bool { return g.metric(t, "go_goroutines") <= goroutines },
						10*time.Second, 20*time.Millisecond, "goroutines of the proxy: there were %v", goroutines)
					assert.Less(t, g.metric(t, "go_memstats_heap_inuse_bytes"), 64e6)
					t.Logf("the proxy's memory: %.0f MB", g.metric(t, "process_resident_memory_bytes")/1e6)
				})
			})
			assert.Less(t, heap(), before+16<<20, "bytes of the heap, before and after")
			goleak.VerifyNone(t, standing,
				// fasthttp's own janitors, which end some seconds after their last connection.
				goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*Client).mCleaner"),
				goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*HostClient).connsCleaner"),
				goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*TCPDialer).tcpAddrsClean"))
		})
	}
}

// hold runs the outage and holds what came of it to the bounds. It returns how many
// more requests than calls the upstream failed.
func (o outage) hold(t *testing.T, s *server, send sender, mode string) (further int) {
	calls, recovered := o.run(t, s, send, mode)
	seen := s.requests(t)
	failed, of := failures(seen)
	t.Logf("%d calls, the upstream failed %d requests of %d", len(calls), failed, of)
	assert.GreaterOrEqual(t, of, o.enough(), "the load did not wait")
	assert.Less(t, float64(failed), 1.1*float64(of), "requests at the upstream through the outage, of the offered load")
	assertOnce(t, times(seen))

	first := time.Duration(-1)
	for _, one := range calls {
		if one.status == http.StatusOK && one.end.After(recovered) {
			if since := one.end.Sub(recovered); first < 0 || since < first {
				first = since
			}
		}
		if one.begun.After(recovered.Add(time.Second)) {
			assert.Equal(t, http.StatusOK, one.status, "call %s, a second after the recovery", one.id)
		}
	}
	assert.NotEqual(t, time.Duration(-1), first)
	assert.Less(t, first, time.Second, "the first success after the recovery")
	return failed - of
}

// What the quota is for: three attempts for everybody triple the load of an
// upstream that is down already.
func TestOutageWithoutQuota(t *testing.T) {
	e, err := engine.New(engine.WithQuota(engine.Quota{Capacity: 1 << 24}))
	require.NoError(t, err)
	s := haproxy(t, moody)
	s.set(t, "503")
	send := openSteady(t, e, 0)
	var callers sync.WaitGroup
	for range 200 {
		callers.Go(func() { send(t.Context(), ask{url: s.url}) })
	}
	callers.Wait()
	failed, of := failures(s.requests(t))
	assert.Equal(t, 200, of)
	assert.Equal(t, 600, failed)
}

// heap is the heap in use once what is garbage has gone.
func heap() uint64 {
	for range 2 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}
