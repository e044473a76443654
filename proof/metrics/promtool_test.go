package metrics_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const beside = "../../adapters/promretry/"

func TestRules(t *testing.T) {
	promtool := program(t, "promtool")
	assert.Contains(t, run(t, nil, promtool, "check", "rules", beside+"rules.yml"), "SUCCESS: 9 rules found")
	run(t, nil, promtool, "test", "rules", beside+"rules_test.yml")

	// Each alert has a case in which it fires, so none can be dropped unseen.
	rules, err := os.ReadFile(beside + "rules.yml")
	require.NoError(t, err)
	cases, err := os.ReadFile(beside + "rules_test.yml")
	require.NoError(t, err)
	for line := range strings.Lines(string(rules)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- alert: "); ok {
			_, after, _ := strings.Cut(string(cases), "alertname: "+name)
			assert.Contains(t, after, "exp_annotations", name)
		}
	}
}

// Every expression of the board is PromQL: promtool reads each as a rule, with
// Grafana's variables filled in.
func TestBoard(t *testing.T) {
	text, err := os.ReadFile(beside + "dashboard.json")
	require.NoError(t, err)
	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	require.NoError(t, json.Unmarshal(text, &board))
	rules := "groups: [{name: board, rules: ["
	n := 0
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			expr := strings.NewReplacer("$__rate_interval", "1m", "$engine", ".*").Replace(target.Expr)
			assert.NotContains(t, expr, "$")
			rules += fmt.Sprintf("{record: board%d, expr: %q},", n, expr)
			n++
		}
	}
	path := filepath.Join(t.TempDir(), "board.yml")
	require.NoError(t, os.WriteFile(path, []byte(rules+"]}]\n"), 0o600))
	assert.Contains(t, run(t, nil, program(t, "promtool"), "check", "rules", path), fmt.Sprintf("SUCCESS: %d rules found", n))
}
