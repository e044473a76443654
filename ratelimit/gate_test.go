package ratelimit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/ratelimit"
)

// Under a mask of two bits every fourth success of a cell looks at the clock,
// and without one every success, also where a timer never comes.
func TestEverySuccessOfTheSampleLooks(t *testing.T) {
	for n := range uint64(64) {
		assert.Equal(t, n%4 != 0, ratelimit.Skips(3, n), "success %d", n)
		assert.False(t, ratelimit.Skips(0, n), "success %d", n)
	}
}
