//go:build !race

package fastbackoff_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/fastbackoff"
)

func TestAllocatesNothing(t *testing.T) {
	schedule := fastbackoff.Default()
	for name, source := range sources() {
		assert.Zero(t, testing.AllocsPerRun(1000, func() {
			schedule.Delay(fastbackoff.Throttling, 3, source.Uint64())
		}), name)
	}
}
