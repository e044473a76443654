//go:build (linux || darwin) && !race

package engine

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The other half of TestGroupLookUpStoresNothing: a store is seen. The race
// detector's own code cannot take such a fault.
func TestGroupMissStores(t *testing.T) {
	onReadOnlyPages(t, func(g *Group[string]) {
		assert.Panics(t, func() { g.For("new") })
	})
}
