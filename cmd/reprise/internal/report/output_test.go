package report

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestOutputAppearsWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run.html")
	o, err := Open(path)
	require.NoError(t, err)
	assert.NoFileExists(t, path, "nothing is there before it is written")
	require.NoError(t, o.Write([]byte("whole")))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "whole", string(text))
	assert.Equal(t, []string{"run.html"}, names(t, dir))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Zero(t, info.Mode().Perm()&0o111)
}

func TestOutputHonoursTheUmask(t *testing.T) {
	for umask, want := range map[int]os.FileMode{0o022: 0o644, 0o077: 0o600, 0o002: 0o664} {
		path := filepath.Join(t.TempDir(), "run.html")
		defer syscall.Umask(syscall.Umask(umask))
		o, err := Open(path)
		require.NoError(t, err)
		require.NoError(t, o.Write([]byte("whole")))
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, want, info.Mode().Perm(), "umask %03o", umask)
	}
}

func TestOutputKeepsTheOldOneUntilThen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run.html")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	o, err := Open(path)
	require.NoError(t, err)
	o.Discard()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "old", string(text))
	assert.Equal(t, []string{"run.html"}, names(t, dir))

	o, err = Open(path)
	require.NoError(t, err)
	require.NoError(t, o.Write([]byte("new")))
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "new", string(text))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.EqualValues(t, 0o600, info.Mode().Perm(), "as it was")
}

func TestOutputFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "real"), 0o755))
	real, link := filepath.Join(dir, "real", "run.html"), filepath.Join(dir, "link.html")
	require.NoError(t, os.WriteFile(real, nil, 0o644))
	require.NoError(t, os.Symlink(real, link))
	o, err := Open(link)
	require.NoError(t, err)
	require.NoError(t, o.Write([]byte("new")))
	text, err := os.ReadFile(real)
	require.NoError(t, err)
	assert.Equal(t, "new", string(text))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&os.ModeSymlink, "the link is still one")
}

func TestOutputErrors(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		dir:           ": is a directory: want the name of a file in it, such as " + filepath.Join(dir, "run.html"),
		dir + "/new/": ": is no name of a file: want one, such as " + dir + "/new/run.html",
		filepath.Join(dir, strings.Repeat("n", 256)): ": file name too long",
		filepath.Join(dir, "no", "such", "run.html"): ": no such file or directory",
	} {
		_, err := Open(path)
		require.EqualError(t, err, "report "+path+want)
	}

	// A full disk is found out only by writing.
	o, err := Open("/dev/full")
	require.NoError(t, err)
	require.EqualError(t, o.Write([]byte("text")), "report /dev/full: no space left on device")

	// The directory goes while the run lasts.
	gone := filepath.Join(dir, "gone")
	require.NoError(t, os.Mkdir(gone, 0o755))
	path := filepath.Join(gone, "run.html")
	o, err = Open(path)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(gone))
	require.EqualError(t, o.Write([]byte("text")), "report "+path+": no such file or directory")
	assert.Empty(t, names(t, dir))

	var none *Output
	none.Discard()
}

// What nothing can be put in place of is refused at once: to open a pipe without a
// reader would wait for ever.
func TestOutputIsARegularFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, syscall.Mkfifo(at("pipe"), 0o600))
	socket, err := net.Listen("unix", at("socket"))
	require.NoError(t, err)
	defer socket.Close()
	require.NoError(t, os.Symlink(at("pipe"), at("link")))
	require.NoError(t, os.Symlink(at("gone"), at("dangling")))
	before := names(t, dir)
	for name, want := range map[string]string{
		"pipe":     "is a pipe: want a regular file, or /dev/stdout to pass it on",
		"link":     "is a pipe: want a regular file, or /dev/stdout to pass it on",
		"socket":   "is a socket: want a regular file, or /dev/stdout to pass it on",
		"dangling": "is a link to a file that is not there: want that file's name, or the link removed",
	} {
		_, err := Open(at(name))
		require.EqualError(t, err, "report "+at(name)+": "+want)
		_, err = OpenFolder(dir, []string{"fine.svg", name})
		require.EqualError(t, err, "report "+at(name)+": "+want)
	}
	assert.Equal(t, before, names(t, dir), "nothing is left")

	o, err := Open(os.DevNull)
	require.NoError(t, err)
	assert.False(t, o.IsStdout())
	require.NoError(t, o.Write([]byte("text")))
}

func TestOutputWithALongName(t *testing.T) {
	dir, name := t.TempDir(), strings.Repeat("n", 255)
	o, err := Open(filepath.Join(dir, name))
	require.NoError(t, err)
	require.NoError(t, o.Write([]byte("whole")))
	assert.Equal(t, []string{name}, names(t, dir))
}
