package promretry_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/promretry"
	"github.com/reprise-go/reprise/engine"
)

var (
	metric   = regexp.MustCompile(`\b(instance:)?reprise_[a-z0-9_:]+`)
	recorded = regexp.MustCompile(`record: (\S+)`)
	exprs    = regexp.MustCompile(`expr: (.+)`)
)

// exported are the names of all time series.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	_, one := withRecorder(t, "one", engine.WithMode(engine.Adaptive))
	group, err := promretry.NewGroup("group", newGroup(t, 1))
	require.NoError(t, err)
	families, err := registry(t, one, group).Gather()
	require.NoError(t, err)
	names := make(map[string]bool)
	for _, f := range families {
		names[f.GetName()] = true
		if f.GetType().String() == "HISTOGRAM" {
			names[f.GetName()+"_bucket"], names[f.GetName()+"_sum"], names[f.GetName()+"_count"] = true, true, true
		}
	}
	return names
}

func file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

// Rules and board name only what a collector exports, or what the rules record.
func TestNamesInFiles(t *testing.T) {
	known := exported(t)
	rules := file(t, "rules.yml")
	for _, record := range recorded.FindAllStringSubmatch(rules, -1) {
		known[record[1]] = true
	}
	for _, expr := range append(exprs.FindAllString(rules, -1), boardExprs(t)...) {
		names := metric.FindAllString(expr, -1)
		assert.NotEmpty(t, names, expr)
		for _, name := range names {
			assert.True(t, known[name], "%s in %s", name, expr)
		}
	}
	board := strings.Join(boardExprs(t), " ")
	for name := range exported(t) {
		if !slices.Contains([]string{"reprise_observer_panics_total", "reprise_group_made_engines_total", "reprise_group_dropped_engines_total",
			"reprise_group_expired_engines_total", "reprise_group_unkeyed_total", "reprise_group_template_panics_total"}, name) &&
			!strings.HasPrefix(name, "reprise_retry_delay_seconds") {
			assert.Contains(t, board, name, "the board shows it")
		}
	}
}

// The page of the package lists exactly what is exported.
func TestNamesInDoc(t *testing.T) {
	listed := make(map[string]bool)
	for _, line := range regexp.MustCompile(`(?m)^//\t(reprise_\w+) +(gauge|counter|histogram)`).FindAllStringSubmatch(file(t, "doc.go"), -1) {
		listed[line[1]] = true
	}
	for name := range exported(t) {
		if base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, ""); !listed[base] {
			t.Errorf("%s is not in the list of doc.go", name)
		}
	}
	for name := range listed {
		assert.True(t, exported(t)[name], "%s of doc.go", name)
	}
}

// boardExprs are the expressions of dashboard.json.
func boardExprs(t *testing.T) (found []string) {
	t.Helper()
	var board struct {
		Title  string
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(file(t, "dashboard.json")), &board))
	assert.Equal(t, "reprise", board.Title)
	for _, panel := range board.Panels {
		assert.NotEmpty(t, panel.Targets, panel.Title)
		for _, target := range panel.Targets {
			found = append(found, target.Expr)
		}
	}
	require.NotEmpty(t, found)
	return found
}
