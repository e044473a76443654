package ratelimit

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestQuietHoldsUntilItsBorder(t *testing.T) {
	var q quiet
	q.withdraw(0)
	for _, now := range []int64{-1, 0, 1} {
		assert.False(t, q.holds(now), "nothing was said")
	}
	q.say(100)
	assert.True(t, q.holds(-1), "an instant before what was seen counts as that")
	assert.True(t, q.holds(99))
	assert.False(t, q.holds(100))
	q.withdraw(100)
	assert.False(t, q.holds(99))
}

func TestQuietIsWithdrawnForGood(t *testing.T) {
	var q quiet
	q.withdraw(100)
	q.say(100)
	assert.False(t, q.holds(99), "whoever says it was stopped on the way")
	q.say(200)
	assert.True(t, q.holds(199))
	q.withdraw(100)
	q.say(100)
	assert.True(t, q.holds(199), "older news changes nothing")
	q.say(never)
	q.withdraw(never)
	assert.True(t, q.holds(199))
}
