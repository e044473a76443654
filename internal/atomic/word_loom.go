//go:build reprise_loom

package atomic

import (
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/internal/loom"
)

// The words. Each has the size and the alignment of the one that it wraps.
type (
	Bool           struct{ word atomic.Bool }
	Int32          struct{ word atomic.Int32 }
	Int64          struct{ word atomic.Int64 }
	Uint32         struct{ word atomic.Uint32 }
	Uint64         struct{ word atomic.Uint64 }
	Uintptr        struct{ word atomic.Uintptr }
	Float64        struct{ word atomic.Float64 }
	Pointer[T any] struct{ word atomic.Pointer[T] }
)

// memory is what all words can do.
type memory[T any] interface {
	Load() T
	Store(T)
	CompareAndSwap(old, next T) bool
}

func load[T any](w memory[T]) T {
	loom.Step(w, false)
	return w.Load()
}

func store[T any](w memory[T], v T) {
	loom.Step(w, true)
	w.Store(v)
}

func swapIf[T comparable](w memory[T], old, next T) bool {
	if f := loom.Planted(); f != nil && f.Torn {
		if load(w) != old {
			return false
		}
		store(w, next)
		return true
	}
	loom.Step(w, true)
	return w.CompareAndSwap(old, next)
}

type integer interface {
	~int32 | ~int64 | ~uint32 | ~uint64 | ~uintptr
}

func add[T integer](w memory[T], n T) T {
	if f := loom.Planted(); f != nil && f.Torn {
		sum := load(w) + n
		store(w, sum)
		return sum
	}
	loom.Step(w, true)
	for { // nobody else has control
		old := w.Load()
		if w.CompareAndSwap(old, old+n) {
			return old + n
		}
	}
}

// exchange is Swap.
func exchange[T any](w memory[T], v T) T {
	loom.Step(w, true)
	for {
		old := w.Load()
		if w.CompareAndSwap(old, v) {
			return old
		}
	}
}

func (w *Bool) Load() bool                          { return load(&w.word) }
func (w *Bool) Store(v bool)                        { store(&w.word, v) }
func (w *Float64) Load() float64                    { return load(&w.word) }
func (w *Float64) Store(v float64)                  { store(&w.word, v) }
func (w *Pointer[T]) Load() *T                      { return load(&w.word) }
func (w *Pointer[T]) Store(v *T)                    { store(&w.word, v) }
func (w *Pointer[T]) CompareAndSwap(old, v *T) bool { return swapIf(&w.word, old, v) }

func (w *Int32) Load() int32                        { return load(&w.word) }
func (w *Int32) Store(v int32)                      { store(&w.word, v) }
func (w *Int32) Inc() int32                         { return add(&w.word, 1) }
func (w *Int32) Swap(v int32) int32                 { return exchange(&w.word, v) }
func (w *Int32) CompareAndSwap(old, v int32) bool   { return swapIf(&w.word, old, v) }
func (w *Int64) Load() int64                        { return load(&w.word) }
func (w *Int64) Store(v int64)                      { store(&w.word, v) }
func (w *Int64) Add(n int64) int64                  { return add(&w.word, n) }
func (w *Int64) Inc() int64                         { return w.Add(1) }
func (w *Int64) Dec() int64                         { return w.Add(-1) }
func (w *Uint32) Load() uint32                      { return load(&w.word) }
func (w *Uint32) Store(v uint32)                    { store(&w.word, v) }
func (w *Uint32) Add(n uint32) uint32               { return add(&w.word, n) }
func (w *Uint32) Inc() uint32                       { return w.Add(1) }
func (w *Uint32) CompareAndSwap(o, v uint32) bool   { return swapIf(&w.word, o, v) }
func (w *Uint64) Load() uint64                      { return load(&w.word) }
func (w *Uint64) Store(v uint64)                    { store(&w.word, v) }
func (w *Uint64) Add(n uint64) uint64               { return add(&w.word, n) }
func (w *Uint64) Inc() uint64                       { return w.Add(1) }
func (w *Uintptr) Load() uintptr                    { return load(&w.word) }
func (w *Uintptr) Store(v uintptr)                  { store(&w.word, v) }
func (w *Uintptr) CompareAndSwap(o, v uintptr) bool { return swapIf(&w.word, o, v) }

// unsigned is an Int64 as a fault uses it.
type unsigned struct{ *Int64 }

func (w unsigned) Load() uint64        { return uint64(w.Int64.Load()) }
func (w unsigned) Store(v uint64)      { w.Int64.Store(int64(v)) }
func (w unsigned) Add(n uint64) uint64 { return uint64(w.Int64.Add(int64(n))) }

// CompareAndSwap is where a fault may be.
func (w *Int64) CompareAndSwap(old, v int64) bool {
	right := func(old, v uint64) bool { return swapIf(&w.word, int64(old), int64(v)) }
	if f := loom.Planted(); f != nil && f.Swap != nil {
		return f.Swap(unsigned{w}, right, uint64(old), uint64(v))
	}
	return right(uint64(old), uint64(v))
}

// CompareAndSwap is where a fault may be.
func (w *Uint64) CompareAndSwap(old, v uint64) bool {
	if f := loom.Planted(); f != nil && f.Swap != nil {
		return f.Swap(w, func(old, v uint64) bool { return swapIf(&w.word, old, v) }, old, v)
	}
	return swapIf(&w.word, old, v)
}
