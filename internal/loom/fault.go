package loom

import "go.uber.org/atomic"

// Word is a 64-bit word as a fault uses it: each method is one step.
type Word interface {
	Load() uint64
	Store(n uint64)
	Add(n uint64) uint64
}

// Fault makes the words do less than they promise, so that the code above them is
// wrong in a way that is known. It tells whether a trial would find such code.
type Fault struct {
	// Swap takes the place of the compare-and-swap of 64-bit words; right is the
	// real one. nil leaves it.
	Swap func(w Word, right func(old, next uint64) bool, old, next uint64) bool
	// Torn makes every compare-and-swap, of pointers too, and every add two
	// steps: look, then store.
	Torn bool
}

// planted is the fault of the exploration that is under way. Written by Explore.
var planted atomic.Pointer[Fault]

// Planted returns the fault that words are to have now, or nil: inside of a trial
// alone.
func Planted() *Fault {
	if running.Load() == nil {
		return nil
	}
	return planted.Load()
}
