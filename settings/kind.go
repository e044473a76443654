package settings

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/reprise-go/reprise/engine"
)

// kind is what a setting is called in its two places and what it may be.
type kind[T any] struct {
	key      string // in the file
	variable string // in the environment
	want     string // the valid values, for people
	parse    func(text string) (T, bool)
}

var modeKind = kind[engine.Mode]{
	key:      "retry_mode",
	variable: "AWS_RETRY_MODE",
	want:     "standard, adaptive or legacy",
	parse: func(text string) (engine.Mode, bool) {
		mode, err := engine.ParseMode(text)
		return mode, err == nil
	},
}

var maxAttemptsKind = kind[int]{
	key:      "max_attempts",
	variable: "AWS_MAX_ATTEMPTS",
	want:     fmt.Sprintf("an integer from 1 (no retries) to %d, the first attempt included", math.MaxInt32),
	parse: func(text string) (int, bool) {
		n, err := strconv.ParseInt(text, 10, 32)
		return int(n), err == nil && n > 0
	},
}

// load gathers what the environment and the section say.
func (k kind[T]) load(o Opts, found section) (Setting[T], error) {
	var s Setting[T]
	var faults []error
	say := func(text string, source Source) {
		if value, ok := k.parse(strings.TrimSpace(text)); ok {
			s.Said = append(s.Said, Said[T]{value, source})
		} else {
			faults = append(faults, fmt.Errorf("reprise/settings: %s = %s (%v): want %s", k.key, quote(text), source, k.want))
		}
	}
	if text := o.getenv(k.variable); strings.TrimSpace(text) != "" {
		say(text, Source{Variable: k.variable})
	}
	if entry, ok := found.entries[k.key]; ok {
		source := found.source
		source.Line = entry.line
		say(entry.text, source)
	}
	return s, errors.Join(faults...)
}

// quote shows the start of a value, however long it is.
func quote(text string) string {
	const most = 40
	if len(text) > most {
		return fmt.Sprintf("%q... (%d bytes)", text[:most], len(text))
	}
	return strconv.Quote(text)
}
