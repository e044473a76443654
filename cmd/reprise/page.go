package main

import (
	"errors"
	"fmt"

	"github.com/reprise-go/reprise/cmd/reprise/internal/report"
)

// openReport prepares to write the page of --html; nil if there is to be none.
func openReport(name string, json bool) (*report.Output, error) {
	switch name {
	case "":
		return nil, nil
	case "-":
		return nil, usageError{errors.New("--html -: want the name of a file, such as run.html or /dev/stdout")}
	}
	output, err := report.Open(name)
	if err != nil {
		return nil, err
	}
	if json && output.IsStdout() {
		output.Discard()
		return nil, usageError{fmt.Errorf("--json and --html %s both go to standard output", name)}
	}
	return output, nil
}

// deliver writes the page, if there is to be one, and prints the result; if one
// fails the other is there all the same. The page comes first: a reader of standard
// output that has gone ends the process, and nothing half written may be left then.
func deliver(output *report.Output, page func() ([]byte, error), print func() error) error {
	if output == nil {
		return print()
	}
	toStdout := output.IsStdout()
	text, err := page()
	if err == nil {
		err = output.Write(text)
	} else {
		output.Discard()
	}
	if toStdout {
		return err
	}
	return firstError(err, print())
}
