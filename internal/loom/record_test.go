package loom_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/internal/loom"
)

// Record tells each step, of the thread that it was asked for, and a panic.
func TestRecord(t *testing.T) {
	var a, b int
	all, err := loom.Record(1, func() {
		loom.Step(&a, false)
		loom.Step(&b, true)
		index, ok := loom.Thread()
		assert.True(t, ok)
		assert.Equal(t, 1, index)
		loom.Step(&a, true)
	})
	require.NoError(t, err)
	assert.Equal(t, []loom.Access{{Word: &a}, {Word: &b, Write: true}, {Word: &a, Write: true}}, all)
	assert.Equal(t, all[0].Address(), all[2].Address())
	assert.NotEqual(t, all[0].Address(), all[1].Address())
	_, err = loom.Record(0, func() { panic("no") })
	assert.ErrorContains(t, err, "no")
}
