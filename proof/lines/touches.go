package main

import (
	"fmt"
	"strings"
)

// touches is what one operation of a path does to cache lines: how often it writes
// or reads a word. A line is shared if another processor that walks the same path
// touches it too; else it is the processor's own.
type touches struct {
	path         string
	sharedWrites int // compare-and-swaps and adds too, whether or not they change anything
	hottest      int // of these, on the line that has the most
	sharedReads  int
	ownWrites    int
}

const touchesHeader = `# What one operation of each hot path does to words that processors could share; kept by make loom, which counts
# them again and fails when one differs. Written by
#     go test -C proof -tags reprise_loom -run TestLines ./lines -args -update
`

func format(all []touches) string {
	var text strings.Builder
	text.WriteString(touchesHeader)
	fmt.Fprintf(&text, "%-40s %14s %14s %14s %14s\n", "# path", "shared-writes", "on-one-line", "shared-reads", "own-writes")
	for _, t := range all {
		fmt.Fprintf(&text, "%-40s %14d %14d %14d %14d\n", t.path, t.sharedWrites, t.hottest, t.sharedReads, t.ownWrites)
	}
	return text.String()
}

func parseTouches(text string) (all []touches, err error) {
	for _, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		var t touches
		if _, err := fmt.Sscan(line, &t.path, &t.sharedWrites, &t.hottest, &t.sharedReads, &t.ownWrites); err != nil {
			return nil, fmt.Errorf("%q: want a path and four counts: %w", line, err)
		}
		all = append(all, t)
	}
	return all, nil
}
