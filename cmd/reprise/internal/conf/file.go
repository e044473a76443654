package conf

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// readFile reads a regular file, up to one byte more than one may have.
// It waits for nobody: a pipe without a writer would keep a reload, and with it the
// signals that end the proxy, from ever coming to an end.
func (k Kind) readFile(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, withoutPath(err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("is not a regular file (%s): want one%s", modeName(info.Mode()), k.Regular)
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	return text, withoutPath(err)
}

func modeName(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return mode.Type().String()
}

func withoutPath(err error) error {
	if wrapped := errors.Unwrap(err); wrapped != nil {
		return wrapped
	}
	return err
}
