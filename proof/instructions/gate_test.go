package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/proof/internal/hot"
)

// The baseline that is committed has a row with its reason for each path, and no
// other, in their order.
func TestBaselineIsComplete(t *testing.T) {
	text, err := os.ReadFile(baselineFile)
	require.NoError(t, err)
	b, err := parse(string(text))
	require.NoError(t, err)
	assert.Equal(t, string(text), b.String(), "written by -update")
	var rows, paths []string
	for _, r := range b.rows {
		rows = append(rows, r.path)
	}
	for _, path := range hot.Paths() {
		paths = append(paths, path.Name)
		for _, other := range []string{path.Over, path.Like} {
			assert.True(t, other == "" || strings.Contains(" "+strings.Join(paths, " ")+" ", " "+other+" "), "%s is over or like %s, which comes before it", path.Name, other)
		}
	}
	assert.Equal(t, paths, rows)
}

// Every loop ends, and does what it says: they panic if not.
func TestPathsRun(t *testing.T) {
	for _, path := range hot.Paths() {
		path.Make()(10)
	}
}

func agreed(rows ...row) baseline { return baseline{by: "go1", rows: rows} }

func TestCompare(t *testing.T) {
	paths := []hot.Path{{Name: "a"}, {Name: "b", Like: "a"}}
	for name, row := range map[string]struct {
		b   baseline
		now counts
		say string
	}{
		"the same":             {agreed(row{"a", 20, "x"}, row{"b", 20, "x"}), counts{"a": {net: 20}, "b": {net: 20}}, ""},
		"a tenth more":         {agreed(row{"a", 20, "x"}, row{"b", 20, "x"}), counts{"a": {net: 22}, "b": {net: 22}}, ""},
		"less":                 {agreed(row{"a", 20, "x"}, row{"b", 20, "x"}), counts{"a": {net: 10}, "b": {net: 10}}, ""},
		"more than a tenth":    {agreed(row{"a", 20, "why not"}, row{"b", 20, "x"}), counts{"a": {net: 23}}, `a has grown by 15.0 %, from 20 instructions to 23; the baseline's reason was "why not"`},
		"from nothing":         {agreed(row{"a", 0, "x"}, row{"b", 0, "x"}), counts{"a": {net: 1}}, "a cost nothing and costs 1"},
		"no row":               {agreed(row{"a", 20, "x"}), counts{"b": {net: 1}}, "b has no row"},
		"a row too many":       {agreed(row{"c", 20, "x"}), counts{}, "c has a row in the baseline and is no path"},
		"more than its like":   {agreed(row{"a", 20, "x"}, row{"b", 20, "x"}), counts{"a": {net: 20}, "b": {net: 21}}, "b costs 21 instructions and must not cost more than a, which costs 20"},
		"its like not counted": {agreed(row{"a", 20, "x"}, row{"b", 20, "x"}), counts{"b": {net: 20}}, ""},
	} {
		faults := strings.Join(compare(io.Discard, paths, row.b, row.now), "\n")
		if row.say == "" {
			assert.Empty(t, faults, name)
		} else {
			assert.Contains(t, faults, row.say, name)
		}
	}
}

// A row that is raised needs a reason of its own; one that is lowered, or new, or
// kept, does not.
func TestUnexplained(t *testing.T) {
	before := agreed(row{"raised", 10, "x"}, row{"told", 10, "x"}, row{"lowered", 10, "x"}, row{"kept", 10, "x"})
	faults := unexplained(before, agreed(row{"raised", 11, "x"}, row{"told", 20, "y"}, row{"lowered", 9, "x"}, row{"kept", 10, "x"}, row{"new", 5, "x"}))
	require.Len(t, faults, 1)
	assert.Contains(t, faults[0], `baseline of raised was raised from 10 to 11 instructions and still has the reason of the change before, "x"`)
}

func TestUpdated(t *testing.T) {
	paths := []hot.Path{{Name: "new"}, {Name: "same"}, {Name: "other"}, {Name: "not-counted"}, {Name: "never-counted"}}
	b := agreed(row{"gone", 1, "x"}, row{"other", 5, "x"}, row{"same", 5, "x"}, row{"not-counted", 7, "x"})
	next := b.updated("go2", paths, counts{"new": {net: 1.004}, "same": {net: 5}, "other": {net: 150.4}}, "y")
	assert.Equal(t, baseline{"go2", []row{{"new", 1, "y"}, {"same", 5, "x"}, {"other", 150, "y"}, {"not-counted", 7, "x"}}}, next)
	again, err := parse(next.String())
	require.NoError(t, err)
	assert.Equal(t, next, again)
}

func TestParseFaults(t *testing.T) {
	for text, say := range map[string]string{
		byWord + "go1\na 5":             "want a path, its count and the reason",
		byWord + "go1\na five x":        `the count of a is "five"`,
		byWord + "go1\na -5 x":          `the count of a is "-5"`,
		byWord + "go1\na 5 x\na 5 y":    "a has a row already",
		"a 5 x":                         "does not say by what it was counted",
		byWord + "go1\n# no\n\na 5 x y": "",
	} {
		_, err := parse(text)
		if say == "" {
			assert.NoError(t, err, text)
		} else {
			assert.ErrorContains(t, err, say, text)
		}
	}
}

func TestFlags(t *testing.T) {
	assert.ErrorContains(t, gate([]string{"-update"}, io.Discard), "go together")
	assert.ErrorContains(t, gate([]string{"-update", "-reason", " "}, io.Discard), "go together")
	assert.ErrorContains(t, gate([]string{"-reason", "x"}, io.Discard), "go together")
}

func TestPadding(t *testing.T) {
	for code, padding := range map[string]bool{
		"\x90":                         true,
		"\x66\x90":                     true,
		"\x0f\x1f\x00":                 true,
		"\x66\x0f\x1f\x84\x00\x00":     true,
		"\x66\x66\x0f\x1f\x84\x00\x00": true,
		"\x48\x85\xc9":                 false, // TESTQ CX, CX
		"\x0f\x11\x00":                 false, // MOVUPS
		"\x66\x0f\x6f\xc1":             false, // MOVDQA
		"":                             false,
	} {
		assert.Equal(t, padding, isPadding([]byte(code)), "% x", code)
	}
}

// Calls are lines of their own function; padding is left out; what does not come to
// the summary is no dump.
func TestReadDump(t *testing.T) {
	const dump = "summary: 33\n\nfn=(1) f\n0x10 3\n0x12 10\ncfn=(2) g\ncalls=5 0x40 \n0x12 20\n\nfn=(2)\n0x40 20\n"
	name := filepath.Join(t.TempDir(), "dump")
	at12 := func(address uint64) bool { return address == 0x12 }
	read := func(text string) (int, error) {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return readDump(name, at12)
	}
	n, err := read(dump)
	require.NoError(t, err)
	assert.Equal(t, 23, n)
	for _, text := range []string{"", "summary: 5\n", strings.Replace(dump, "33", "34", 1), strings.Replace(dump, "0x10 3", "0x1x 3", 1), strings.Replace(dump, "0x10 3", "0x10", 1)} {
		_, err := read(text)
		assert.Error(t, err, text)
	}
}
