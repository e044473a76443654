package figure

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLayersAreElements(t *testing.T) {
	p := New(Wide, 60, 10, nil)
	up := Layer{Class: "p1", Mark: "1", XS: []float64{1, 30, 60}, YS: []float64{0, 5, 10}, Style: Style{Color: Ink, Width: 2}}
	down := up
	down.Class, down.Mark, down.YS = "p2", "2", []float64{10, 5, 0}
	text, err := Layers(p, Wide, "wide", "two <lines>", []Layer{up, down})
	require.NoError(t, err)
	svg := string(text)
	assert.Equal(t, 1, strings.Count(svg, "<svg "))
	assert.Contains(t, svg, `aria-label="two &lt;lines&gt;"`)
	for _, class := range []string{"p1", "p2"} {
		assert.Equal(t, 2, strings.Count(svg, `<g class="`+class+`">`), "the line, and its badges over all lines")
	}
	assert.Equal(t, mostBadges, strings.Count(svg, ">1</text>"))
	assert.Less(t, strings.LastIndex(svg, "stroke-width:2"), strings.Index(svg, ">1</text>"), "badges come last")
	again, err := Layers(New(Wide, 60, 10, nil), Wide, "wide", "two <lines>", []Layer{up, down})
	require.NoError(t, err)
	assert.Equal(t, text, again)
}

func TestTimesAreRound(t *testing.T) {
	for _, row := range []struct {
		high  float64
		count int
		want  string
	}{
		{1, 5, "0 s 0.2 s 0.4 s 0.6 s 0.8 s 1 s"},
		{60, 12, "0 s 5 s 10 s 15 s 20 s 25 s 30 s 35 s 40 s 45 s 50 s 55 s 60 s"},
		{120, 6, "0 s 30 s 60 s 90 s 120 s"},
		{360, 12, "0 min 1 min 2 min 3 min 4 min 5 min 6 min"},
		{90_000, 6, "0 h 6 h 12 h 18 h 24 h"},
		{30 * 24 * 3600, 6, "0 h 120 h 240 h 360 h 480 h 600 h 720 h"},
	} {
		var labels []string
		for _, tick := range (Times{row.count}).Ticks(0, row.high) {
			labels = append(labels, tick.Label)
		}
		assert.Equal(t, row.want, strings.Join(labels, " "))
	}
}
