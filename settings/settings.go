package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/reprise-go/reprise/engine"
)

// Settings is what the environment and the shared config file say about
// retries. The zero Settings says nothing. It is immutable, but for the slices
// of its settings, and safe for concurrent use.
type Settings struct {
	Mode        Setting[engine.Mode] // retry_mode (R1.1)
	MaxAttempts Setting[int]         // max_attempts (R1.1): attempts, the first included; not said: 0

	Profile     Setting[string] // the profile that was asked for, "default" if none was
	File        Setting[string] // the file that was looked at; not said: none, the home directory is unknown
	FileMissing bool            // File does not exist, which is fine if the code did not name it
}

// ErrNoProfile is in the error's chain when a profile was asked for by name
// that the file does not hold.
var ErrNoProfile = errors.New("reprise/settings: no such profile")

// Load reads the settings (R1.1, R1.2). It returns all that is wrong, joined,
// with the zero Settings: bad values (R1.3), a file that cannot be read or is
// no config file, a named profile that is not there ([ErrNoProfile]). It blocks
// while it reads at most 1 MiB of one file; it reads no clock.
func Load(o Opts) (Settings, error) {
	s := Settings{Profile: o.profile(), File: o.file()}
	found, err := s.section(o.files())
	var modeErr, attemptsErr error
	s.Mode, modeErr = modeKind.load(o, found)
	s.MaxAttempts, attemptsErr = maxAttemptsKind.load(o, found)
	if err := errors.Join(err, modeErr, attemptsErr); err != nil {
		return Settings{}, err
	}
	return s, nil
}

// section finds the profile's section in the file, and notes whether there is a
// file.
func (s *Settings) section(files fs.StatFS) (section, error) {
	path, profile := s.File.Value(), s.Profile.Value()
	if path == "" || path == os.DevNull {
		return s.nothing("there is no config file")
	}
	data, err := readFile(files, path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && s.File.Source().Option == "":
		s.FileMissing = true
		return s.nothing(shown(path) + " does not exist")
	case err != nil:
		return section{}, fmt.Errorf("reprise/settings: config file %s (%v): %w", shown(path), s.File.Source(), err)
	}
	profiles, err := parseProfiles(data)
	if err != nil {
		return section{}, fmt.Errorf("reprise/settings: config file %s (%v): %w", shown(path), s.File.Source(), err)
	}
	found, ok := profiles.find(profile)
	found.source = Source{File: path, Profile: profile}
	switch {
	case ok:
		return found, nil
	case profiles.bare[profile] != nil:
		return s.nothing(fmt.Sprintf("%s has a section [%s], which is a profile only as [profile %[2]s]", shown(path), shown(profile)))
	default:
		return s.nothing(fmt.Sprintf("want a section [profile %s] in %s", shown(profile), shown(path)))
	}
}

// nothing is the section of a profile that is nowhere, which is fine for the
// default one.
func (s *Settings) nothing(why string) (section, error) {
	if s.Profile.Value() == defaultProfile {
		return section{}, nil
	}
	return section{}, fmt.Errorf("%w: %q (%v): %s", ErrNoProfile, s.Profile.Value(), s.Profile.Source(), why)
}

// Options returns what was said as options for [engine.New]: WithMode and
// WithMaxAttempts, each only if somebody said it, so that a service's defaults
// stay alive. Options that come after them win (R1.2). The mode is for the
// engine's life, so after a new Load give [engine.Engine.Reconfigure] the
// attempts alone.
func (s Settings) Options() []engine.Option {
	var options []engine.Option
	if s.Mode.Set() {
		options = append(options, engine.WithMode(s.Mode.Value()))
	}
	if s.MaxAttempts.Set() {
		options = append(options, engine.WithMaxAttempts(s.MaxAttempts.Value()))
	}
	return options
}

// String explains the settings, a line each, without a final line break; names
// that a terminal would not show as they are it quotes:
//
//	retry_mode = standard (default)
//	max_attempts = 5 (AWS_MAX_ATTEMPTS); file said 7
//	profile = prod (AWS_PROFILE)
//	config file = /etc/aws/config (AWS_CONFIG_FILE)
func (s Settings) String() string {
	attempts := s.MaxAttempts.String()
	switch {
	case s.MaxAttempts.Set():
	case s.Mode.Value() == engine.Legacy:
		attempts = "5 (default of legacy mode)"
	default:
		attempts = "3 (default; DynamoDB 4)"
	}
	file := s.File.String()
	switch {
	case s.File.Value() == "":
		file = "none (home directory unknown)"
	case s.FileMissing:
		file += ", which does not exist"
	}
	profile := s.Profile.String()
	if s.Profile.Value() == "" {
		profile = defaultProfile + " (default)"
	}
	return fmt.Sprintf("retry_mode = %v\nmax_attempts = %s\nprofile = %s\nconfig file = %s", s.Mode, attempts, profile, file)
}
