package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// maxFileBytes bounds the file, and with it every line. Five thousand profiles
// fit in it.
const maxFileBytes = 1 << 20

var errMissing = fmt.Errorf("%w: want one that does", fs.ErrNotExist)

// readFile returns the whole file. Only a regular one is opened, because a FIFO
// would block; it is checked again once open, because names can change hands.
func readFile(files fs.StatFS, name string) ([]byte, error) {
	info, err := files.Stat(name)
	if err != nil {
		return nil, reason(err)
	}
	if err := acceptable(info); err != nil {
		return nil, err
	}
	file, err := files.Open(name)
	if err != nil {
		return nil, reason(err)
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil {
		return nil, reason(err)
	}
	if err := acceptable(info); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	switch {
	case err != nil:
		return nil, reason(err)
	case len(data) > maxFileBytes:
		return nil, fmt.Errorf("it is larger than %d bytes: want a config file", maxFileBytes)
	case bytes.IndexByte(data, 0) >= 0:
		return nil, errors.New("it holds NUL bytes: want text in UTF-8, not UTF-16 or a binary file")
	}
	return data, nil
}

func acceptable(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errors.New("it is a directory: want a regular file")
	case !info.Mode().IsRegular():
		return fmt.Errorf("it is no regular file (mode %v): want one", info.Mode())
	}
	return nil
}

// reason drops the path from a file error, for the caller names it. A path that
// leads through something other than a directory, as below HOME=/dev/null,
// leads nowhere.
func reason(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return errMissing
	}
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return fmt.Errorf("%w: want a file that can be read", err)
}

// files returns the file system, which is asked for paths of the system's form.
func (o Opts) files() fs.StatFS {
	if o.FS == nil {
		return systemFiles{}
	}
	return slashFiles{o.FS}
}

type systemFiles struct{}

func (systemFiles) Open(name string) (fs.File, error)     { return os.Open(name) }
func (systemFiles) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// slashFiles gives paths the form that an fs.FS wants.
type slashFiles struct{ fs.FS }

func (f slashFiles) Open(name string) (fs.File, error)     { return f.FS.Open(rooted(name)) }
func (f slashFiles) Stat(name string) (fs.FileInfo, error) { return fs.Stat(f.FS, rooted(name)) }

func rooted(name string) string {
	return strings.TrimPrefix(path.Clean(filepath.ToSlash(name)), "/")
}
