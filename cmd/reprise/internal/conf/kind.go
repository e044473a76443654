package conf

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// MaxFileBytes bounds a file.
const MaxFileBytes = 1 << 20

// Kind is what files are for, in the words of their errors.
type Kind struct {
	Name    string // such as "config": errors begin with it and the file's name
	Key     string // one that is at the top
	Empty   string // what a file must have at least
	Share   string // what there is in place of aliases, or ""
	Regular string // why a file must be a regular one, after a comma, or ""
}

var errEmpty = errors.New("is empty")

// Load reads a regular file. Its error names the file and, where there is one, the
// line and the key; what is wrong with keys is Faults.
func (k Kind) Load(name string, read func(root *Table)) error {
	text, err := k.readFile(name)
	if err != nil {
		return fmt.Errorf("%s %s: %w", k.Name, name, err)
	}
	return k.Parse(name, text, read)
}

// Parse reads the text of a file, whose name says what format it is in. read is
// given the table of its keys, and calls its Done.
func (k Kind) Parse(name string, text []byte, read func(root *Table)) error {
	if len(text) > MaxFileBytes {
		return fmt.Errorf("%s %s: is longer than %d KiB", k.Name, name, MaxFileBytes>>10)
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(text) {
		return fmt.Errorf("%s %s:%d: is not UTF-8: want a text file in that encoding", k.Name, name, notUTF8(text))
	}
	if line, what := tooDeep(text); what != "" {
		return fmt.Errorf("%s %s:%d: %s", k.Name, name, line, what)
	}
	var doc document
	var err error
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yaml", ".yml":
		doc, err = k.parseYAML(text)
	case ".toml":
		doc, err = parseTOML(text)
	default:
		return fmt.Errorf("%s %s: want a name that ends in .yaml, .yml or .toml, which says the format", k.Name, name)
	}
	if err == errEmpty {
		return fmt.Errorf("%s %s: %w: want at least %s", k.Name, name, err, k.Empty)
	}
	if err != nil {
		var at *lineError
		if errors.As(err, &at) {
			return fmt.Errorf("%s %s:%d: %w%s", k.Name, name, at.line, at.err, k.misnamed(name, text))
		}
		return fmt.Errorf("%s %s: %w", k.Name, name, err)
	}
	r := &reader{kind: k, name: name, document: doc}
	read(&Table{r: r, keys: doc.root})
	if len(r.faults) > 0 {
		return Faults(r.faults)
	}
	return nil
}

// misnamed says so of a file that is in the other format than its name tells.
func (k Kind) misnamed(name string, text []byte) string {
	if strings.EqualFold(filepath.Ext(name), ".toml") {
		if doc, err := k.parseYAML(text); err == nil && len(doc.root) > 0 {
			return "; it is YAML: want a name that ends in .yaml"
		}
		return ""
	}
	if _, err := parseTOML(text); err == nil {
		return "; it is TOML: want a name that ends in .toml"
	}
	return ""
}

// notUTF8 is the first line that is not UTF-8; 0 if all are.
func notUTF8(text []byte) (line int) {
	for one := range bytes.Lines(text) {
		line++
		if !utf8.Valid(one) {
			return line
		}
	}
	return 0
}

// What the parsers need grows with the square of the depth, so that is bounded
// before they see it: brackets, and what a line can nest without.
const (
	maxDepth = 64
	maxLine  = 1024
)

// tooDeep is what of a text is, and in which line; "" if nothing is.
func tooDeep(text []byte) (line int, what string) {
	depth := 0
	for one := range bytes.Lines(text) {
		line++
		for _, c := range one {
			switch c {
			case '[', '{':
				depth++
			case ']', '}':
				depth = max(depth-1, 0)
			}
			if depth > maxDepth {
				return line, fmt.Sprintf("has more than %d brackets open: want fewer", maxDepth)
			}
		}
		if len(one) > maxLine {
			return line, fmt.Sprintf("has more than %d bytes in the line: want it in several", maxLine)
		}
	}
	return 0, ""
}

// document is a parsed file: plain tables, and the lines of their keys by path.
type document struct {
	root    map[string]any
	lines   map[string]int
	scalars map[string]string // of YAML, those without quotes
}

// lineError is what the library of a format says of a line.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

// join is the path of a key in the table at path.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// item is the path of an element of the list at path.
func item(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
