package peer

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/reprise-go/reprise/classify"
)

// Bucket is the retry quota as one would write it in an afternoon: a level behind
// a mutex. The least a lock can do, so the honest baseline.
type Bucket struct {
	mu              sync.Mutex
	level, capacity int
}

// NewBucket returns a bucket of that capacity with so many tokens.
func NewBucket(capacity, tokens int) *Bucket { return &Bucket{level: tokens, capacity: capacity} }

// Take takes n tokens, all or none.
func (b *Bucket) Take(n int) bool {
	b.mu.Lock()
	ok := b.level >= n
	if ok {
		b.level -= n
	}
	b.mu.Unlock()
	return ok
}

// Give puts n tokens back, as far as they fit.
func (b *Bucket) Give(n int) {
	b.mu.Lock()
	b.level = min(b.level+n, b.capacity)
	b.mu.Unlock()
}

// Mutex is the retry engine of R2 to R6 that needs no care: the same classifier,
// a plain draw, and the quota behind a mutex.
type Mutex struct {
	Bucket *Bucket
	Max    time.Duration // of a delay; a nanosecond is none
}

// NewMutex returns it with a quota of that capacity and so many tokens.
func NewMutex(capacity, tokens int) *Mutex {
	return &Mutex{NewBucket(capacity, tokens), time.Nanosecond}
}

// Name returns "mutex".
func (*Mutex) Name() string { return "mutex" }

// Errors are the service's own.
func (*Mutex) Errors() (again, final error) { return Throttled(), Final() }

// Fail decides about an attempt that has failed with err: whether another follows,
// after which delay and at what cost.
func (m *Mutex) Fail(attempt int, err error) (delay time.Duration, cost int, retry bool) {
	return m.FailClass(attempt, classify.Default.Error(err))
}

// FailClass is Fail for a failure of known class.
func (m *Mutex) FailClass(attempt int, class classify.Class) (delay time.Duration, cost int, retry bool) {
	base, cost := 50*time.Millisecond, 14
	switch class {
	case classify.Transient:
	case classify.Throttling:
		base, cost = time.Second, 5
	default:
		return 0, 0, false
	}
	if attempt >= Attempts || !m.Bucket.Take(cost) {
		return 0, 0, false
	}
	ceiling := min(base<<(attempt-1), 20*time.Second, m.Max)
	return time.Duration(rand.Float64() * float64(ceiling)), cost, true
}

// Do is one call.
func (m *Mutex) Do(ctx context.Context, op Op) (int, error) {
	v, err := op.Context(ctx)
	if err == nil {
		m.Bucket.Give(1)
		return v, nil
	}
	for attempt := 1; ; attempt++ {
		delay, cost, retry := m.Fail(attempt, err)
		if !retry {
			return v, err
		}
		if delay > 0 {
			time.Sleep(delay)
		}
		if v, err = op.Context(ctx); err == nil {
			m.Bucket.Give(cost)
			return v, nil
		}
	}
}

// Loop is n calls.
func (m *Mutex) Loop(ctx context.Context, op Op, n int) {
	for range n {
		if _, err := m.Do(ctx, op); err != nil {
			fell(err)
		}
	}
}
