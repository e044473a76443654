package ratelimit

import (
	"math/bits"
	"time"
	"weak"
)

// Curve is the cubic alone: each throttle takes the rate before it as the last
// max, which is what a measured rate that never binds makes of R8.2.
type Curve struct{ s snapshot }

// NewCurve starts a curve from a last max and the time of the throttle, in
// seconds.
func NewCurve(lastMax, lastThrottle float64) *Curve {
	return &Curve{snapshot{
		enabled:           true,
		lastMax:           lastMax,
		windowSeconds:     window(lastMax, 1-beta),
		lastThrottleNanos: nanosOf(lastThrottle),
		fillRate:          lastMax,
		measured:          1e12,
	}}
}

// At returns the calculated rate after one response.
func (c *Curve) At(t float64, throttled bool) float64 {
	calculated := 0.0
	if throttled {
		calculated = c.s.cut(nanosOf(t), false)
	} else {
		calculated = c.s.cubic(nanosOf(t))
	}
	c.s.fillRate = max(calculated, minFillRate)
	return calculated
}

// Window returns the K of the last throttle, in seconds.
func (c *Curve) Window() float64 { return c.s.windowSeconds }

func nanosOf(s float64) int64 { return int64(s * float64(time.Second)) }

// WithRate returns an enabled limiter with half a token, the capacity 1 and a
// fill rate that R8 would never make.
func WithRate(now time.Time, rate float64) *Limiter {
	l := New(now)
	s := snapshot{fillRate: rate, capacityTicks: ticksPerToken, level: 0.5, enabled: true}
	l.current.Store(newPage(s, 0))
	l.gate.enable()
	return l
}

// SetRate returns what R8.2 makes of a new rate.
func SetRate(rate float64) (fill, capacity float64) {
	var s snapshot
	s.setRate(new(snapshot), rate, 0, 0)
	return s.fillRate, s.capacity()
}

// Sampling reports whether successes may skip the clock now.
func Sampling(l *Limiter) bool {
	return l.gate.word.Load()&maskOf != 0
}

// Skips reports whether the nth success of a cell may skip the clock under a
// sampling mask.
func Skips(mask uint32, n uint64) bool {
	var g gate
	g.word.Store(uint64(mask))
	return g.skips(n)
}

// SkipBits is the length of the sampling mask.
func SkipBits(count uint64, cells int) uint8 { return skipBits(count, cells) }

// EnabledAfterWatch reports whether a gate that was enabled still is after a
// success has asked to sample.
func EnabledAfterWatch() bool {
	var g gate
	g.enable()
	g.watch(7, 3, int64(time.Hour))
	return g.enabled()
}

// FreeSlots is how many slots of the page belong to nobody.
func FreeSlots(l *Limiter) int {
	return bits.OnesCount32(l.current.Load().free.Load())
}

// Page identifies the page.
func Page(l *Limiter) any { return l.current.Load() }

// ClaimSlot takes the slot that the next response would.
func ClaimSlot(l *Limiter) { l.current.Load().claim() }

// ClaimSlots leaves no slot of the page for anybody.
func ClaimSlots(l *Limiter) {
	p := l.current.Load()
	for {
		if _, ok := p.claim(); !ok {
			return
		}
	}
}

// Places returns how many places the line holds, those that are gone included.
func Places(l *Limiter) (n int) {
	for node := l.queue.head.Load().next.Load(); node != nil; node = node.next.Load() {
		n++
	}
	return n
}

// Last returns the last place in line, without keeping it.
func Last(l *Limiter) weak.Pointer[node] { return weak.Make(l.queue.tail.Load()) }
