package scenario

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/engine"
)

// Which names there are is engine.ParseMode's test; here are the command's words.
func TestParseMode(t *testing.T) {
	mode, err := ParseMode(" Adaptive ")
	require.NoError(t, err)
	assert.Equal(t, engine.Adaptive, mode)
	_, err = ParseMode("fast")
	assert.EqualError(t, err, `unknown mode "fast": want standard, adaptive or legacy`)
}
