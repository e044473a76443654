package report

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run", "charts")
	open := func(path string) *Folder {
		t.Helper()
		d, err := OpenFolder(path, []string{"load.svg", "queue.svg"})
		require.NoError(t, err)
		return d
	}
	open(path).Discard()
	assert.Empty(t, names(t, dir), "folders that were made for nothing are gone")

	d := open(path)
	require.NoError(t, d.Write("load.svg", []byte("first")))
	d.Discard()
	assert.Equal(t, []string{"load.svg"}, names(t, path), "what was not written is not there")

	d = open(path)
	require.NoError(t, d.Write("queue.svg", []byte("second")))
	require.EqualError(t, d.Write("queue.svg", nil), "report queue.svg: is not open")
	d.Discard()
	text, err := os.ReadFile(filepath.Join(path, "load.svg"))
	require.NoError(t, err)
	assert.Equal(t, "first", string(text), "an old file stays whole")
	assert.Equal(t, []string{"load.svg", "queue.svg"}, names(t, path))

	_, err = OpenFolder(filepath.Join(path, "load.svg"), nil)
	require.EqualError(t, err, "folder "+filepath.Join(path, "load.svg")+": "+filepath.Join(path, "load.svg")+" is a file: want a folder, or a name that is free")
	_, err = OpenFolder(filepath.Join(path, "load.svg", "below"), nil)
	require.EqualError(t, err, "folder "+filepath.Join(path, "load.svg", "below")+": not a directory")
	(*Folder)(nil).Discard()
}
