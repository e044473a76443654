package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/engine"
)

func TestParseMode(t *testing.T) {
	for name, want := range map[string]engine.Mode{
		"standard": engine.Standard, "STANDARD": engine.Standard, "Adaptive": engine.Adaptive, " legacy\n": engine.Legacy,
	} {
		mode, err := engine.ParseMode(name)
		require.NoError(t, err, "R1.3: %q", name)
		assert.Equal(t, want, mode, name)
	}
	for _, name := range []string{"", " ", "fast", "stand ard", "Mode(3)", "\u017ftandard", "standard\x00"} {
		_, err := engine.ParseMode(name)
		assert.ErrorContains(t, err, "want standard, adaptive or legacy", name)
	}
	_, err := engine.ParseMode(strings.Repeat("x", 1<<20))
	assert.Less(t, len(err.Error()), 200)
}
