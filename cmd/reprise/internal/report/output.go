package report

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Output is a file that a report will be written to at the end of a run. It is
// opened before the run, so that a path that cannot be written fails at once,
// and it replaces what is at the path only when the report is whole.
//
// A path that is no regular file (a terminal, a pipe, /dev/stdout) is written
// directly.
type Output struct {
	path   string // as the user gave it
	target string // with symbolic links followed
	file   *os.File
	mode   fs.FileMode // of what is replaced; 0 if nothing is
	direct bool
}

// Open prepares to write path.
func Open(path string) (*Output, error) {
	o := &Output{path: path, target: path}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		o.target = resolved
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, o.explain(err)
	case info.IsDir():
		return nil, fmt.Errorf("report %s: is a directory", path)
	default:
		// Opened without truncating: shows that it may be written.
		if o.file, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil {
			return nil, o.explain(err)
		}
		if !info.Mode().IsRegular() || sameFile(info, os.Stdout) {
			o.direct = true
			return o, nil
		}
		o.mode = info.Mode().Perm()
		_ = o.file.Close()
	}
	dir, name := filepath.Split(o.target)
	temporary := filepath.Join(dir, "."+name+"."+rand.Text()[:8])
	// Not os.CreateTemp, which leaves nothing of what the umask allows.
	if o.file, err = os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666); err != nil {
		return nil, o.explain(err)
	}
	return o, nil
}

// IsStdout says whether the report goes where the table would.
func (o *Output) IsStdout() bool {
	info, err := o.file.Stat()
	return o.direct && err == nil && sameFile(info, os.Stdout)
}

// Write puts the whole report in place, or leaves what was there before. The
// Output is used up by it.
func (o *Output) Write(report []byte) error {
	_, err := bytes.NewReader(report).WriteTo(o.file)
	if o.direct {
		return o.explain(errors.Join(err, o.file.Close()))
	}
	if o.mode != 0 {
		err = errors.Join(err, o.file.Chmod(o.mode))
	}
	err = errors.Join(err, o.file.Sync(), o.file.Close())
	if err == nil {
		err = os.Rename(o.file.Name(), o.target)
	}
	if err != nil {
		_ = os.Remove(o.file.Name())
	}
	return o.explain(err)
}

// Discard gives the report up and leaves the path as it was. It may be called
// on a nil Output.
func (o *Output) Discard() {
	if o == nil {
		return
	}
	_ = o.file.Close()
	if !o.direct {
		_ = os.Remove(o.file.Name())
	}
}

// explain names the user's path instead of the temporary one, in one line.
func (o *Output) explain(err error) error {
	if err == nil {
		return nil
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		err = link.Err
	}
	return fmt.Errorf("report %s: %w", o.path, err)
}

func sameFile(info fs.FileInfo, f *os.File) bool {
	other, err := f.Stat()
	return err == nil && os.SameFile(info, other)
}
