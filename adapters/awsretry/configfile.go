package awsretry

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/reprise-go/reprise/settings"
)

// ConfigFilesForSDK returns what to give to config.WithSharedConfigFiles so that
// the SDK loads a config file which says retry_mode = legacy, for which it
// otherwise refuses all of it: a copy, without those lines, of the file that o
// names, or of the usual one. It is nil, which changes nothing, if no profile of
// the file says so, or there is no file. Load the config, give it to
// [LoadEngine], which finds the mode in the file that was copied, and call
// remove.
//
// The copy may hold whatever secrets the file does: it lies in a directory of its
// own that only the user can read, until remove takes it away. o.Profile does not
// matter, and o.FS must be nil. An error is one of reading or writing; then
// remove is nil. Blocks on the disk.
func ConfigFilesForSDK(o settings.Opts) (files []string, remove func() error, err error) {
	if o.FS != nil {
		return nil, nil, errors.New("reprise/awsretry: ConfigFilesForSDK with Opts.FS: the SDK reads the system's files alone")
	}
	o.Profile = "default" // of which it is no fault not to be there
	said, err := settings.Load(o)
	if err != nil {
		return nil, nil, err
	}
	remove = func() error { return nil }
	path := said.File.Value()
	if path == "" || said.FileMissing {
		return nil, remove, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("reprise/awsretry: config file %s: %w", path, err)
	}
	readable, changed := withoutLegacy(text)
	if !changed {
		return nil, remove, nil
	}
	dir, err := os.MkdirTemp("", copyDir+"*")
	if err != nil {
		return nil, nil, fmt.Errorf("reprise/awsretry: copy of config file %s: %w", path, err)
	}
	remove = func() error { return os.RemoveAll(dir) }
	copied := filepath.Join(dir, copyName)
	if err := os.WriteFile(copied, readable, 0o600); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("reprise/awsretry: copy of config file %s: %w", path, err), remove())
	}
	return []string{copied}, remove, nil
}

// What a copy's path is made of, by which LoadEngine knows it.
const (
	copyDir  = "reprise-awsretry-"
	copyName = "config-without-legacy"
)

func isCopy(path string) bool {
	return filepath.Base(path) == copyName && strings.HasPrefix(filepath.Base(filepath.Dir(path)), copyDir)
}

// withoutLegacy makes comments of the lines that say retry_mode = legacy.
func withoutLegacy(text []byte) (readable []byte, changed bool) {
	lines := bytes.SplitAfter(text, []byte("\n"))
	for i, line := range lines {
		if saysLegacy(string(line)) {
			lines[i] = append([]byte("# "), line...)
			changed = true
		}
	}
	return bytes.Join(lines, nil), changed
}

func saysLegacy(line string) bool {
	name, value, ok := strings.Cut(line, "=")
	if !ok || !strings.EqualFold(strings.TrimSpace(name), "retry_mode") {
		return false
	}
	for _, mark := range []string{" #", " ;", "\t#", "\t;"} {
		value, _, _ = strings.Cut(value, mark)
	}
	return strings.EqualFold(strings.TrimSpace(value), "legacy")
}
