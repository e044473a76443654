package settings

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"unicode"
)

// mark stands before a value that starts with a quote only the INI reader
// knows. A file that holds one is refused, so it cannot be the value's own.
const mark = "\x00"

// lines hands a config file to the INI reader a line at a time, so that it can
// say at which one the reader stopped. Before each line it puts the line's
// number as a comment, for the reader keeps with each setting the comment before
// it. What INI and AWS's config format understand differently ends here:
//
//   - A line that is indented deeper than the setting above it in its section
//     belongs to that setting (a nested block, a continued value) and is left
//     out: the settings we look for have no such lines. Sections that are
//     indented as a whole are read, as AWS's CLI does.
//   - A tab is a blank, and a lone CR ends a line.
//   - A quote that the reader would follow over any number of lines (one
//     backquote, three double quotes) gets a mark before it, so that it is a
//     character like others; a name in quotes is none of ours and left out.
type lines struct {
	rest   []byte
	number int  // of the last line handed on, from 1
	header bool // that line is a section's header

	indent int  // blanks before the last setting
	inside bool // there is a setting in this section so far

	out bytes.Buffer
}

func newLines(data []byte) *lines {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
	return &lines{rest: bytes.ReplaceAll(data, []byte("\t"), []byte(" "))}
}

// Read implements io.Reader. It never returns bytes of two lines at once.
func (l *lines) Read(p []byte) (int, error) {
	if l.out.Len() == 0 && !l.next() {
		return 0, io.EOF
	}
	return l.out.Read(p)
}

// next finds the next line that means something to us.
func (l *lines) next() bool {
	for len(l.rest) > 0 {
		var line []byte
		line, l.rest, _ = bytes.Cut(l.rest, []byte("\n"))
		l.number++
		text := bytes.TrimLeftFunc(line, unicode.IsSpace)
		if len(text) == 0 || text[0] == '#' || text[0] == ';' {
			continue
		}
		indent := len(line) - len(text)
		if l.inside && indent > l.indent {
			continue
		}
		l.header = text[0] == '['
		l.indent, l.inside = indent, !l.header
		if text[0] == '"' || text[0] == '`' {
			continue
		}
		fmt.Fprintf(&l.out, "#%d\n%s\n", l.number, marked(text))
		return true
	}
	return false
}

// fault says why the INI reader stopped where it did, in words of our own: its
// error repeats the line, which may be a secret.
func (l *lines) fault() error {
	if l.header {
		return fmt.Errorf("line %d: want [SECTION]", l.number)
	}
	return fmt.Errorf("line %d: want NAME = VALUE", l.number)
}

// marked puts the mark before a value that needs one.
func marked(text []byte) []byte {
	start := bytes.IndexAny(text, "=:") + 1
	value := bytes.TrimSpace(text[start:])
	if start == 0 || !bytes.HasPrefix(value, []byte("`")) && !bytes.HasPrefix(value, []byte(`"""`)) {
		return text
	}
	return slices.Concat(text[:start], []byte(mark), value)
}
