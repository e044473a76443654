package reprise_test

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// timeRows are the rows of README's table of times, and which of RESULTS.md each is.
var timeRows = map[string][2]string{
	"success at the first attempt, `Call`":             {"success", "reprise-call"},
	"the same, `Do`":                                   {"success", "reprise"},
	"the same in adaptive mode, never throttled, `Do`": {"limiter-off", "reprise"},
	"the same, quota not full, `Do`":                   {"success-moving", "reprise"},
	"a failure and its retry, with `Do`":               {"first-retry", "reprise"},
	"a retry refused":                                  {"refusal", "reprise-call"},
	"classify: an answer with a code":                  {"classify-answer", "reprise"},
	"classify: a refused dial inside a `url.Error`":    {"classify-dial", "reprise"},
	"one key's engine of a `Group` of 10,000":          {"group-10000", "reprise"},
}

// ratioRows are those of README's table of ratios, in order.
var ratioRows = []string{
	"do-vs-aws-standard", "call-vs-aws-standard", "do-vs-aws-middleware", "adaptive-off", "adaptive-on", "throttle-storm", "decision",
	"refusal", "jitter", "bucket-full", "do-vs-failsafe", "do-vs-avast", "do-vs-cenkalti", "do-vs-gobreaker", "do-vs-sethvargo",
}

// README's numbers are those of the run that RESULTS.md is, of which it shows a part.
func TestNumbers(t *testing.T) {
	for _, fault := range numberFaults(t, section(read(t, "README.md"), "Numbers"), read(t, "bench/RESULTS.md")) {
		t.Error(fault)
	}
}

func numberFaults(t *testing.T, numbers, results string) (faults []string) {
	t.Helper()
	fault := func(what string, args ...any) { faults = append(faults, fmt.Sprintf(what, args...)) }
	head := regexp.MustCompile("All of this section is of ([0-9-]+),(?s:.*)`make bench-full` [^\n]*at ([0-9a-f]{7}):").FindStringSubmatch(numbers)
	if head == nil {
		return []string{"README does not say of which day, and of which commit, its numbers are"}
	}
	for i, want := range []string{"* date: " + head[1] + "\n", "* commit: " + head[2]} {
		if !strings.Contains(results, want) {
			fault("RESULTS.md is of another %s", []string{"day", "commit"}[i])
		}
	}
	tables := tablesOf(numbers)
	require.GreaterOrEqual(t, len(tables), 2)
	for _, row := range tables[0] {
		from, known := timeRows[row[0]]
		if !known {
			fault("timeRows does not know which of RESULTS.md's rows %q is", row[0])
			continue
		}
		measured := rowOf(results, "### "+from[0], from[1])
		if measured == nil {
			fault("RESULTS.md has no %s of %s", from[1], from[0])
			continue
		}
		for i, of := range []string{measured[1], measured[3]} { // with a ratio between them
			if said := strings.TrimSuffix(row[1+i], " ns"); !rounds(said, of) {
				fault("%s: %s ns is %s in RESULTS.md", row[0], said, of)
			}
		}
	}
	if len(tables[1]) != len(ratioRows) {
		fault("ratioRows does not know which of RESULTS.md's ratios each of the %d is", len(tables[1]))
		return faults
	}
	for i, row := range tables[1] {
		for procs := 1; procs <= 2; procs++ {
			measured := rowOf(results, "## Goals", ratioRows[i], strconv.Itoa(procs))
			if measured == nil {
				fault("RESULTS.md has no %s on %d", ratioRows[i], procs)
				continue
			}
			said := row[1+procs]
			if !rounds(strings.Trim(said, "*"), measured[2]) {
				fault("%s on %d: %s is %s in RESULTS.md", ratioRows[i], procs, said, measured[2])
			}
			if missed := strings.Contains(measured[5], "**missed**"); missed != strings.HasPrefix(said, "**") {
				fault("%s on %d: bold is what RESULTS.md says is missed", ratioRows[i], procs)
			}
		}
	}
	return faults
}

// tablesOf are the cells of a text's tables, without their heads.
func tablesOf(text string) (tables [][][]string) {
	head := true
	for line := range strings.Lines(text) {
		switch {
		case !strings.HasPrefix(line, "|"):
			head = true
		case head:
			tables, head = append(tables, nil), false
		case !strings.HasPrefix(line, "|--"):
			last := len(tables) - 1
			tables[last] = append(tables[last], cells(line))
		}
	}
	return tables
}

func cells(line string) (cells []string) {
	for _, cell := range strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|") {
		cells = append(cells, strings.TrimSpace(cell))
	}
	return cells
}

// rowOf is the row of the first table under a heading that begins with these cells.
func rowOf(text, heading string, first ...string) []string {
	_, text, _ = strings.Cut(text, "\n"+heading+"\n")
	text, _, _ = strings.Cut(text, "\n#")
	want := "| " + strings.Join(first, " | ") + " |"
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, want) {
			return cells(line)
		}
	}
	return nil
}

// rounds reports whether said is measured with the digits that it has.
func rounds(said, measured string) bool {
	a, err := strconv.ParseFloat(said, 64)
	b, bad := strconv.ParseFloat(measured, 64)
	_, digits, _ := strings.Cut(said, ".")
	return err == nil && bad == nil && math.Abs(a-b) <= 0.5*math.Pow10(-len(digits))+1e-9
}

func TestNumbersBreak(t *testing.T) {
	numbers := "All of this section is of 2026-01-31, on\n\n`make bench-full` (1 s), at 1234567: medians\n\n" +
		"| path | 1 core | 2 cores | |\n|---|--:|--:|---|\n| the same, `Do` | 5.5 ns | 20 ns | why |\n| a retry refused | 44 ns | 39 ns | |\n\n" +
		"| path | beside | 1 core | 2 cores |\n|---|---|--:|--:|\n"
	results := "* date: 2026-01-31\n* commit: 123456789abc\n\n## Goals\n\n"
	for _, ratio := range ratioRows {
		numbers += "| path | peer | 2.1 | **7** |\n"
		results += "| " + ratio + " | 1 | 2.14 | 1 to 3 | 2 | met |\n| " + ratio + " | 2 | 6.9 | 1 to 9 | 8 | **missed**: why |\n"
	}
	results += "\n### success\n\n| bare | 1 |  | 2 |  | 0 |\n| reprise | 5.51 |  | 19.8 |  | 0 |\n" +
		"\n### refusal\n\n| reprise-call | 44.3 |  | 39.0 |  | 0 |\n"
	require.Empty(t, numberFaults(t, numbers, results))
	for edit, want := range map[[2]string]string{
		{"of 2026-01-31", "of 2026-01-30"}:         "another day",
		{"at 1234567:", "at 1234568:"}:             "another commit",
		{"at 1234567:", "lately:"}:                 "does not say",
		{"| a retry refused |", "| refused |"}:     "timeRows does not know",
		{"| 5.5 ns |", "| 5.6 ns |"}:               "the same, `Do`: 5.6 ns is 5.51",
		{"| 20 ns |", "| 19 ns |"}:                 "the same, `Do`: 19 ns is 19.8",
		{"| path | peer | 2.1 | **7** |\n", ""}:    "ratioRows does not know",
		{"| path | peer | 2.1 |", "| a | b | 2 |"}: "",
		{"| **7** |", "| 7 |"}:                     "do-vs-aws-standard on 2: bold",
		{"| 2.1 |", "| **2.1** |"}:                 "do-vs-aws-standard on 1: bold",
		{"| 2.1 |", "| 2.2 |"}:                     "do-vs-aws-standard on 1: 2.2 is 2.14",
	} {
		require.Contains(t, numbers, edit[0])
		faults := numberFaults(t, strings.Replace(numbers, edit[0], edit[1], 1), results)
		if want == "" {
			assert.Empty(t, faults, edit[1])
		} else {
			assert.Contains(t, strings.Join(faults, "\n"), want)
		}
	}
	assert.Contains(t, strings.Join(numberFaults(t, numbers, strings.Replace(results, "### refusal", "### other", 1)), "\n"), "no reprise-call of refusal")
}
