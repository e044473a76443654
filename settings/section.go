package settings

import (
	"strconv"
	"strings"

	"gopkg.in/ini.v1"

	"github.com/reprise-go/reprise/internal/invariant"
)

// section is what the file says in one profile.
type section struct {
	entries map[string]entry // by the setting's name in lower case
	source  Source
}

// entry is one setting as it stands in the file.
type entry struct {
	text string
	line int
}

// profiles are a file's sections that are, or look like, profiles.
type profiles struct {
	named map[string]map[string]entry // [profile NAME]
	bare  map[string]map[string]entry // [NAME], which is a profile if the name is default
}

// find returns a profile's settings. [profile default] replaces [default].
func (p profiles) find(name string) (section, bool) {
	if entries := p.named[name]; entries != nil {
		return section{entries: entries}, true
	}
	if name != defaultProfile {
		return section{}, false
	}
	return section{entries: p.bare[name]}, p.bare[name] != nil
}

// syntax makes the INI reader understand what AWS's tools do. Sections of one
// name stay apart, for which names are one is ours to say, and then the last of
// all counts.
var syntax = ini.LoadOptions{
	AllowNonUniqueSections:   true,
	InsensitiveKeys:          true,
	IgnoreContinuation:       true, // a value may end in a backslash
	SpaceBeforeInlineComment: true, // and hold a "#"
}

// parseProfiles reads a config file.
func parseProfiles(data []byte) (profiles, error) {
	source := newLines(data)
	file, err := ini.LoadSources(syntax, source)
	if err != nil {
		return profiles{}, source.fault()
	}
	found := profiles{make(map[string]map[string]entry), make(map[string]map[string]entry)}
	for _, from := range file.Sections()[1:] { // the first holds what stands before any header, which AWS's tools ignore
		entries := found.section(from.Name())
		for _, key := range from.Keys() {
			entries[key.Name()] = entry{strings.TrimPrefix(key.Value(), mark), lineOf(key)}
		}
	}
	return found, nil
}

// lineOf returns the line that the comment before a setting numbers.
func lineOf(key *ini.Key) int {
	comment, _, _ := strings.Cut(key.Comment, "\n")
	line, err := strconv.Atoi(strings.TrimPrefix(comment, "#"))
	if invariant.Enabled {
		invariant.Check(err == nil, "settings: no line number in a comment")
	}
	return line
}

// section returns the settings of the section with this header so far. A header
// that is no profile's gets a map that nobody keeps.
func (p profiles) section(header string) map[string]entry {
	header, _, _ = strings.Cut(header, "]") // a comment after the header may hold one too
	header = strings.TrimSpace(header)
	within, name := p.bare, header
	if word, rest, ok := strings.Cut(header, " "); ok {
		if word != "profile" {
			return make(map[string]entry)
		}
		within, name = p.named, unquote(strings.TrimSpace(rest))
	}
	if within[name] == nil {
		within[name] = make(map[string]entry)
	}
	return within[name]
}

// unquote drops the quotes that AWS's CLI puts around a name with blanks.
func unquote(name string) string {
	if n := len(name); n > 1 && name[0] == name[n-1] && (name[0] == '"' || name[0] == '\'') {
		return name[1 : n-1]
	}
	return name
}
