package scenario

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/engine"
)

func TestParseMode(t *testing.T) {
	for name, want := range map[string]engine.Mode{
		"standard": engine.Standard, "STANDARD": engine.Standard, "Adaptive": engine.Adaptive, " legacy ": engine.Legacy,
	} {
		mode, err := ParseMode(name)
		require.NoError(t, err, "R1.3: %q", name)
		assert.Equal(t, want, mode, name)
	}
	for _, name := range []string{"", "fast", "stand ard", "\u017ftandard"} {
		_, err := ParseMode(name)
		require.ErrorContains(t, err, "want standard, adaptive or legacy", name)
	}
}
