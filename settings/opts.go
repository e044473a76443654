package settings

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Opts says where to look. The zero Opts looks where AWS's tools do.
type Opts struct {
	// Profile names the profile, before AWS_PROFILE. Empty: not said.
	Profile string

	// File is the path of the shared config file, before AWS_CONFIG_FILE. A file
	// named here must exist. Empty: not said.
	File string

	// Getenv looks a variable up, and answers "" for one that is not set. The
	// home directory is HOME (on Windows USERPROFILE) as Getenv has it. Nil:
	// [os.Getenv].
	Getenv func(name string) string

	// FS is where the file is looked up, under its path less a leading slash
	// (.aws/config of the home /h is "h/.aws/config"). Nil: the system's files.
	FS fs.FS
}

const (
	profileVariable = "AWS_PROFILE"
	fileVariable    = "AWS_CONFIG_FILE"

	defaultProfile = "default"
)

func (o Opts) getenv(name string) string {
	if o.Getenv == nil {
		return os.Getenv(name)
	}
	return o.Getenv(name)
}

// profile is the second table of the package comment, right column.
func (o Opts) profile() Setting[string] {
	return firstOf(
		Said[string]{o.Profile, Source{Option: "Opts.Profile"}},
		Said[string]{o.getenv(profileVariable), Source{Variable: profileVariable}},
		Said[string]{defaultProfile, Source{}},
	)
}

// file is the second table of the package comment, left column. Without a home
// directory it may be not said at all.
func (o Opts) file() Setting[string] {
	home := "HOME"
	if runtime.GOOS == "windows" {
		home = "USERPROFILE"
	}
	standard := o.getenv(home)
	if standard != "" {
		standard = filepath.Join(standard, ".aws", "config")
	}
	return firstOf(
		Said[string]{o.File, Source{Option: "Opts.File"}},
		Said[string]{o.getenv(fileVariable), Source{Variable: fileVariable}},
		Said[string]{standard, Source{}},
	)
}

// firstOf drops what says nothing.
func firstOf(all ...Said[string]) Setting[string] {
	var s Setting[string]
	for _, said := range all {
		if said.Value = strings.TrimSpace(said.Value); said.Value != "" {
			s.Said = append(s.Said, said)
		}
	}
	return s
}
