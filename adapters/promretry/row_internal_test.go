package promretry

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Every gauge is summed, and no count.
func TestAddGauges(t *testing.T) {
	one := row{quotas: 1, level: 2, capacity: 3, limiters: 4, enabled: 5, fill: 6, measured: 7, tokens: 8, tokensMost: 9, waiting: 10,
		counts: counts{transient: 1}}
	sum := one
	sum.addGauges(one)
	assert.Equal(t, row{quotas: 2, level: 4, capacity: 6, limiters: 8, enabled: 10, fill: 12, measured: 14, tokens: 16, tokensMost: 18, waiting: 20,
		counts: counts{transient: 1}}, sum)
}
