package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reprise-go/reprise/proof/internal/hot"
)

// row is what a path is known to cost, and why it is what it is.
type row struct {
	path   string
	count  float64 // instructions of one operation
	reason string  // of the latest change, in a few words
}

// baseline is the counts that were agreed on.
type baseline struct {
	by   string // what has compiled and what has counted
	rows []row  // in the order of the paths
}

const (
	byWord = "# counted by: "
	header = `# What each hot path costs in instructions, without what its caller would do anyway and without the padding of
# jumps. make instructions compares with it and fails when a path grows by more than a tenth. It is changed by
#     make instructions ARGS='-update -reason "why"'
# which gives the reason to the rows that change, in the commit that changes them.
`
)

// growth is by how much a path may grow.
const growth = 0.10

func (b baseline) find(path string) (row, bool) {
	i := slices.IndexFunc(b.rows, func(r row) bool { return r.path == path })
	if i < 0 {
		return row{}, false
	}
	return b.rows[i], true
}

func (b baseline) String() string {
	var text strings.Builder
	text.WriteString(header)
	text.WriteString(byWord + b.by + "\n")
	width := 0
	for _, r := range b.rows {
		width = max(width, len(r.path))
	}
	for _, r := range b.rows {
		fmt.Fprintf(&text, "%-*s  %8s  %s\n", width, r.path, number(r.count), r.reason)
	}
	return text.String()
}

// number has no more digits than tell something.
func number(count float64) string {
	return strconv.FormatFloat(count, 'f', -1, 64)
}

// parse reads a baseline. Every row must have its reason.
func parse(text string) (baseline, error) {
	var b baseline
	for i, line := range strings.Split(text, "\n") {
		if by, ok := strings.CutPrefix(line, byWord); ok {
			b.by = by
		}
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 3 {
			return b, fmt.Errorf("line %d of the baseline is %q: want a path, its count and the reason", i+1, line)
		}
		n, err := strconv.ParseFloat(fields[1], 64)
		if err != nil || n < 0 {
			return b, fmt.Errorf("line %d of the baseline: the count of %s is %q: want instructions, 0 or more", i+1, fields[0], fields[1])
		}
		if _, twice := b.find(fields[0]); twice {
			return b, fmt.Errorf("line %d of the baseline: %s has a row already", i+1, fields[0])
		}
		b.rows = append(b.rows, row{fields[0], n, strings.Join(fields[2:], " ")})
	}
	if b.by == "" {
		return b, fmt.Errorf("the baseline does not say by what it was counted: want a line %q", byWord)
	}
	return b, nil
}

// updated is the baseline for what was counted now. A row whose count is another
// gets the reason; what was not counted stays; paths that are no more go.
func (b baseline) updated(by string, paths []hot.Path, now counts, reason string) baseline {
	next := baseline{by: by}
	for _, path := range paths {
		r, known := b.find(path.Name)
		if n, counted := now[path.Name]; counted && (!known || rounded(n.net) != r.count) {
			r = row{path.Name, rounded(n.net), reason}
		} else if !known {
			continue
		}
		next.rows = append(next.rows, r)
	}
	return next
}

// rounded drops the digits that come from the size of an allocator's blocks.
func rounded(count float64) float64 {
	n, _ := strconv.ParseFloat(strconv.FormatFloat(count, 'f', 2, 64), 64)
	if n >= 100 {
		n, _ = strconv.ParseFloat(strconv.FormatFloat(count, 'f', 0, 64), 64)
	}
	return n
}
