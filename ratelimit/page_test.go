package ratelimit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/ratelimit"
)

// Where a success changes nothing before the half second ends, the one that comes
// at its end begins the next (R8.2).
func TestSuccessAtTheBorder(t *testing.T) {
	p := newPair(t, 0)
	for now := int64(0); now <= int64(20*time.Second); now += int64(100 * time.Millisecond) {
		p.update(now, false)
	}
}

// Whichever slot holds the state is the one that admissions follow, and not one
// that held it before.
func TestStateInEverySlot(t *testing.T) {
	p := newPair(t, 0)
	now := int64(0)
	for range 20_000 {
		now += int64(100 * time.Microsecond)
		p.update(now, false)
	}
	follow := func() {
		p.update(now, true)
		now += int64(100 * time.Millisecond)
		for p.acquire(now) == 0 {
		}
	}
	follow() // in each of the first two
	follow()
	for free := 15; free > 1; free-- {
		assert.Equal(t, free, ratelimit.FreeSlots(p.l))
		follow()
		ratelimit.ClaimSlot(p.l)
	}
}
