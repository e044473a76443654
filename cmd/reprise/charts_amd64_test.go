package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The README's charts are what its command makes. On other architectures fused
// operations might move a point.
func TestTheReadmesCharts(t *testing.T) {
	root := filepath.Join("..", "..")
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	command := regexp.MustCompile(`\n\tbin/reprise (storm .*) --svg bin/storm-charts\n`).FindSubmatch(makefile)
	require.NotNil(t, command)
	folder := filepath.Join(t.TempDir(), "charts")
	code, _, stderr := reprise(append(strings.Fields(string(command[1])), "--svg", folder)...)
	require.Zero(t, code, stderr)
	shown, err := filepath.Glob(filepath.Join(root, "docs", "storm", "*.svg"))
	require.NoError(t, err)
	require.Len(t, shown, 2)
	for _, file := range shown {
		is, err := os.ReadFile(file)
		require.NoError(t, err)
		want, err := os.ReadFile(filepath.Join(folder, filepath.Base(file)))
		require.NoError(t, err)
		assert.True(t, string(want) == string(is), "%s is old: make storm-charts", file)
	}
}
