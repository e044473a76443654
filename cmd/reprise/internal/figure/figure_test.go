package figure

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTicksAreRound(t *testing.T) {
	for _, row := range []struct {
		high  float64
		count int
		want  string
	}{
		{575, 6, "0 100 200 300 400 500"},
		{2300, 6, "0 500 1,000 1,500 2,000"},
		{1.15, 6, "0 0.2 0.4 0.6 0.8 1"},
		{17250, 5, "0 5,000 10,000 15,000"},
		{0, 5, "0"},
	} {
		var labels []string
		for _, tick := range (Ticks{Count: row.count, Format: Thousands}).Ticks(0, row.high) {
			labels = append(labels, tick.Label)
		}
		assert.Equal(t, row.want, strings.Join(labels, " "))
	}
}

// Names of bands that are near to each other stand under each other.
func TestNamesHaveRoom(t *testing.T) {
	bands := []Band{
		{Name: "slow × 10", Start: 60, End: 70},
		{Name: "33 % failing", Start: 60, End: 80},
		{Name: "down", Start: 70, End: 85},
		{Name: "crowd × 3", Start: 150, End: 170},
	}
	rows, lines := Rows(Wide, 300, bands)
	assert.Equal(t, []int{0, 1, 2, 0}, rows)
	assert.Equal(t, 3, lines)
	rows, _ = Rows(Wide, 3000, bands)
	assert.Equal(t, []int{0, 1, 2, 3}, rows, "they are nearer")
	_, lines = Rows(Wide, 300, nil)
	assert.Zero(t, lines)

	assert.InDelta(t, Headroom(100), HeadroomFor(100, Wide, 1), 0)
	assert.Greater(t, HeadroomFor(100, Wide, 3), 1.15*HeadroomFor(100, Wide, 1))
}
