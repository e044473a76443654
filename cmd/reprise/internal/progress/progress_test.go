package progress

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/cmd/reprise/internal/faulty"
	"github.com/reprise-go/reprise/cmd/reprise/internal/record"
	"github.com/reprise-go/reprise/ratelimit"
)

// clockwork is a run of 1000 calls per second, of which the second second's
// all fail, with 50 retries per second.
type clockwork struct{ start time.Time }

func (c clockwork) Snapshot() record.Snapshot {
	elapsed := time.Since(c.start)
	calls := uint64(elapsed.Milliseconds())
	s := record.Snapshot{Elapsed: elapsed, Begun: calls + 5, Succeeded: calls, Level: 500, Capacity: 500}
	if elapsed > time.Second {
		s.Succeeded, s.Stopped = 1000, calls-1000
		s.Phase, s.Level = faulty.During, 7
	}
	s.Retries[1] = calls / 20
	return s
}

// locked is a buffer for several goroutines. The buffer is not embedded: it would
// lend its methods without the lock.
type locked struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func TestLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out locked
		stop := Lines(&out, clockwork{time.Now()}, true)
		<-time.After(2500 * time.Millisecond)
		stop()
		assert.Equal(t, ""+
			"  1 s      1000 calls     1000 calls/s  100.0% ok      50 retries/s  quota 500/500  before\n"+
			"  2 s      2000 calls     1000 calls/s    0.0% ok      50 retries/s  quota   7/500  outage\n", out.String())
	})
}

// throttled is clockwork in adaptive mode, whose limiter begins with the second
// second.
type throttled struct{ clockwork }

func (c throttled) Snapshot() record.Snapshot {
	s := c.clockwork.Snapshot()
	s.Limiter = &ratelimit.Stats{Enabled: s.Elapsed > time.Second, FillRate: 412.4}
	return s
}

func TestTheFillRateIsShownInAdaptiveMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines, live locked
		stopLines := Lines(&lines, throttled{clockwork{time.Now()}}, false)
		stopLive := Live(&live, throttled{clockwork{time.Now()}}, func() float64 { return 0 }, false)
		<-time.After(2500 * time.Millisecond)
		synctest.Wait()
		stopLines()
		stopLive()
		assert.Equal(t, ""+
			"  1 s      1000 calls     1000 calls/s  100.0% ok      50 retries/s  quota 500/500  fill    -\n"+
			"  2 s      2000 calls     1000 calls/s    0.0% ok      50 retries/s  quota   7/500  fill  412/s\n", lines.String())
		assert.Contains(t, live.String(), "50 retries/s  fill  412/s")
	})
}

// closed is a pipe whose reader has gone.
type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestProgressSurvivesItsReader(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		stop := Lines(closed{}, clockwork{time.Now()}, false)
		<-time.After(3 * time.Second)
		stop()
	})
}

func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out locked
		start := time.Now()
		stop := Live(&out, clockwork{start}, func() float64 { return time.Since(start).Seconds() / 4 }, true)
		<-time.After(900 * time.Millisecond)
		synctest.Wait()
		early := out.String()
		<-time.After(1100 * time.Millisecond)
		synctest.Wait()
		stop()
		late := strings.TrimPrefix(out.String(), early)
		for _, want := range []string{"run", "quota", "500 of 500 tokens", "before", "1000 calls/s", "100.0% ok", "50 retries/s"} {
			assert.Contains(t, early, want)
		}
		for _, want := range []string{"7 of 500 tokens", "outage", "0.0% ok"} {
			assert.Contains(t, late, want)
		}
	})
}

func TestNothingEndedIsNoRate(t *testing.T) {
	m := meter{source: clockwork{time.Now()}}
	r := m.look()
	require.Equal(t, "-", r.success())
	assert.Zero(t, r.retriesPerSec)
}
