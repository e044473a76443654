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
