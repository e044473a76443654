//go:build race || reprise_invariants

package ratelimit

import "testing"

// The points of At.
const (
	BeforeAdmission   = beforeAdmission
	BeforePublication = beforePublication
	BeforeMark        = beforeMark
	BeforeTurn        = beforeTurn
	BeforeClaim       = beforeClaim
	BeforeChange      = beforeChange
	BeforeSaying      = beforeSaying
	BetweenLoads      = betweenLoads
	BetweenLooks      = betweenLooks
)

// At runs op once, when an operation reaches p. What op reaches runs nothing.
func At(t *testing.T, p point, op func()) {
	interleave = func(reached point) {
		if reached == p {
			interleave = nil
			op()
		}
	}
	t.Cleanup(func() { interleave = nil })
}
