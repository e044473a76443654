package ratelimit

import "github.com/reprise-go/reprise/internal/invariant"

// point is a place between what an operation has read and the write that
// depends on it: where another operation must be able to come between.
type point uint8

const (
	beforeAdmission   point = iota // the CAS that takes a token
	beforePublication              // the CAS that replaces the snapshot
	beforeMark                     // the floor was found open
	beforeTurn                     // the CAS that replaces a frozen page
	beforeChange                   // quiet is withdrawn, the snapshot not yet replaced
	beforeSaying                   // a flat snapshot is published, quiet not yet said
	beforeClaim                    // a response has computed what it will write
	betweenLoads                   // of a slot's first words and the rest
	betweenLooks                   // at the word and at the slot's version again
)

// interleave is what tests run at a point. It is nil but in builds that check
// invariants, and written only while no other goroutine uses a limiter.
var interleave func(point)

// reach runs what a test wants to happen at p, in builds that check invariants.
func reach(p point) {
	if invariant.Enabled && interleave != nil {
		interleave(p)
	}
}
