package replay

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Detail is how much a text report shows.
type Detail uint8

// The details; the zero Detail is News.
const (
	News  Detail = iota // mismatches, and steps with something the file does not expect
	Quiet               // mismatches
	Full                // every step
)

// maxRows is how many steps a table holds before it is printed.
const maxRows = 10_000

// Text reports for people: results to out, faults to faults.
type Text struct {
	out        *bufio.Writer
	faults     io.Writer
	detail     Detail
	columns    int        // of the terminal; 0 is any number
	rows       [][]string // of the case's steps to show
	mismatches []string
}

// NewText returns a reporter that shows this much, in tables that a terminal of so many
// columns does not break where it has 80 or more; 0 is any number.
func NewText(out, faults io.Writer, detail Detail, columns int) *Text {
	return &Text{out: bufio.NewWriter(out), faults: faults, detail: detail, columns: columns}
}

// BeginFile is of Reporter.
func (t *Text) BeginFile(string) {}

// BeginCase is of Reporter.
func (t *Text) BeginCase(*Case) {}

// Step is of Reporter.
func (t *Text) Step(c *Case, r *Result) {
	for _, m := range r.Mismatches {
		t.mismatches = append(t.mismatches, fmt.Sprintf("%s:%d: %s: %s", c.file.name, r.Line, where(c.number, c.Name, r.Call, r.Step), m))
	}
	if t.detail == Full || t.detail == News && r.News {
		t.rows = append(t.rows, cells(r))
		if len(t.rows) == maxRows {
			t.flush(c)
		}
	}
}

// flush prints what is known of a case so far.
func (t *Text) flush(c *Case) {
	if len(t.rows) > 0 {
		fmt.Fprintf(t.out, "%s: %s\n%s", c.file.name, where(c.number, c.Name, 0, 0), table(t.rows, t.columns))
		t.rows = nil
	}
	for _, line := range t.mismatches {
		fmt.Fprintln(t.out, line)
	}
	t.mismatches = nil
}

// EndCase is of Reporter.
func (t *Text) EndCase(c *Case, err error) {
	t.flush(c)
	t.fault(err)
}

// EndFile is of Reporter.
func (t *Text) EndFile(name string, totals Totals, err error) {
	if err == nil {
		fmt.Fprintf(t.out, "%s: %s\n", name, totals)
	}
	t.fault(err)
}

// fault prints an error behind what was found before it.
func (t *Text) fault(err error) {
	if err != nil {
		_ = t.out.Flush() // a bufio.Writer keeps its error for Close
		fmt.Fprintf(t.faults, "reprise: %v\n", err)
	}
}

// Close is of Reporter.
func (t *Text) Close(Totals) error { return t.out.Flush() }

// String is the totals in words: 21 cases, 56 steps, all as expected.
func (t Totals) String() string {
	parts := []string{count(t.Cases, "case"), count(t.Steps, "step")}
	matched := t.Checked - t.Mismatched
	if t.Checked > 0 && matched == t.Steps && t.NotRun == 0 {
		parts = append(parts, "all as expected")
	} else {
		parts = append(parts, fmt.Sprintf("%d as expected", matched))
	}
	for _, rest := range []struct {
		n    int
		what string
	}{
		{t.Mismatched, "not as expected"},
		{t.Steps - t.Checked, "with nothing expected"},
		{t.NotRun, "not run"},
	} {
		if rest.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", rest.n, rest.what))
		}
	}
	if t.Errors > 0 {
		parts = append(parts, count(t.Errors, "error"))
	}
	return strings.Join(parts, ", ")
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
