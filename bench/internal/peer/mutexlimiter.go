package peer

import (
	"context"
	"math"
	"sync"
	"time"
)

// Limiter is R8 behind a mutex, with K kept from the throttle on and the cube
// multiplied out: the fastest that a lock allows. Times are nanoseconds since it
// was made.
type Limiter struct {
	mu           sync.Mutex
	enabled      bool
	fill         float64 // tokens per second
	capacity     float64
	level        float64
	measured     float64 // responses per second
	count        float64
	lastMax      float64
	k            float64 // seconds
	lastBucket   int64   // half seconds
	lastRefill   int64
	lastThrottle int64
}

func (l *Limiter) refill(now int64) {
	l.level = min(l.capacity, l.level+float64(now-l.lastRefill)*1e-9*l.fill)
	l.lastRefill = now
}

// Acquire takes a token, or says how long to wait for it.
func (l *Limiter) Acquire(now int64) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.enabled {
		return 0
	}
	l.refill(now)
	if l.level >= 1 {
		l.level--
		return 0
	}
	return time.Duration((1 - l.level) / l.fill * 1e9)
}

// Update tells of a response.
func (l *Limiter) Update(now int64, throttled bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	if b := now / 5e8; b > l.lastBucket {
		l.measured = 0.8*l.count/(float64(b-l.lastBucket)/2) + 0.2*l.measured
		l.count, l.lastBucket = 0, b
	}
	var rate float64
	if throttled {
		r := l.measured
		if l.enabled {
			r = min(r, l.fill)
		}
		l.lastMax, l.k, l.lastThrottle, l.enabled = r, math.Cbrt(0.3*r/0.4), now, true
		rate = 0.7 * r
	} else {
		t := float64(now-l.lastThrottle)*1e-9 - l.k
		rate = 0.4*t*t*t + l.lastMax
	}
	l.refill(now)
	rate = min(rate, 2*l.measured)
	l.fill, l.capacity = max(rate, 0.5), max(rate, 1)
	l.level = min(l.level, l.capacity)
}

// MutexAdaptive is Mutex in adaptive mode.
type MutexAdaptive struct {
	*Mutex
	limiter *Limiter
	anchor  time.Time
}

// NewMutexAdaptive returns it with a full quota, nothing throttled yet.
func NewMutexAdaptive() MutexAdaptive {
	return MutexAdaptive{NewMutex(500, 500), new(Limiter), time.Now()}
}

// Throttle is a throttled answer.
func (m MutexAdaptive) Throttle() { m.limiter.Update(int64(time.Since(m.anchor)), true) }

// Do is one call that succeeds or is given up at once: the limiter's part is what
// is measured.
func (m MutexAdaptive) Do(ctx context.Context, op Op) (int, error) {
	if m.limiter.Acquire(int64(time.Since(m.anchor))) != 0 {
		panic("not admitted")
	}
	v, err := op.Context(ctx)
	m.limiter.Update(int64(time.Since(m.anchor)), false)
	if err == nil {
		m.Bucket.Give(1)
	}
	return v, err
}

// Loop is n calls.
func (m MutexAdaptive) Loop(ctx context.Context, op Op, n int) {
	for range n {
		if _, err := m.Do(ctx, op); err != nil {
			fell(err)
		}
	}
}
