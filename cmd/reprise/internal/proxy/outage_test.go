package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// failing is an upstream that can be made to fail, and counts what arrives.
type failing struct {
	down   atomic.Bool
	during atomic.Int64 // arrivals while it was down
	turn   atomic.Int64
	kind   func(n int64, w http.ResponseWriter)

	mu    sync.Mutex
	posts map[string]int // arrivals of each
}

func (f *failing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.Method == "POST" {
		f.mu.Lock()
		f.posts[string(body)]++
		f.mu.Unlock()
	}
	if f.down.Load() {
		f.during.Add(1)
		f.kind(f.turn.Add(1), w)
		return
	}
	_, _ = w.Write([]byte("fine"))
}

// seen is what the clients saw.
type seen struct {
	offered   int           // calls begun during the outage
	back      time.Duration // from the recovery to the end of the first call that succeeded after it
	failedYet int           // calls that failed, begun later than a second after the recovery
	failed    int           // calls that failed in all
}

// resources are those of the whole process: clients, proxy and upstream.
type resources struct {
	goroutines int
	heap       uint64 // bytes that are in use
}

// used are those of now, with nothing under way and no connection open.
func used(c *http.Client, p *rig) (r resources) {
	c.CloseIdleConnections()
	p.CloseIdle()
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return resources{runtime.NumGoroutine(), m.HeapAlloc}
}

// offer begins calls at a steady rate, whatever becomes of them, every fourth of
// them a POST, and lets the upstream fail from before on for as long as outage.
func (f *failing) offer(c *http.Client, url string, perSecond int, before, outage, after time.Duration) (s seen) {
	var calls sync.WaitGroup
	var mu sync.Mutex
	began := time.Now()
	recovered := began.Add(before + outage)
	var up time.Time // when the upstream was in fact back
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	defer tick.Stop()
	for n := 0; ; n++ {
		now := <-tick.C
		if now.Sub(began) > before+outage+after {
			break
		}
		down := now.Sub(began) > before && now.Before(recovered)
		if f.down.Store(down); down {
			s.offered++
		} else if up.IsZero() && now.After(recovered) {
			up = time.Now()
		}
		sinceUp := up
		calls.Go(func() {
			var resp *http.Response
			var err error
			if n%4 == 0 {
				resp, err = c.Post(url, "text/plain", strings.NewReader(fmt.Sprint(began.UnixNano(), n)))
			} else {
				resp, err = c.Get(url)
			}
			ok := err == nil && resp.StatusCode == 200
			if err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case ok && !sinceUp.IsZero() && s.back == 0:
				s.back = time.Since(sinceUp)
			case !ok:
				s.failed++
				if now.After(recovered.Add(time.Second)) {
					s.failedYet++
				}
			}
		})
	}
	calls.Wait()
	return s
}

// An upstream that fails fully under load gets hardly more than the load: the
// quota pays for a few retries and then refuses. When it is back, so are the
// answers. Nothing that may not be repeated was.
func TestOutage(t *testing.T) {
	const retries = 500 / 14 // that a full quota pays for
	rate, soon := 400, time.Second
	if testing.Short() { // and maybe with the race detector on a busy machine
		rate, soon = 100, 5*time.Second
	}
	for name, kind := range map[string]func(int64, http.ResponseWriter){
		"503":   func(_ int64, w http.ResponseWriter) { w.WriteHeader(503) },
		"reset": func(_ int64, w http.ResponseWriter) { hangUp(w) },
		"both": func(n int64, w http.ResponseWriter) {
			if n%2 == 0 {
				hangUp(w)
			} else {
				w.WriteHeader(503)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			calm, outage, after := 500*time.Millisecond, time.Second, 1500*time.Millisecond
			if name == "both" && !testing.Short() {
				calm, outage, after = time.Second, 5*time.Second, 2*time.Second
			}
			f := &failing{kind: kind, posts: make(map[string]int)}
			p := start(t, one(t, upstream(t, f.ServeHTTP)))
			c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 512}, Timeout: patience}
			defer c.CloseIdleConnections()

			f.offer(c, p.url, rate, 100*time.Millisecond, 0, 0) // warm
			before := used(c, p)
			s := f.offer(c, p.url, rate, calm, outage, after)
			arrived, engine := f.during.Load(), p.state(t)
			t.Logf("offered %d, arrived %d (%.3fx), retries %d, stops %v, back after %v, failed %d", s.offered, arrived,
				float64(arrived)/float64(s.offered), engine.Retries.Transient, engine.Stops, s.back, s.failed)
			assert.Greater(t, s.offered, 0)
			const begun = 10 // calls that were on their way when it began
			assert.LessOrEqual(t, arrived, int64(s.offered+retries+begun), "R6.5")
			if outage >= 5*time.Second {
				assert.Less(t, float64(arrived), 1.1*float64(s.offered))
			}
			assert.Greater(t, s.back, time.Duration(0))
			assert.Less(t, s.back, soon)
			assert.Zero(t, s.failedYet)
			var now resources
			assert.Eventually(t, func() bool {
				now = used(c, p)
				return now.goroutines <= before.goroutines+5 && now.heap <= before.heap+(4<<20)
			}, patience, 10*time.Millisecond)
			t.Logf("goroutines %d before, %d after; heap %d KiB before, %d KiB after", before.goroutines, now.goroutines, before.heap>>10, now.heap>>10)
			for id, n := range f.posts {
				require.Equal(t, 1, n, "POST %s", id)
			}
		})
	}
}
