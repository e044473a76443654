package settings_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/settings"
)

// home is a real home directory with a config file, and the options to look there.
func home(t *testing.T, text string) (config string, o settings.Opts) {
	t.Helper()
	dir := t.TempDir()
	config = filepath.Join(dir, ".aws", "config")
	require.NoError(t, os.Mkdir(filepath.Dir(config), 0o700))
	require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
	return config, environment("HOME="+dir, "USERPROFILE="+dir).osOpts()
}

// osOpts looks the files up on the system.
func (w world) osOpts() settings.Opts {
	o := w.opts()
	o.FS = nil
	return o
}

func TestSystemFiles(t *testing.T) {
	config, o := home(t, "[default]\nmax_attempts = 4\n")
	s, err := settings.Load(o)
	require.NoError(t, err)
	assert.Equal(t, "- 4@default:2", short(s))
	assert.Equal(t, config, s.File.Value())
	assert.Equal(t, config, s.MaxAttempts.Source().File)

	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(config, link))
	s, err = settings.Load(settings.Opts{File: link, Getenv: environment().opts().Getenv})
	require.NoError(t, err, "a link to a file is a file")
	assert.Equal(t, "- 4@default:2", short(s))

	require.NoError(t, os.Remove(config))
	s, err = settings.Load(o)
	require.NoError(t, err, "R1.2: no file is fine")
	assert.True(t, s.FileMissing)
	s, err = settings.Load(environment("AWS_CONFIG_FILE=" + link).osOpts())
	require.NoError(t, err, "R1.2: nor is a dangling link")
	assert.True(t, s.FileMissing)
	_, err = settings.Load(settings.Opts{File: link, Getenv: environment().opts().Getenv})
	require.ErrorIs(t, err, fs.ErrNotExist, "unless the code asked for the file")
	assert.ErrorContains(t, err, "reprise/settings: config file "+link+" (Opts.File): file does not exist: want one that does")
}

// HOME=/dev/null and the like: a path that leads through a file leads nowhere.
func TestHomeIsAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	s, err := settings.Load(environment("HOME="+file, "USERPROFILE="+file).osOpts())
	require.NoError(t, err)
	assert.True(t, s.FileMissing)
}

func TestDirectory(t *testing.T) {
	_, err := settings.Load(environment("AWS_CONFIG_FILE=" + t.TempDir()).osOpts())
	assert.ErrorContains(t, err, "(AWS_CONFIG_FILE): it is a directory: want a regular file")
}

// A file that is too large is not read, however it is told.
func TestLargeFile(t *testing.T) {
	config, o := home(t, "")
	require.NoError(t, os.Truncate(config, 50<<20))
	_, err := settings.Load(o)
	assert.ErrorContains(t, err, "it is larger than 1048576 bytes: want a config file")

	exact := "[default]\nmax_attempts = 4\n#"
	exact += strings.Repeat("x", 1<<20-len(exact))
	require.NoError(t, os.WriteFile(config, []byte(exact), 0o600))
	s, err := settings.Load(o)
	require.NoError(t, err, "one endless line, but within the bound")
	assert.Equal(t, "- 4@default:2", short(s))
	require.NoError(t, os.WriteFile(config, []byte(exact+"x"), 0o600))
	_, err = settings.Load(o)
	assert.ErrorContains(t, err, "it is larger than 1048576 bytes")
}

// fakeFile is a file that lies about its size, cannot be opened, or breaks off.
type fakeFile struct {
	info           fs.FileInfo
	statErr        error
	openErr        error
	opened         fs.FileMode // the mode once it is open
	read           func(p []byte) (int, error)
	closed, looked int
}

func (f *fakeFile) Open(string) (fs.File, error) {
	f.looked++
	if f.openErr != nil {
		return nil, &fs.PathError{Op: "open", Path: "secret", Err: f.openErr}
	}
	return f, nil
}

func (f *fakeFile) Stat() (fs.FileInfo, error) { return mode{f.info, f.opened}, nil }
func (f *fakeFile) Read(p []byte) (int, error) { return f.read(p) }
func (f *fakeFile) Close() error               { f.closed++; return nil }

// fakeFS is a file system of that one file.
type fakeFS struct{ *fakeFile }

func (f fakeFS) Stat(string) (fs.FileInfo, error) {
	if f.statErr != nil {
		return nil, &fs.PathError{Op: "stat", Path: "secret", Err: f.statErr}
	}
	return f.info, nil
}

type mode struct {
	fs.FileInfo
	fs.FileMode
}

func (m mode) Mode() fs.FileMode { return m.FileMode }
func (m mode) IsDir() bool       { return m.FileMode.IsDir() }

func emptyFile(t *testing.T) fs.FileInfo {
	t.Helper()
	info, err := fs.Stat(fstest.MapFS{"f": {Mode: 0o600}}, "f")
	require.NoError(t, err)
	return info
}

// Faults of the file system reach the caller, name the file once, and leave no
// file open.
func TestFileFaults(t *testing.T) {
	broken := errors.New("broken disk")
	endless := func(p []byte) (int, error) {
		for i := range p {
			p[i] = 'x'
		}
		return len(p), nil
	}
	rows := map[string]struct {
		file fakeFile
		want string
		is   error
	}{
		"no right to look":      {fakeFile{statErr: fs.ErrPermission}, "permission denied: want a file that can be read", fs.ErrPermission},
		"no right to read":      {fakeFile{openErr: fs.ErrPermission}, "permission denied: want a file that can be read", fs.ErrPermission},
		"breaks off":            {fakeFile{read: func([]byte) (int, error) { return 0, broken }}, "broken disk: want a file that can be read", broken},
		"grows without end":     {fakeFile{read: endless}, "it is larger than 1048576 bytes", nil},
		"a FIFO once it's open": {fakeFile{opened: fs.ModeNamedPipe}, "it is no regular file (mode p---------): want one", nil},
		"a folder by then":      {fakeFile{opened: fs.ModeDir}, "it is a directory", nil},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			row.file.info = emptyFile(t)
			o := environment().opts()
			o.FS = fakeFS{&row.file}
			_, err := settings.Load(o)
			require.ErrorContains(t, err, "reprise/settings: config file /h/.aws/config (default): "+row.want)
			assert.NotContains(t, err.Error(), "secret")
			if row.is != nil {
				assert.ErrorIs(t, err, row.is)
			}
			opens := row.file.looked
			if row.file.openErr != nil {
				opens = 0
			}
			assert.Equal(t, opens, row.file.closed, "files left open")
		})
	}
	file := fakeFile{info: emptyFile(t), openErr: fs.ErrNotExist}
	o := environment().opts()
	o.FS = fakeFS{&file}
	s, err := settings.Load(o)
	require.NoError(t, err, "a file that goes between the look and the read")
	assert.True(t, s.FileMissing)
}

// Text that costs the INI reader most, up to the bound: many sections, many
// settings, and the quotes that it would follow to the end in quadratic time.
func TestDearFiles(t *testing.T) {
	size := 1 << 20
	if testing.Short() {
		size = 1 << 16
	}
	for _, piece := range []string{"[a]\n", "a=\n", " b\n", "a=`\n", "a=\"\"\"\n", "`a\n", "a=\\\n", "\n", "#\n", "a=1 #\n", "`", "["} {
		s, err := settings.Load(config("[default]\nmax_attempts=4\na=`" + strings.Repeat(piece, (size-40)/len(piece))).opts())
		require.NoError(t, err, "%q", piece)
		assert.Equal(t, "- 4@default:2", short(s), "%q", piece)
	}
}

// An error shows nothing of the file but the two settings: it may hold keys.
func TestErrorsKeepSecrets(t *testing.T) {
	for _, text := range []string{
		"[default]\naws_secret_access_key sesame\n",
		"[default]\n= sesame\n",
		"[sesame\n",
		"[]sesame\n",
	} {
		_, err := settings.Load(config(text).opts())
		require.Error(t, err, text)
		assert.NotContains(t, err.Error(), "sesame", text)
	}
}
