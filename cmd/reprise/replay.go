package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/reprise-go/reprise/cmd/reprise/internal/replay"
)

// replayCommand is `reprise replay`.
type replayCommand struct {
	Files   []string `arg:"" name:"file" help:"Files to replay; - is standard input."`
	Verbose bool     `short:"v" xor:"detail" help:"Show every step, not only those with something that the file does not expect."`
	Quiet   bool     `short:"q" xor:"detail" help:"Show only what is not as expected."`
	JSON    bool     `name:"json" xor:"detail" help:"Print one JSON document instead."`
}

// Help is the long help of the command.
func (replayCommand) Help() string {
	return `Runs the calls of each case on an engine of its own, without waiting, and compares outcome, quota and delay of each step, in adaptive mode also the limiter's rates and waits, with what the file expects. What the file does not expect is shown.

The format is described in testdata/vectors/README.md. It is read strictly: a key it does not know is an error.

Exit codes: 0 all as expected, 1 something is not, 2 a file or the command line is wrong.

Keys of --json: schema, files (file, cases, totals, error), totals (cases, steps, checked, mismatched, not_run, errors), ok. Of a case: case, name, steps, error. Of a step: call, step, line, class, rule, clause, outcome, quota, delay_ms, fill_rate, measured_tx_rate, admit_wait_ms, mismatches (key, wanted, got). What does not apply is left out.

Examples:
  reprise replay testdata/vectors/standard.json testdata/vectors/retry_after.json
  reprise replay -v calls.json
  generate-calls | reprise replay --json - | jq .totals`
}

// Run replays the files.
func (c *replayCommand) Run(out streams) error {
	stdin := false
	for _, name := range c.Files {
		if name == "" {
			return usageError{errors.New("replay: the name of a file is empty")}
		}
		if name == "-" && stdin {
			return usageError{errors.New("replay: standard input (-) is there twice")}
		}
		stdin = stdin || name == "-"
	}
	totals, err := replay.Files(c.Files, os.Stdin, c.reporter(out))
	switch {
	case err != nil:
		return fmt.Errorf("replay: result: %w", err)
	case totals.Errors > 0:
		return exitError(2)
	case totals.Mismatched > 0:
		return exitError(1)
	}
	return nil
}

func (c *replayCommand) reporter(out streams) replay.Reporter {
	switch {
	case c.JSON:
		return replay.NewJSON(out.Out, out.Err)
	case c.Verbose:
		return replay.NewText(out.Out, out.Err, replay.Full, width(out.Out))
	case c.Quiet:
		return replay.NewText(out.Out, out.Err, replay.Quiet, width(out.Out))
	default:
		return replay.NewText(out.Out, out.Err, replay.News, width(out.Out))
	}
}
