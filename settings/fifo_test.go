//go:build unix

package settings_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/settings"
)

// Opening a FIFO that nobody writes to would block.
func TestFIFO(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	_, err := settings.Load(environment("AWS_CONFIG_FILE=" + fifo).osOpts())
	assert.ErrorContains(t, err, "it is no regular file (mode prw-------): want one")
	_, err = settings.Load(environment("AWS_CONFIG_FILE=/dev/zero").osOpts())
	assert.ErrorContains(t, err, "it is no regular file")
}
