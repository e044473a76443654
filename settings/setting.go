package settings

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Setting is one setting: every value that was said, the one that counts first.
// The zero Setting was said nowhere.
type Setting[T any] struct {
	Said []Said[T] // highest precedence first
}

// Said is a value and who said it.
type Said[T any] struct {
	Value  T      // what was said, checked (R1.3)
	Source Source // who said it
}

// Source is who said a value. One of Option, Variable and File is set; the zero
// Source is the built-in default.
type Source struct {
	Option   string // "Opts.File" or "Opts.Profile", the field that said it
	Variable string // name of the environment variable that said it
	File     string // path of the file that said it
	Line     int    // line in File, from 1
	Profile  string // profile in File
}

// Value returns the value that counts. If nobody said one it is T's zero value:
// [engine.Standard], and 0 for the attempts, of which each service has its own
// default.
func (s Setting[T]) Value() T {
	if len(s.Said) == 0 {
		var zero T
		return zero
	}
	return s.Said[0].Value
}

// Source returns who said the value that counts, the zero Source if nobody did.
func (s Setting[T]) Source() Source {
	if len(s.Said) == 0 {
		return Source{}
	}
	return s.Said[0].Source
}

// Set reports whether anybody said a value, so that the default does not count.
func (s Setting[T]) Set() bool { return s.Source() != Source{} }

// String returns the value that counts, who said it, and what the others said:
// "5 (AWS_MAX_ATTEMPTS); file said 7".
func (s Setting[T]) String() string {
	text := fmt.Sprintf("%v (%v)", shownValue(s.Value()), s.Source())
	for _, lower := range s.Said[min(1, len(s.Said)):] {
		switch {
		case lower.Source.File != "":
			text += fmt.Sprintf("; file said %v", shownValue(lower.Value))
		case lower.Source != Source{}:
			text += fmt.Sprintf("; %v said %v", lower.Source, shownValue(lower.Value))
		}
	}
	return text
}

// String names the source: "AWS_PROFILE", "Opts.File", "default", or the place
// in the file, `/etc/aws/config:12, profile "prod"`.
func (s Source) String() string {
	switch {
	case s.Option != "":
		return s.Option
	case s.Variable != "":
		return s.Variable
	case s.File != "":
		return fmt.Sprintf("%s:%d, profile %q", shown(s.File), s.Line, s.Profile)
	default:
		return "default"
	}
}

// shown returns a name as it is, or quoted if it would break the line or a
// terminal would obey it.
func shown(name string) string {
	odd := func(r rune) bool { return !strconv.IsPrint(r) }
	if utf8.ValidString(name) && strings.IndexFunc(name, odd) < 0 {
		return name
	}
	return strconv.Quote(name)
}

func shownValue(value any) any {
	if name, ok := value.(string); ok {
		return shown(name)
	}
	return value
}
