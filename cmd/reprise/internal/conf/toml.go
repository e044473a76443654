package conf

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"sort"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// parseTOML reads a document.
func parseTOML(text []byte) (document, error) {
	doc := document{lines: make(map[string]int)}
	if err := toml.Unmarshal(text, &doc.root); err != nil {
		var at *toml.DecodeError
		if !errors.As(err, &at) {
			return document{}, fmt.Errorf("is not TOML: %w", err)
		}
		line, column := at.Position()
		return document{}, &lineError{line, fmt.Errorf("is not TOML: %w%s", err, wantInTOML(text, line, column))}
	}
	if len(doc.root) == 0 {
		return document{}, errEmpty
	}
	w := tomlWalk{doc: &doc, count: make(map[string]int)}
	for i, c := range text {
		if c == '\n' {
			w.ends = append(w.ends, i)
		}
	}
	w.p.Reset(text)
	for path := ""; w.p.NextExpression(); {
		switch e := w.p.Expression(); e.Kind {
		case unstable.Table:
			path = w.keys("", e.Key(), false)
		case unstable.ArrayTable:
			path = w.keys("", e.Key(), true)
		case unstable.KeyValue:
			w.pair(e, path)
		}
	}
	return doc, nil
}

// tomlWalk notes the lines of keys, of a document that has been read already.
type tomlWalk struct {
	p     unstable.Parser
	doc   *document
	count map[string]int // of [[tables]], by path
	ends  []int          // offsets of the line ends
}

// keys notes a dotted key in the table at path and returns the path of what it
// names. A name that is a list of tables means the latest one; begins says that
// the last name begins a new one.
func (w *tomlWalk) keys(path string, it unstable.Iterator, begins bool) string {
	for it.Next() {
		n := it.Node()
		path = join(path, string(n.Data))
		line := 1 + sort.SearchInts(w.ends, int(n.Raw.Offset)) // Parser.Shape would count from the start each time
		if _, noted := w.doc.lines[path]; !noted {
			w.doc.lines[path] = line
		}
		list := path
		if begins && it.IsLast() {
			w.count[list]++
		}
		if n := w.count[list]; n > 0 {
			path = item(list, n-1)
		}
		if _, noted := w.doc.lines[path]; !noted {
			w.doc.lines[path] = line
		}
	}
	return path
}

func (w *tomlWalk) pair(n *unstable.Node, path string) {
	w.value(n.Value(), w.keys(path, n.Key(), false))
}

func (w *tomlWalk) value(n *unstable.Node, path string) {
	switch n.Kind {
	case unstable.InlineTable:
		for it := n.Children(); it.Next(); {
			w.pair(it.Node(), path)
		}
	case unstable.Array:
		i := 0
		for it := n.Children(); it.Next(); i++ {
			w.doc.lines[item(path, i)] = w.doc.lines[path]
			w.value(it.Node(), item(path, i))
		}
	}
}

// wantInTOML says what would be right in place of the value that the parser stopped
// at, if it is what people take for a number or a duration; else nothing.
func wantInTOML(text []byte, line, column int) string {
	lines := bytes.Split(text, []byte("\n"))
	if line < 1 || line > len(lines) {
		return ""
	}
	all := string(lines[line-1])
	at := min(max(column-1, 0), len(all))
	begin := 1 + strings.LastIndexAny(all[:at], "=[{,")
	value, _, _ := strings.Cut(all[begin:], "#")
	if end := strings.IndexAny(value, "]},"); end >= 0 && !strings.Contains(all[:begin], "\"") {
		value = value[:end]
	}
	if value = strings.TrimSpace(value); begin == 0 {
		return ""
	}
	number := insteadOf(value)
	switch d, err := time.ParseDuration(value); {
	case value == "":
		return ": want a value"
	case octal.MatchString(value):
		return ": " + ambiguous(scalar{value, true}).Error()
	case number == value || strings.Contains(value, "_"): // the mistake is another one
		return ""
	case number != "":
		return ": want a number such as " + number
	case err == nil:
		return fmt.Sprintf(": want %q, in quotes", d)
	case word.MatchString(value):
		return fmt.Sprintf(": want %q, in quotes", value)
	}
	return ""
}

// word is a text that YAML takes without quotes.
var word = regexp.MustCompile(`^[A-Za-z][A-Za-z_-]*$`)
