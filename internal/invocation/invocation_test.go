package invocation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/internal/invocation"
)

// R9.
func TestValues(t *testing.T) {
	assert.Equal(t, "attempt=1; max=3", invocation.Attempt(1, 3))
	assert.Equal(t, "attempt=12; max=1000000", invocation.Attempt(12, 1000000))
	seen := make(map[string]bool)
	for range 100 {
		id := invocation.NewID()
		assert.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, id)
		assert.False(t, seen[id])
		seen[id] = true
	}
}
