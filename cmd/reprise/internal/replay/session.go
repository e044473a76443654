package replay

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// Totals is what a file, or all of them, came to.
type Totals struct {
	Cases      int `json:"cases"`
	Steps      int `json:"steps"`      // that were run
	Checked    int `json:"checked"`    // of those, the file expects something of
	Mismatched int `json:"mismatched"` // of those, not as expected
	NotRun     int `json:"not_run"`    // steps behind a disagreement on whether a call goes on
	Errors     int `json:"errors"`     // faults of the file; the counts end at one of its form
}

func (t *Totals) add(o Totals) {
	t.Cases += o.Cases
	t.Steps += o.Steps
	t.Checked += o.Checked
	t.Mismatched += o.Mismatched
	t.NotRun += o.NotRun
	t.Errors += o.Errors
}

// Reporter is told what a replay finds, in the order in which it finds it.
type Reporter interface {
	BeginFile(name string)
	BeginCase(c *Case)
	Step(c *Case, r *Result)
	// EndCase is told the fault that ended the case early, if any.
	EndCase(c *Case, err error)
	// EndFile is told the fault that ended the file early, if any.
	EndFile(name string, t Totals, err error)
	// Close ends the report and returns the first error in writing it.
	Close(all Totals) error
}

// Files replays the files, "-" being stdin, one after another: a fault in one
// does not keep the next from being run. The error is one in writing the report.
func Files(names []string, stdin io.Reader, to Reporter) (Totals, error) {
	var all Totals
	for _, name := range names {
		all.add(file(name, stdin, to))
	}
	return all, to.Close(all)
}

func file(name string, stdin io.Reader, to Reporter) (t Totals) {
	var from io.Reader // nil: the file of that name
	if name == "-" {
		name, from = "standard input", stdin
	}
	to.BeginFile(name)
	err := t.replay(name, from, to)
	if err != nil {
		t.Errors++
	}
	to.EndFile(name, t, err)
	return t
}

func (t *Totals) replay(name string, from io.Reader, to Reporter) error {
	if from == nil {
		f, err := os.Open(name)
		if err != nil {
			problem := err.Error()
			if system, ok := errors.AsType[*fs.PathError](err); ok {
				problem = system.Err.Error()
			}
			return &FileError{File: name, Problem: problem}
		}
		defer f.Close()
		from = f
	}
	for c, err := range Parse(name, from) {
		if err != nil {
			return err
		}
		t.Cases++
		to.BeginCase(c)
		notRun, err := c.Run(func(r Result) {
			t.Steps++
			if r.Checked {
				t.Checked++
			}
			if len(r.Mismatches) > 0 {
				t.Mismatched++
			}
			to.Step(c, &r)
		})
		t.NotRun += notRun
		if err != nil {
			t.Errors++
		}
		to.EndCase(c, err)
	}
	return nil
}
