package ratelimit_test

import (
	"sync"
	"testing"
	"time"

	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/internal/mono"
	"github.com/reprise-go/reprise/ratelimit"
)

// guarded is the model behind a mutex: what the limiter would be with a lock.
type guarded struct {
	mu     sync.Mutex
	m      *model
	anchor mono.Anchor
}

func newGuarded(now time.Time) *guarded {
	return &guarded{m: newModel(0), anchor: mono.At(now)}
}

func (g *guarded) AcquireNanos(now int64) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Duration(g.m.acquire(now) * 1e9)
}

func (g *guarded) UpdateNanos(now int64, throttled bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.m.update(throttled, now)
}

// Acquire reads the clock under the lock, so that time cannot run backward; the
// price of an exact R8 without a word to look at first.
func (g *guarded) Acquire() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Duration(g.m.acquire(g.anchor.Nanos(time.Now())) * 1e9)
}

func (g *guarded) Update(throttled bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.m.update(throttled, g.anchor.Nanos(time.Now()))
}

// history brings a limiter to where a benchmark starts: an hour old, then a
// million responses in each of two seconds, and a throttle if it is to be
// enabled. It returns the instant reached, in nanoseconds.
func history(update func(now int64, throttled bool), throttled bool) int64 {
	now := int64(time.Hour)
	for range 200_000 {
		now += 1e4
		update(now, false)
	}
	if throttled {
		update(now, true)
	}
	return now
}

// busy makes both, an hour old by the real clock and at the same point.
func busy(throttled bool) (free *ratelimit.Limiter, lock *guarded, now int64) {
	start := time.Now().Add(-time.Hour - 2*time.Second)
	free, lock = ratelimit.New(start), newGuarded(start)
	history(free.UpdateNanos, throttled)
	return free, lock, history(lock.UpdateNanos, throttled)
}

// clock is what the goroutines of a benchmark are told. Each goes on by its own
// steps, but none falls far behind the others, as one would that slept at a lock:
// in the end it would find every token taken by those who are ahead.
type clock struct{ latest atomic.Int64 }

type hand struct {
	clock     *clock
	now, step int64
	steps     uint8
}

func (c *clock) hand(start, step int64) hand {
	return hand{clock: c, now: start, step: step}
}

func (h *hand) next() (now int64) {
	h.now += h.step
	if h.steps++; h.steps == 0 {
		h.meet()
	}
	return h.now
}

//go:noinline
func (h *hand) meet() {
	latest := h.clock.latest.Load()
	if h.now > latest {
		h.clock.latest.CompareAndSwap(latest, h.now)
	}
	h.now = max(h.now, latest)
}

func parallel(b *testing.B, body func(pb *testing.PB)) {
	b.Helper()
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(body)
}

// Nothing was ever throttled: an attempt and its success. The clock is the
// limiter's own, or the caller has an instant anyway.
func BenchmarkNeverThrottled(b *testing.B) {
	b.Run("clock=own/impl=lockfree", func(b *testing.B) {
		l, _, _ := busy(false)
		for range 1_000_000 { // a second or so of this pace, as sampling needs
			l.Update(false)
		}
		parallel(b, func(pb *testing.PB) {
			for pb.Next() {
				l.Acquire()
				l.Update(false)
			}
		})
	})
	b.Run("clock=own/impl=mutex", func(b *testing.B) {
		_, l, _ := busy(false)
		parallel(b, func(pb *testing.PB) {
			for pb.Next() {
				l.Acquire()
				l.Update(false)
			}
		})
	})
	b.Run("clock=given/impl=lockfree", func(b *testing.B) {
		l, _, start := busy(false)
		var c clock
		parallel(b, func(pb *testing.PB) {
			for h := c.hand(start, 1000); pb.Next(); {
				now := h.next()
				l.AcquireNanos(now)
				l.UpdateNanos(now, false)
			}
		})
	})
	b.Run("clock=given/impl=mutex", func(b *testing.B) {
		_, l, start := busy(false)
		var c clock
		parallel(b, func(pb *testing.PB) {
			for h := c.hand(start, 1000); pb.Next(); {
				now := h.next()
				l.AcquireNanos(now)
				l.UpdateNanos(now, false)
			}
		})
	})
}

// Enabled and empty: every attempt is refused.
func BenchmarkRefused(b *testing.B) {
	b.Run("clock=given/impl=lockfree", func(b *testing.B) {
		l, _, now := busy(true)
		for l.AcquireNanos(now) == 0 {
		}
		parallel(b, func(pb *testing.PB) {
			for pb.Next() {
				l.AcquireNanos(now)
			}
		})
	})
	b.Run("clock=given/impl=mutex", func(b *testing.B) {
		_, l, now := busy(true)
		for l.AcquireNanos(now) == 0 {
		}
		parallel(b, func(pb *testing.PB) {
			for pb.Next() {
				l.AcquireNanos(now)
			}
		})
	})
}

// The rate climbs: every success changes it. Responses come far slower than the
// loop runs, so that the cubic stays below twice the measured rate.
func BenchmarkClimbing(b *testing.B) {
	b.Run("clock=given/impl=lockfree", func(b *testing.B) {
		l, _, start := busy(true)
		var c clock
		parallel(b, func(pb *testing.PB) {
			for h := c.hand(start, 100); pb.Next(); {
				now := h.next()
				l.UpdateNanos(now, false)
			}
		})
	})
	b.Run("clock=given/impl=mutex", func(b *testing.B) {
		_, l, start := busy(true)
		var c clock
		parallel(b, func(pb *testing.PB) {
			for h := c.hand(start, 100); pb.Next(); {
				now := h.next()
				l.UpdateNanos(now, false)
			}
		})
	})
}

// Every response is a throttle.
func BenchmarkStorm(b *testing.B) {
	b.Run("clock=given/impl=lockfree", func(b *testing.B) {
		l, _, start := busy(true)
		var c clock
		parallel(b, func(pb *testing.PB) {
			for h := c.hand(start, 1000); pb.Next(); {
				now := h.next()
				l.UpdateNanos(now, true)
			}
		})
	})
	b.Run("clock=given/impl=mutex", func(b *testing.B) {
		_, l, start := busy(true)
		var c clock
		parallel(b, func(pb *testing.PB) {
			for h := c.hand(start, 1000); pb.Next(); {
				now := h.next()
				l.UpdateNanos(now, true)
			}
		})
	})
	b.Run("clock=own/impl=lockfree", func(b *testing.B) {
		l, _, _ := busy(true)
		parallel(b, func(pb *testing.PB) {
			for pb.Next() {
				l.Update(true)
			}
		})
	})
	b.Run("clock=own/impl=mutex", func(b *testing.B) {
		_, l, _ := busy(true)
		parallel(b, func(pb *testing.PB) {
			for pb.Next() {
				l.Update(true)
			}
		})
	})
}
