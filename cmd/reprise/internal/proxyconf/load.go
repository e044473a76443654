package proxyconf

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Load reads a regular file. Its error names the file and, where there is one, the
// line and the key; what is wrong with keys is Faults.
func Load(name string) (Config, error) {
	text, err := readFile(name)
	if err != nil {
		return Config{}, fmt.Errorf("config %s: %w", name, err)
	}
	return Parse(name, text)
}

func withoutPath(err error) error {
	if wrapped := errors.Unwrap(err); wrapped != nil {
		return wrapped
	}
	return err
}

// Parse reads the text of a file, whose name says what format it is in.
func Parse(name string, text []byte) (Config, error) {
	if len(text) > MaxFileBytes {
		return Config{}, fmt.Errorf("config %s: is longer than %d KiB", name, MaxFileBytes>>10)
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if line, ok := tooDeep(text); ok {
		return Config{}, fmt.Errorf("config %s:%d: has more than %d brackets open or %d bytes in the line", name, line, maxDepth, maxLine)
	}
	var doc document
	var err error
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yaml", ".yml":
		doc, err = parseYAML(text)
	case ".toml":
		doc, err = parseTOML(text)
	default:
		return Config{}, fmt.Errorf("config %s: want a name that ends in .yaml, .yml or .toml, which says the format", name)
	}
	if err != nil {
		var at *lineError
		if errors.As(err, &at) {
			return Config{}, fmt.Errorf("config %s:%d: %w", name, at.line, at.err)
		}
		return Config{}, fmt.Errorf("config %s: %w", name, err)
	}
	r := &reader{name: name, lines: doc.lines}
	config := r.config(&table{r: r, keys: doc.root})
	if len(r.faults) > 0 {
		return Config{}, Faults(r.faults)
	}
	return config, nil
}

// What the parsers need grows with the square of the depth, so that is bounded
// before they see it: brackets, and what a line can nest without.
const (
	maxDepth = 64
	maxLine  = 1024
)

func tooDeep(text []byte) (line int, deep bool) {
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
				return line, true
			}
		}
		if len(one) > maxLine {
			return line, true
		}
	}
	return 0, false
}

// document is a parsed file: plain tables, and the lines of their keys by path.
type document struct {
	root  map[string]any
	lines map[string]int
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
