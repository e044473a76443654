package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Folder is a folder that files will be written into at the end of a run. Like
// [Output] it is opened before, each file shows that it can be written, and each
// replaces what is there only when it is whole.
type Folder struct {
	mu    sync.Mutex // a signal may end everything while files are written
	files map[string]*Output
	made  []string // folders that were not there, the deepest last
}

// OpenFolder prepares to write files of these names into the folder at path, which is
// made if it is not there.
func OpenFolder(path string, names []string) (*Folder, error) {
	d := &Folder{files: make(map[string]*Output)}
	if err := d.make(path); err != nil {
		d.Discard()
		return nil, err
	}
	for _, name := range names {
		file, err := Open(filepath.Join(path, name))
		if err != nil {
			d.Discard()
			return nil, err
		}
		d.files[name] = file
	}
	return d, nil
}

// make makes the folder and what is missing above it.
func (d *Folder) make(path string) error {
	explain := func(err error) error {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return fmt.Errorf("folder %s: %w", path, err)
	}
	var missing []string
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err == nil && !info.IsDir() {
			return fmt.Errorf("folder %s: %s is a file: want a folder, or a name that is free", path, at)
		}
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = append(missing, at)
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if err := os.Mkdir(missing[i], 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return explain(err)
		}
		d.made = append(d.made, missing[i])
	}
	if info, err := os.Stat(path); err != nil {
		return explain(err)
	} else if !info.IsDir() {
		return explain(errors.New("is not a directory"))
	}
	return nil
}

// Write puts a whole file in place.
func (d *Folder) Write(name string, text []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	file, open := d.files[name]
	if !open {
		return fmt.Errorf("report %s: is not open", name)
	}
	delete(d.files, name)
	return file.Write(text)
}

// Discard gives up the files that were not written, and the folders that were made
// for them and are empty. It may be called on a nil Folder.
func (d *Folder) Discard() {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, file := range d.files {
		file.Discard()
	}
	d.files = nil
	for i := len(d.made) - 1; i >= 0; i-- {
		_ = os.Remove(d.made[i]) // which a folder with something in it survives
	}
	d.made = nil
}
