package tally

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/engine"
)

// A success at the first attempt is one striped add, and no other word changes.
func TestFirstSuccessIsOneAdd(t *testing.T) {
	var c Tally
	c.Init()
	for range 100 {
		c.success(engine.SuccessEvent{Attempts: 1, QuotaLeft: 500})
	}
	assert.EqualValues(t, 100, c.first.Sum())
	assert.Zero(t, c.calls.Load()+c.attempts.Load()+c.delays[0].sumNanos.Load()+c.delays[1].sumNanos.Load())
}
