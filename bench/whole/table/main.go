// Command table makes a Markdown table of what go test -bench has printed: the median
// of all rounds for each path, implementation and number of processors, from names
// of the form path=get/impl=reprise/procs=2. It reads standard input.
package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

// key is a row's name; a unit's values are by processors.
type key struct{ path, impl string }

type results struct {
	order  []key
	values map[key]map[string][]float64 // by unit and processors: "ns/op 2"
	rounds int
}

func run(in io.Reader, out io.Writer) error {
	r, err := readResults(in)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Medians of %d rounds.\n\n| path | with | ns, 1 proc | ns, 2 procs | B/op | allocs/op | heap B each | heap objects each |\n|---|---|--:|--:|--:|--:|--:|--:|\n", r.rounds)
	for _, k := range r.order {
		fmt.Fprintf(out, "| %s | %s |", k.path, k.impl)
		for _, column := range []string{"ns/op 1", "ns/op 2", "B/op 1", "allocs/op 1", "heap-B/policy 1", "heap-objects/policy 1"} {
			fmt.Fprintf(out, " %s |", median(r.values[k][column]))
		}
		fmt.Fprintln(out)
	}
	return nil
}

func readResults(in io.Reader) (results, error) {
	r := results{values: make(map[key]map[string][]float64)}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		said := make(map[string]string)
		for _, part := range strings.Split(nameOf(fields[0]), "/") {
			if word, value, ok := strings.Cut(part, "="); ok {
				said[word] = value
			}
		}
		k := key{said["path"], said["impl"]}
		if k.path == "" || k.impl == "" || said["procs"] == "" {
			return r, fmt.Errorf("%q: want path=, impl= and procs= in the name", fields[0])
		}
		if r.values[k] == nil {
			r.values[k] = make(map[string][]float64)
			r.order = append(r.order, k)
		}
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return r, fmt.Errorf("%q: want a value and its unit in turn", lines.Text())
			}
			column := fields[i+1] + " " + said["procs"]
			r.values[k][column] = append(r.values[k][column], v)
			r.rounds = max(r.rounds, len(r.values[k][column]))
		}
	}
	slices.SortFunc(r.order, func(a, b key) int { return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.impl, b.impl)) })
	if len(r.order) == 0 {
		return r, fmt.Errorf("no benchmark in the input")
	}
	return r, nil
}

// nameOf is a benchmark's name without the number of processors that go test adds.
func nameOf(field string) string {
	if i := strings.LastIndexByte(field, '-'); i > 0 {
		if _, err := strconv.Atoi(field[i+1:]); err == nil {
			return field[:i]
		}
	}
	return field
}

func median(of []float64) string {
	if len(of) == 0 {
		return ""
	}
	slices.Sort(of)
	m := of[len(of)/2]
	if len(of)%2 == 0 {
		m = (m + of[len(of)/2-1]) / 2
	}
	return strconv.FormatFloat(m, 'f', 0, 64)
}
