package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/proof/internal/hot"
)

func TestModel(t *testing.T) {
	m := machine{transfer: 100, streak: 20}
	for name, row := range map[string]struct {
		cost          float64
		writes, cores int
		want          speed
	}{
		"one core":                {10, 5, 1, speed{0.1, 0.1}},
		"nothing shared":          {10, 0, 128, speed{12.8, 12.8}},
		"the line is the limit":   {10, 1, 128, speed{0.01, 0.05}},
		"two writes, half of it":  {10, 2, 128, speed{0.005, 0.025}},
		"the cores are the limit": {1000, 1, 2, speed{0.002, 0.002}},
		"one of the two is":       {100, 1, 2, speed{0.01, 0.02}},
	} {
		got := m.speedOf(row.cost, row.writes, row.cores)
		assert.InDelta(t, row.want.worst, got.worst, 1e-12, name)
		assert.InDelta(t, row.want.best, got.best, 1e-12, name)
	}
}

func TestCommand(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run([]string{"-transfer", "100", "-streak", "20", "-cores", "1, 128", "-n", "100"}, &out))
	assert.Contains(t, out.String(), "A model, not a measurement")
	for _, path := range shown {
		assert.Contains(t, out.String(), path)
	}
	for _, args := range [][]string{{"-cores", "0"}, {"-cores", "x"}, {"-transfer", "-1"}, {"-n", "1"}} {
		assert.Error(t, run(args, &out), args)
	}
}

// Each path has its row, in order; the file is written as it is read.
func TestTouchesFile(t *testing.T) {
	text, err := os.ReadFile(touchesFile)
	require.NoError(t, err)
	all, err := parseTouches(string(text))
	require.NoError(t, err)
	assert.Equal(t, string(text), format(all))
	var rows, paths []string
	for _, row := range all {
		rows = append(rows, row.path)
	}
	for _, path := range hot.Paths() {
		paths = append(paths, path.Name)
	}
	assert.Equal(t, paths, rows)
	_, err = parseTouches("call-success 1 2 x 4")
	assert.ErrorContains(t, err, "want a path and four counts")
}
