package atomicbucket_test

import "sync"

// model is the bucket of R6.1 as plainly as it can be written: the reference
// that the atomic one must equal, token for token.
type model struct {
	mu              sync.Mutex
	level, capacity uint32
}

func (m *model) TryTake(n uint32) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.level < n {
		return false
	}
	m.level -= n
	return true
}

func (m *model) Give(n uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.level = uint32(min(uint64(m.level)+uint64(n), uint64(m.capacity)))
}

func (m *model) SetCapacity(n uint32) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.capacity, m.level = n, min(m.level, n)
	return nil
}

func (m *model) Load() (level, capacity uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.level, m.capacity
}

// bucket is what both offer.
type bucket interface {
	TryTake(n uint32) bool
	Give(n uint32)
	SetCapacity(n uint32) error
	Load() (level, capacity uint32)
}
