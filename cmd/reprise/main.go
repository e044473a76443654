// Command reprise shows what the retry engine does and checks what it should
// do. "reprise --help" lists its commands.
//
// Exit codes: 0 done; 1 the command failed; 2 the command line is wrong; 129,
// 130 and 143 ended early by SIGHUP, SIGINT or SIGTERM; 141 nobody reads the result.
// (The proxy, which ends no other way, has 0 for a signal.) Errors are one line on
// standard error that begins with "reprise:".
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
)

// commands are what reprise can do: one struct with a Run method each.
type commands struct {
	Version kong.VersionFlag `help:"Print the version and end."`

	Drive   driveCommand   `cmd:"" help:"Drive HTTP calls through the engine, against an embedded server that fails on purpose."`
	Replay  replayCommand  `cmd:"" help:"Replay written-down calls and check what the engine decides."`
	Explain explainCommand `cmd:"" help:"Explain what a failure means: its class, the rule, the cost and the delays."`
	Storm   stormCommand   `cmd:"" help:"Simulate a fleet in trouble, under retry policies side by side."`
	Proxy   proxyCommand   `cmd:"" help:"Serve as a reverse proxy that retries as the engine decides."`
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run executes the command line and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	exit := -1
	parser, err := newParser(stdout, stderr, func(code int) { exit = code })
	if err != nil {
		return fail(stderr, err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	ctx, err := parser.Parse(args)
	if exit >= 0 { // help was asked for and printed
		return exit
	}
	if err != nil {
		return fail(stderr, usageError{inPlainWords(err)})
	}
	if err := checkFlags(ctx); err != nil {
		return fail(stderr, usageError{err})
	}
	if err := ctx.Run(streams{stdout, stderr}); err != nil {
		return fail(stderr, err)
	}
	return 0
}

func newParser(stdout, stderr io.Writer, exit func(code int)) (*kong.Kong, error) {
	return kong.New(new(commands),
		kong.Name("reprise"),
		kong.Description("A retry engine that behaves as the AWS SDKs' \"Retry Behavior 2.1\" says: shown, checked and explained."),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Writers(stdout, stderr),
		kong.Exit(exit),
		kong.Vars(defaults),
		kong.Vars{"version": "reprise " + version()},
	)
}

// version is the module's, or "devel" where it was not built as one.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

// streams are where a command writes: results to Out, everything else to Err.
type streams struct{ Out, Err io.Writer }

// usageError is a mistake in the command line.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// errorLines are errors that the user reads one by one.
type errorLines []error

func (e errorLines) Error() string { return errors.Join(e...).Error() }

// exitError ends the command with a code of its own and without a message.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// fail prints err as one line, or errorLines as theirs, and returns the exit code
// that goes with it.
func fail(stderr io.Writer, err error) int {
	var exit exitError
	if errors.As(err, &exit) {
		return int(exit)
	}
	if errors.Is(err, syscall.EPIPE) { // nobody reads the result: what SIGPIPE would have made of it
		return 128 + int(syscall.SIGPIPE)
	}
	all, several := errors.AsType[errorLines](err)
	if !several {
		all = errorLines{err}
	}
	for _, one := range all {
		// Errors of the library begin with its name: "reprise/engine: ...".
		text := strings.TrimPrefix(inOneLine(one.Error()), "reprise/")
		_, _ = fmt.Fprintf(stderr, "reprise: %s\n", scenario.Printable(text))
	}
	var usage usageError
	if errors.As(err, &usage) {
		return 2
	}
	return 1
}
