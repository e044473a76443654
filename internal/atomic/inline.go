//go:build !reprise_loom

package atomic

import "sync"

// The compiler hands the body of a method on to those who know it through this
// package only if it was inlined here. So each one that the core uses is called
// once, in a function that nobody calls; without it the core's words would be calls.
var _ = inlined

func inlined() {
	var b Bool
	b.Store(b.Load())
	var i32 Int32
	i32.Store(i32.Load() + i32.Inc() + i32.Swap(1))
	i32.CompareAndSwap(0, 1)
	var i64 Int64
	i64.Store(i64.Load() + i64.Add(1) + i64.Inc() + i64.Dec())
	i64.CompareAndSwap(0, 1)
	var u32 Uint32
	u32.Store(u32.Load() + u32.Add(1) + u32.Inc())
	u32.CompareAndSwap(0, 1)
	var u64 Uint64
	u64.Store(u64.Load() + u64.Add(1) + u64.Inc())
	u64.CompareAndSwap(0, 1)
	var u Uintptr
	u.CompareAndSwap(u.Load(), 1)
	var f Float64
	f.Store(f.Load())
	var p Pointer[int]
	p.Store(p.Load())
	p.CompareAndSwap(nil, nil)
	var m sync.Map
	m.Store(m.Load(0))
	m.LoadOrStore(0, 0)
	m.CompareAndDelete(0, 0)
	m.Range(nil)
	var pool sync.Pool
	pool.Put(pool.Get())
}
