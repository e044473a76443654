//go:build gc && !tinygo && !reprise_loom && !reprise_portable

package processor_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/internal/processor"
)

// Every number is that of a processor that there is, whatever GOMAXPROCS becomes.
func TestNumberIsAProcessors(t *testing.T) {
	assert.Equal(t, []int{0}, slices.Collect(maps.Keys(ids(1))), "the one that there is")
	for _, procs := range []int{8, 3, 2} {
		for id := range ids(procs) {
			assert.Less(t, id, procs)
		}
	}
}

func TestAsksWithoutAllocating(t *testing.T) {
	assert.Zero(t, testing.AllocsPerRun(1000, func() { processor.ID() }))
}
