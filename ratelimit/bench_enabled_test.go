package ratelimit_test

import (
	"math"
	"sync"
	"testing"
	"time"

	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/internal/mono"
	"github.com/reprise-go/reprise/internal/pad"
	"github.com/reprise-go/reprise/internal/stripe"
)

// tuned is the same with R8.2's K kept from the throttle on and the cube
// multiplied out, not left to math.Pow: the fastest that R8 behind a mutex is.
type tuned struct {
	guarded
	k float64
}

func (g *tuned) UpdateNanos(now int64, throttled bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.m
	if throttled {
		m.update(true, now)
		g.k = math.Cbrt(0.3 * m.lastMax / 0.4)
		return
	}
	m.count++
	if b := now / 5e8; b > m.lastBucket {
		rate := m.count / (float64(b-m.lastBucket) / 2)
		m.measured = 0.8*rate + 0.2*m.measured
		m.count, m.lastBucket = 0, b
	}
	t := float64(now-m.lastThrottle)*1e-9 - g.k
	rate := min(0.4*t*t*t+m.lastMax, 2*m.measured)
	m.level = min(m.capacity, m.level+float64(now-m.lastRefill)*1e-9*m.fill)
	m.lastRefill = now
	m.fill, m.capacity = max(rate, 0.5), max(rate, 1)
	m.level = min(m.level, m.capacity)
}

func newTuned(throttled bool) (*tuned, int64) {
	l := &tuned{guarded: *newGuarded(time.Now().Add(-time.Hour - 2*time.Second))}
	return l, history(l.UpdateNanos, throttled)
}

// floor is what no limiter that shares a level can leave out: an admission finds
// the state and changes it by one CAS, an answer is counted, on a line of the
// processor's own.
type floor struct {
	_     [pad.CacheLine]byte
	state atomic.Pointer[atomic.Uint64]
	_     [pad.CacheLine]byte
	word  atomic.Uint64
	_     [pad.CacheLine]byte
	count stripe.Counter
}

func newFloor() *floor {
	f := &floor{count: stripe.New()}
	f.state.Store(&f.word)
	return f
}

func (f *floor) acquire() {
	for {
		word := f.state.Load()
		if old := word.Load(); word.CompareAndSwap(old, old+1) {
			return
		}
	}
}

// lock is what no limiter behind a mutex can leave out.
type lock struct {
	mu sync.Mutex
	n  int
}

func (l *lock) step() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
}

// held lets an enabled limiter rest, so that at the benchmark's pace, 20,000/s
// and processor, its rate is held at twice the measured one: with R8 a success
// then changes nothing. It is the state of a client that sends less than it may.
func held(update func(now int64, throttled bool), now int64) int64 {
	now += int64(time.Minute)
	for range 10_000 {
		now += 25_000
		update(now, false)
	}
	return now
}

const pause = 50_000 // ns between two calls of one goroutine

// Enabled: a throttle was seen. op=acquire is an attempt that is admitted,
// op=answer a success, op=call both. impl=floor and impl=lock are the least that
// each side does.
func BenchmarkEnabled(b *testing.B) {
	b.Run("op=acquire/clock=given/impl=lockfree", func(b *testing.B) {
		l, _, start := busy(true)
		var c clock
		parallel(b, func(pb *testing.PB) {
			for h := c.hand(start, pause); pb.Next(); {
				now := h.next()
				l.AcquireNanos(now)
			}
		})
	})
	b.Run("op=acquire/clock=given/impl=mutex", func(b *testing.B) {
		_, l, start := busy(true)
		var c clock
		parallel(b, func(pb *testing.PB) {
			for h := c.hand(start, pause); pb.Next(); {
				now := h.next()
				l.AcquireNanos(now)
			}
		})
	})
	b.Run("op=acquire/clock=given/impl=floor", func(b *testing.B) {
		f := newFloor()
		parallel(b, func(pb *testing.PB) {
			for pb.Next() {
				f.acquire()
			}
		})
	})
	b.Run("op=acquire/clock=given/impl=lock", func(b *testing.B) {
		l := new(lock)
		parallel(b, func(pb *testing.PB) {
			for pb.Next() {
				l.step()
			}
		})
	})
	b.Run("op=answer/clock=given/impl=lockfree", func(b *testing.B) {
		l, _, start := busy(true)
		start = held(l.UpdateNanos, start)
		var c clock
		parallel(b, func(pb *testing.PB) {
			for h := c.hand(start, pause); pb.Next(); {
				now := h.next()
				l.UpdateNanos(now, false)
			}
		})
	})
	b.Run("op=answer/clock=given/impl=mutex", func(b *testing.B) {
		_, l, start := busy(true)
		start = held(l.UpdateNanos, start)
		var c clock
		parallel(b, func(pb *testing.PB) {
			for h := c.hand(start, pause); pb.Next(); {
				now := h.next()
				l.UpdateNanos(now, false)
			}
		})
	})
	b.Run("op=answer/clock=given/impl=tuned", func(b *testing.B) {
		l, start := newTuned(true)
		start = held(l.UpdateNanos, start)
		var c clock
		parallel(b, func(pb *testing.PB) {
			for h := c.hand(start, pause); pb.Next(); {
				now := h.next()
				l.UpdateNanos(now, false)
			}
		})
	})
	b.Run("op=answer/clock=given/impl=floor", func(b *testing.B) {
		f := newFloor()
		parallel(b, func(pb *testing.PB) {
			for pb.Next() {
				f.count.Add()
			}
		})
	})
	b.Run("op=call/clock=given/impl=lockfree", func(b *testing.B) {
		l, _, start := busy(true)
		start = held(l.UpdateNanos, start)
		var c clock
		parallel(b, func(pb *testing.PB) {
			for h := c.hand(start, pause); pb.Next(); {
				now := h.next()
				l.AcquireNanos(now)
				l.UpdateNanos(now, false)
			}
		})
	})
	b.Run("op=call/clock=given/impl=mutex", func(b *testing.B) {
		_, l, start := busy(true)
		start = held(l.UpdateNanos, start)
		var c clock
		parallel(b, func(pb *testing.PB) {
			for h := c.hand(start, pause); pb.Next(); {
				now := h.next()
				l.AcquireNanos(now)
				l.UpdateNanos(now, false)
			}
		})
	})
	b.Run("op=call/clock=given/impl=tuned", func(b *testing.B) {
		l, start := newTuned(true)
		start = held(l.UpdateNanos, start)
		var c clock
		parallel(b, func(pb *testing.PB) {
			for h := c.hand(start, pause); pb.Next(); {
				now := h.next()
				l.AcquireNanos(now)
				l.UpdateNanos(now, false)
			}
		})
	})
	b.Run("op=call/clock=given/impl=floor", func(b *testing.B) {
		f := newFloor()
		parallel(b, func(pb *testing.PB) {
			for pb.Next() {
				f.acquire()
				f.count.Add()
			}
		})
	})
	b.Run("op=call/clock=given/impl=lock", func(b *testing.B) {
		l := new(lock)
		parallel(b, func(pb *testing.PB) {
			for pb.Next() {
				l.step()
				l.step()
			}
		})
	})
	b.Run("op=call/clock=own/impl=lockfree", func(b *testing.B) {
		l, _, _ := busy(true)
		parallel(b, func(pb *testing.PB) {
			for pb.Next() {
				l.Acquire()
				l.Update(false)
			}
		})
	})
	b.Run("op=call/clock=own/impl=mutex", func(b *testing.B) {
		_, l, _ := busy(true)
		parallel(b, func(pb *testing.PB) {
			for pb.Next() {
				l.Acquire()
				l.Update(false)
			}
		})
	})
	b.Run("op=call/clock=own/impl=floor", func(b *testing.B) {
		f, anchor := newFloor(), mono.At(time.Now())
		parallel(b, func(pb *testing.PB) {
			for pb.Next() {
				anchor.Now()
				f.acquire()
				anchor.Now()
				f.count.Add()
			}
		})
	})
}
