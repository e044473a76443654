package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/bench/internal/path"
	"github.com/reprise-go/reprise/bench/internal/ratio"
	"github.com/reprise-go/reprise/bench/internal/report"
	"github.com/reprise-go/reprise/bench/internal/run"
)

func TestMain(m *testing.M) {
	path.FreshMain()
	os.Exit(m.Run())
}

// The lines are "ratio NAME PROCS VALUE" and nothing else.
func TestRatioLines(t *testing.T) {
	r := ratio.All[0]
	d := &report.Data{Rows: make(map[report.Key]*report.Series)}
	plan := run.Plan{Passes: 3, Turns: 1, Slice: 100 * time.Microsecond}
	require.NoError(t, measureFor(d, r, []ratio.Ratio{r}, 1, plan))
	var out, notes bytes.Buffer
	m := show(&out, &notes, d, r, 1)
	assert.Regexp(t, regexp.MustCompile(`^ratio do-vs-aws-standard 1 \d+\.\d\n$`), out.String())
	assert.Contains(t, notes.String(), "goal 22")
	assert.Positive(t, m.Ours)
	assert.Greater(t, m.Theirs, m.Ours)
	require.NotNil(t, m.Met)
}

func TestRatiosJSON(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ratios.json")
	require.NoError(t, command([]string{"ratios", "-passes", "2", "-turns", "1", "-slice", "50us", "-json", file, "bucket-full", "bucket-full-alone"}))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var all []measured
	require.NoError(t, json.Unmarshal(text, &all))
	require.Len(t, all, 4, "two ratios on one and on two processors")
	for _, m := range all {
		assert.Positive(t, m.Value, m.Ratio)
		assert.Equal(t, m.Goal > 0, m.Met != nil, m.Ratio)
	}
}

func TestFullWritesAll(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("reasons.txt"), []byte("bucket-empty mutex *: never\nbucket-empty aws-bucket *: never\nclassify-first aws-standard *: never\n"), 0o644))
	args := []string{
		"-passes", "10", "-turns", "1", "-slice", "20us", "-procs", "1,2", "-paths", "^(bucket-empty|classify-first)$",
		"-raw", at("raw.txt"), "-reasons", at("reasons.txt"), "-markdown", at("table.md"), "-html", at("page.html"),
	}
	require.NoError(t, command(append([]string{"full"}, args...)))
	raw, err := os.Open(at("raw.txt"))
	require.NoError(t, err)
	defer raw.Close()
	d, err := report.Read(raw, "raw.txt")
	require.NoError(t, err)
	assert.Len(t, d.Rows, 3*2+2, "three sides on one and two processors; two in processes of their own")
	for key, row := range d.Rows {
		assert.Len(t, row.Nanos, 10, "%v", key)
	}
	table, err := os.ReadFile(at("table.md"))
	require.NoError(t, err)
	assert.Contains(t, string(table), "* peer-github.com-aws-aws-sdk-go-v2: v1.48.0")
	page, err := os.ReadFile(at("page.html"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "<h3>bucket-empty</h3>")

	require.NoError(t, os.Remove(at("page.html")))
	require.NoError(t, command([]string{"report", "-raw", at("raw.txt"), "-reasons", at("reasons.txt"), "-markdown", "", "-html", at("page.html")}))
	assert.FileExists(t, at("page.html"))
}

func TestCommandNamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "no command"},
		{[]string{"rations"}, "rations"},
		{[]string{"ratios", "do-vs-nobody"}, "do-vs-nobody"},
		{[]string{"ratios", "-turns", "0"}, "-turns 0"},
		{[]string{"full", "-passes", "3"}, "at least 10"},
		{[]string{"full", "-procs", "1,none"}, "-procs"},
		{[]string{"full", "-procs", "65"}, "64"},
		{[]string{"full", "-paths", "("}, "-paths"},
		{[]string{"full", "-paths", "nowhere"}, "nowhere"},
		{[]string{"report", "-raw", "does/not/exist"}, "does/not/exist"},
	} {
		assert.ErrorContains(t, command(c.args), c.want, "%v", c.args)
	}
}
