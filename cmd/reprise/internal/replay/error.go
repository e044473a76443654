package replay

import (
	"fmt"
	"strings"

	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
)

// FileError is what is wrong with a file, and where. Parts that are not known,
// or that the fault has nothing to do with, are zero.
type FileError struct {
	File         string
	Line, Column int    // from 1
	Case         int    // from 1
	Name         string // of the case
	Call, Step   int    // from 1
	Problem      string
}

// Error is one line: file:line:column, case, call, step, and the problem.
func (e *FileError) Error() string {
	var b strings.Builder
	b.WriteString("replay: " + e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if e.Column > 0 {
		fmt.Fprintf(&b, ":%d", e.Column)
	}
	b.WriteString(": ")
	if at := where(e.Case, e.Name, e.Call, e.Step); at != "" {
		b.WriteString(at + ": ")
	}
	b.WriteString(e.Problem)
	return scenario.Printable(b.String())
}

// where names a step: case 3 "name", call 1, step 2.
func where(number int, name string, call, step int) string {
	if number == 0 {
		return ""
	}
	at := fmt.Sprintf("case %d", number)
	if name != "" {
		at += fmt.Sprintf(" %q", name)
	}
	if call > 0 {
		at += fmt.Sprintf(", call %d", call)
	}
	if step > 0 {
		at += fmt.Sprintf(", step %d", step)
	}
	return at
}

// fault places a problem in a case; call and step 0 if it has no one place.
func (c *Case) fault(call, step int, format string, args ...any) *FileError {
	e := &FileError{File: c.file.name, Case: c.number, Name: c.Name, Call: call, Step: step, Problem: fmt.Sprintf(format, args...)}
	offset := c.offset
	if step > 0 {
		offset = c.Calls[call-1].Steps[step-1].offset
	}
	e.Line, e.Column = c.file.place(offset)
	return e
}
