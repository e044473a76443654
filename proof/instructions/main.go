// Command instructions counts what the hot paths cost in instructions, which no
// noise of the machine can change, and compares with what was agreed on:
//
//	instructions [-only WORD] [-update -reason WHY] [-keep DIR]
//
// It runs itself under callgrind (valgrind), amd64 only. A path's count is the
// difference of two loops of different length, divided by the difference, less that
// of the bare op in the same loop; the compiler's padding is left out. It is the
// same each time, to the instruction, but for the paths that allocate.
//
// It fails when a path has grown by more than a tenth, when one costs more than the
// path that it must equal (see hot.Path.Like), when a path has no row, and when a
// row of the baseline was raised, in any of the latest commits that changed it or
// since, without a reason of its own. A path that shrinks is no fault: -update
// notes it.
//
// Counts depend on the compiler and, here and there, on what the processor can do,
// so the baseline says by what it was counted. Where that was another compiler the
// comparison is the same, and so is the exit, but its first line says so: a path
// that has grown is then the compiler's or ours, and -update -reason "go1.27" is
// the way on.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/reprise-go/reprise/proof/internal/hot"
)

const (
	// measureWord is the first argument of the process under valgrind, which finds
	// the paths it is to walk in onlyVariable.
	measureWord  = "measure"
	onlyVariable = "REPRISE_PATHS"

	baselineFile = "baseline.txt"
	// checkedCommits is how far back raised rows must have a reason.
	checkedCommits = 20
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == measureWord {
		wanted := strings.Fields(os.Getenv(onlyVariable))
		if err := measure(func(name string) bool { return slices.Contains(wanted, name) }); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err := gate(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "instructions:", err)
		os.Exit(1)
	}
}

// gate counts and compares. The working folder is that of the baseline.
func gate(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("instructions", flag.ContinueOnError)
	only := flags.String("only", "", "count the paths with this `word` in their name, and what they are over; with -update, change their rows alone")
	update := flags.Bool("update", false, "rewrite the baseline")
	reason := flags.String("reason", "", "with -update: `why` the rows that change do so")
	keep := flags.String("keep", "", "keep callgrind's dumps in this `folder`, for callgrind_annotate")
	if err := flags.Parse(args); err != nil {
		return err
	}
	*reason = strings.Join(strings.Fields(*reason), " ")
	if *update != (*reason != "") {
		return errors.New("-update and -reason go together: the reason is noted beside each row that changes")
	}
	if runtime.GOARCH != "amd64" {
		return fmt.Errorf("counts on amd64 alone, and this is %s: the baseline and the sign that valgrind knows are amd64's", runtime.GOARCH)
	}
	text, err := os.ReadFile(baselineFile)
	if err != nil && !*update {
		return err
	}
	var agreed baseline
	if err == nil {
		if agreed, err = parse(string(text)); err != nil {
			return err
		}
	}
	dir := *keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "instructions"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	paths := hot.Paths()
	now, err := count(dir, wanted(paths, *only), log(*keep, out))
	if err != nil {
		return err
	}
	by := countedBy()
	if agreed.by != by && agreed.by != "" {
		fmt.Fprintf(out, "NOTICE: the baseline was counted by %s and this is %s: what has grown may be the compiler's.\n\n", agreed.by, by)
	}
	faults := compare(out, paths, agreed, now)
	if *update {
		next := agreed.updated(by, paths, now, *reason)
		return os.WriteFile(baselineFile, []byte(next.String()), 0o644)
	}
	versions, note := past(checkedCommits)
	if note != "" {
		fmt.Fprintln(out, "NOTICE:", note)
	}
	after := agreed
	for _, before := range versions {
		faults = append(faults, unexplained(before, after)...)
		after = before
	}
	if len(faults) > 0 {
		return errors.New(strings.Join(append([]string{fmt.Sprintf("%d faults:", len(faults))}, faults...), "\n  ") +
			"\nIf it has to be: make instructions ARGS='-update -reason \"why\"', in the commit that makes it so.")
	}
	return nil
}

// wanted are the paths with word in their name, and those beneath them.
func wanted(paths []hot.Path, word string) func(name string) bool {
	var names []string
	for _, path := range paths {
		if strings.Contains(path.Name, word) {
			names = append(names, path.Name, path.Over, path.Like)
		}
	}
	for _, path := range paths {
		if path.Name != "" && slices.Contains(names, path.Name) {
			names = append(names, path.Over) // of those that others are like
		}
	}
	return func(name string) bool { return slices.Contains(names, name) }
}

func log(keep string, out io.Writer) io.Writer {
	if keep == "" {
		return io.Discard
	}
	return out
}

// countedBy says what the counts depend on.
func countedBy() string {
	version, err := exec.Command("valgrind", "--version").Output()
	if err != nil {
		version = []byte("an unknown valgrind")
	}
	return fmt.Sprintf("%s %s/%s, %s", runtime.Version(), runtime.GOOS, runtime.GOARCH, strings.TrimSpace(string(version)))
}
