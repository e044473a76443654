// Package stripe counts events on many cores without sharing a cache line.
//
// A [Counter] is an array of cells, each alone on its line. An add goes to the
// cell of the processor (a P of the Go runtime) that runs it; a sum reads them
// all. Two processors that come to share a cell, or an add whose goroutine has
// moved on meanwhile, are slower, not wrong.
package stripe

import (
	"math/bits"
	"runtime"

	"github.com/reprise-go/reprise/internal/atomic"
	"github.com/reprise-go/reprise/internal/pad"
	"github.com/reprise-go/reprise/internal/processor"
)

// maxCells bounds what a counter costs on a very large machine: 8 KiB.
const maxCells = 64

// Counter counts events. The zero Counter counts nothing: make one with [New].
// A copy counts in the same cells.
type Counter struct {
	// cells has a power of two of them, or none, fixed for life: a GOMAXPROCS
	// that grows later makes processors share cells.
	cells []cell
}

type cell struct {
	// n is how often Add chose this cell.
	//
	//	bits 63..0  events, since New
	// Invariant: never decreases.
	// Writers:   Add, by one atomic add that cannot fail.
	// Ordering:  publishes nothing but itself.
	// Overflow:  2^64 adds take 500 years at one a nanosecond.
	n atomic.Uint64

	// mark is the largest number that Mark was given in this cell.
	//
	//	bits 63..0  what the caller marks, >= 0; 0 at first
	// Invariant: never decreases.
	// Writers:   Mark, by a CAS upward; a lost CAS means that another goroutine
	//            raised it, and it is compared afresh.
	// Ordering:  with the caller's own words: a Mark, then a load of another
	//            word, or a change of that word, then Marked: one sees the other.
	// Overflow:  it is no sum.
	mark atomic.Int64

	_ [pad.CacheLine - 16]byte
}

// New returns a counter at zero, with a cell for each processor that there is now.
func New() Counter {
	n := min(runtime.GOMAXPROCS(0), maxCells)
	return Counter{cells: make([]cell, 1<<bits.Len(uint(n-1)))}
}

// Add counts one event and returns how many its cell has counted, this one
// included: 1, 2, 3... for a caller alone on its processor, and 0 from the zero
// Counter. Wait-free. Reads no clock.
func (c *Counter) Add() uint64 {
	if len(c.cells) == 1 {
		return c.cells[0].n.Add(1)
	}
	return c.addOwn()
}

func (c *Counter) addOwn() uint64 {
	if own := c.own(); own != nil {
		return own.n.Add(1)
	}
	return 0
}

// own returns the cell of the processor that runs this, nil from the zero Counter.
func (c *Counter) own() *cell {
	if len(c.cells) == 0 {
		return nil
	}
	return &c.cells[processor.ID()&(len(c.cells)-1)]
}

// Sum returns how many events all cells have counted. Events that are being
// counted meanwhile may be in it or not; those whose Add had returned before
// are, and a Sum that starts after another has ended is never smaller.
// Wait-free.
func (c *Counter) Sum() uint64 {
	var sum uint64
	for i := range c.cells {
		sum += c.cells[i].n.Load()
	}
	return sum
}

// Mark counts n events, 0 or more, and raises the cell's mark to at least v.
// Lock-free: it retries only when another raised the mark meanwhile.
func (c *Counter) Mark(v int64, n uint64) {
	own := c.own()
	if own == nil {
		return
	}
	for old := own.mark.Load(); old < v && !own.mark.CompareAndSwap(old, v); {
		old = own.mark.Load()
	}
	if n != 0 {
		own.n.Add(n)
	}
}

// Marked returns the largest mark of all cells, 0 if there is none. Wait-free.
func (c *Counter) Marked() int64 {
	var most int64
	for i := range c.cells {
		most = max(most, c.cells[i].mark.Load())
	}
	return most
}

// Cells returns the number of cells, a power of two.
func (c *Counter) Cells() int {
	return len(c.cells)
}
