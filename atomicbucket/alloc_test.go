//go:build !race

package atomicbucket_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAllocatesNothing(t *testing.T) {
	b := full(t, 500)
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		b.Give(1)
		b.TryTake(14)
		b.Has(14)
		b.Give(14)
		b.TryTake(501)
		_ = b.SetCapacity(500)
	}))
}
