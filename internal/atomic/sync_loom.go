//go:build reprise_loom

package atomic

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/reprise-go/reprise/internal/loom"
)

// Map is a sync.Map whose operations are one step each.
type Map struct{ of sync.Map }

func (m *Map) Load(key any) (value any, ok bool) {
	loom.Step(m, false)
	return m.of.Load(key)
}

func (m *Map) Store(key, value any) {
	loom.Step(m, true)
	m.of.Store(key, value)
}

func (m *Map) LoadOrStore(key, value any) (actual any, loaded bool) {
	loom.Step(m, true)
	return m.of.LoadOrStore(key, value)
}

func (m *Map) CompareAndDelete(key, old any) (deleted bool) {
	loom.Step(m, true)
	return m.of.CompareAndDelete(key, old)
}

// Range looks each key up when it comes to it: sync.Map promises no more.
func (m *Map) Range(yield func(key, value any) bool) {
	if _, ok := loom.Thread(); !ok {
		m.of.Range(yield)
		return
	}
	loom.Step(m, false)
	var keys []any
	m.of.Range(func(key, _ any) bool { keys = append(keys, key); return true })
	slices.SortFunc(keys, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	for _, key := range keys {
		if value, ok := m.Load(key); ok && !yield(key, value) {
			return
		}
	}
}

// Pool is a sync.Pool. In a trial each thread has one value there, which no
// collection drops; it stays when it is taken, so that a thread that is broken off
// does not take it along. A thread may take no second one meanwhile.
type Pool struct {
	of    sync.Pool
	owned [loom.MaxThreads]any
}

// Get takes a value, or nil.
func (p *Pool) Get() any {
	if i, ok := loom.Thread(); ok {
		return p.owned[i]
	}
	return p.of.Get()
}

// Put gives it back.
func (p *Pool) Put(v any) {
	if i, ok := loom.Thread(); ok {
		p.owned[i] = v
		return
	}
	p.of.Put(v)
}
