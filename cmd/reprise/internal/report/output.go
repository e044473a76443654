package report

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Output is a file that a report will be written to at the end of a run. It is
// opened before the run, so that a path that cannot be written fails at once,
// and it replaces what is at the path only when the report is whole.
//
// Only two things are written directly: standard output, and a character device
// such as /dev/null or a terminal. A pipe, a socket or a folder is refused: nothing
// of theirs can be replaced, and a pipe without a reader would keep the run waiting.
type Output struct {
	path   string // as the user gave it
	target string // with symbolic links followed
	file   *os.File
	mode   fs.FileMode // of what is replaced; 0 if nothing is
	direct bool
	stdout bool // and therefore not closed
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
		if err := o.mayBeMade(); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, o.explain(err)
	case sameFile(info, os.Stdout):
		// As it is: opened anew it would be written from its beginning.
		o.file, o.direct, o.stdout = os.Stdout, true, true
		return o, nil
	case info.IsDir():
		return nil, fmt.Errorf("report %s: is a directory: want the name of a file in it, such as %s", path, filepath.Join(path, "run.html"))
	case !info.Mode().IsRegular() && !isCharacterDevice(info.Mode()):
		return nil, fmt.Errorf("report %s: is %s: want a regular file, or /dev/stdout to pass it on", path, modeName(info.Mode()))
	default:
		// Opened without truncating: shows that it may be written.
		if o.file, err = os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err != nil {
			return nil, o.explain(err)
		}
		if !info.Mode().IsRegular() {
			o.direct = true
			return o, nil
		}
		o.mode = info.Mode().Perm()
		_ = o.file.Close()
	}
	dir, name := filepath.Split(o.target)
	// Not os.CreateTemp, which leaves nothing of what the umask allows. The name is
	// cut, for with what is put around it a long one would be too long.
	temporary := filepath.Join(dir, "."+name[:min(len(name), longestName)]+"."+rand.Text()[:8])
	if o.file, err = os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666); err != nil {
		return nil, o.explain(err)
	}
	return o, nil
}

// longestName leaves room for ten bytes more in 255, which is what most file systems
// allow.
const longestName = 240

// mayBeMade says what would keep a file that is not there from being renamed into
// place.
func (o *Output) mayBeMade() error {
	if _, name := filepath.Split(o.path); name == "" {
		return fmt.Errorf("report %s: is no name of a file: want one, such as %srun.html", o.path, o.path)
	}
	if info, err := os.Lstat(o.path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("report %s: is a link to a file that is not there: want that file's name, or the link removed", o.path)
	}
	return nil
}

func isCharacterDevice(mode fs.FileMode) bool { return mode&fs.ModeCharDevice != 0 }

// modeName is what a file is that is no regular one.
func modeName(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return mode.Type().String()
}

// IsStdout says whether the report goes where the table would.
func (o *Output) IsStdout() bool { return o.stdout }

// Write puts the whole report in place, or leaves what was there before. The
// Output is used up by it.
func (o *Output) Write(report []byte) error {
	_, err := bytes.NewReader(report).WriteTo(o.file)
	if o.direct {
		return o.explain(errors.Join(err, o.close()))
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
	_ = o.close()
	if !o.direct {
		_ = os.Remove(o.file.Name())
	}
}

func (o *Output) close() error {
	if o.stdout {
		return nil
	}
	return o.file.Close()
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
