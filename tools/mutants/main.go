// Command mutants plants small faults in the code, one at a time, and shows that the tests catch each of them.
//
//	mutants [-json] [-run REGEXP] [-list] [-root DIR] [FILE]
//
// FILE (mutants.txt beside this program) says which faults. A fault goes into a copy of its one file, which the go
// command is told to take instead (-overlay): nothing in the checkout is ever changed. First the tests must pass without
// a fault; then each fault must make them fail. A fault whose original text is not in its file exactly once, or that does
// not compile, is an error of the list and not a catch. Progress goes to standard error.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"text/tabwriter"
	"time"
)

func main() {
	asJSON := flag.Bool("json", false, "print one JSON document instead of the table")
	only := flag.String("run", "", "plant only the faults whose name matches")
	list := flag.Bool("list", false, "print the list, plant nothing")
	root := flag.String("root", ".", "the module that the files of the list lie in")
	timeout := flag.Duration("timeout", time.Minute, "for one run of the tests; one that takes longer has caught its fault")
	flag.Parse()
	name := "tools/mutants/mutants.txt"
	if flag.NArg() > 0 {
		name = flag.Arg(0)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *root, name, *only, *list, *asJSON, *timeout); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root, name, only string, list, asJSON bool, timeout time.Duration) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-run %q: %w", only, err)
	}
	all, err := readList(name)
	if err != nil {
		return err
	}
	var chosen []mutant
	for _, m := range all {
		if pattern.MatchString(m.Name) {
			chosen = append(chosen, m)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("%s has no fault whose name matches %q", name, only)
	}
	if list {
		return print(os.Stdout, chosen, nil, asJSON)
	}
	f := field{root: root, timeout: timeout}
	if err := f.stale(chosen); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	start := time.Now()
	fmt.Fprintln(os.Stderr, "the tests without a fault...")
	if err := f.sound(ctx, chosen); err != nil {
		return err
	}
	results := make([]result, 0, len(chosen))
	bad := 0
	for i, m := range chosen {
		r, err := f.plant(ctx, m)
		if err != nil {
			return err
		}
		if r.Verdict != caught {
			bad++
		}
		fmt.Fprintf(os.Stderr, "%3d/%d %-9s %5.1fs  %-34s %s\n", i+1, len(chosen), r.Verdict, r.Seconds, m.Name, r.By)
		results = append(results, r)
	}
	if err := print(os.Stdout, chosen, results, asJSON); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d of %d caught in %v\n", len(results)-bad, len(results), time.Since(start).Round(time.Second))
	if bad > 0 {
		return fmt.Errorf("%d of %d faults were not caught by a test", bad, len(results))
	}
	return nil
}

// print writes the list, with results if there are any.
func print(w io.Writer, mutants []mutant, results []result, asJSON bool) error {
	type row struct {
		mutant
		*result
	}
	rows := make([]row, len(mutants))
	for i := range mutants {
		rows[i].mutant = mutants[i]
		if results != nil {
			rows[i].result = &results[i]
		}
	}
	if asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(map[string]any{"mutants": rows})
	}
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for i, r := range rows {
		verdict, by := "", ""
		if r.result != nil {
			verdict, by = string(r.Verdict), r.By
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\n", i+1, r.Name, r.File, verdict, by, r.Why)
	}
	return table.Flush()
}
