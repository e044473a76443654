package report

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func reasonsFile(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../reasons.txt")
	require.NoError(t, err)
	return string(text)
}
