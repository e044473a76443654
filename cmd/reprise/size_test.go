package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSize(t *testing.T) {
	args := []string{"storm", "--size", "--transient", "3%", "--throttling", "0.02", "--deadline", "2s"}
	page := filepath.Join(t.TempDir(), "size.html")
	code, out, stderr := reprise(append(args, "--html", page)...)
	require.Zero(t, code, stderr)
	assert.Empty(t, stderr)
	assert.Contains(t, out, "1,000 calls/s of 100 clients, 2s a call and 20ms an attempt, of which 3% fail as")
	assert.Contains(t, out, "--max-attempts 3")
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(text), "<title>reprise storm --size</title>")

	code, out, stderr = reprise(append(args, "--json")...)
	require.Zero(t, code, stderr)
	var r struct {
		Schema string
		Plan   struct {
			Attempts int `json:"max_attempts"`
		}
		Simulated struct {
			Success float64 `json:"success_rate"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	assert.Equal(t, "reprise.size/1", r.Schema)
	assert.Equal(t, 3, r.Plan.Attempts)
	assert.Greater(t, r.Simulated.Success, 0.999)
	_, help, _ := reprise("storm", "--help")
	assertKeysIn(t, out, help)
}

func TestWrongSizes(t *testing.T) {
	for _, row := range []struct {
		args string
		code int
		want string
	}{
		{"--rate 5", 2, "--rate is the calculator's: want --size with it"},
		{"--size outage", 2, "--size runs no scenario: want outage without it, or --size alone"},
		{"--size --policies none", 2, "--size compares no policies"},
		{"--size --svg charts", 2, "--size writes no files of charts: want --html FILE"},
		{"--size --max-attempts 3", 2, "--size finds the policy's numbers"},
		{"--size --transient many", 2, "--transient: "},
		{"--size --transient 96%", 2, "--transient and --throttling are 96% together: want 95% at the most"},
		{"--size --success 100%", 2, "--success is 100%: want more than 0% and less than 100%"},
		{"--size --deadline 10ms", 2, "--deadline is 10ms: want more than an attempt takes, 20ms"},
		{"--size --rate 0", 2, "--rate is 0: want more than 0 calls a second"},
		{"--size --clients 0", 2, "--clients is 0: want 1 to 100,000"},
		{"--size --amplification 0.5", 2, "--amplification is 0.5: want 1 to 10 requests for each call"},
		{"--size --outage 0s", 2, "--outage is 0s: want 1s to 1h"},
		{"--size --rate 10000000 --clients 2", 2, "--outage is 1m0s, in which each client begins 300000000 calls: want 20000000 at the most, by more --clients or a shorter one"},
		{"--size --outage 10s --rate 0.01", 2, "--outage is 10s, in which 0.1 calls begin: want one or more"},
		{"--size --html -", 2, "--html -: want the name of a file"},
		{"--size --transient 20% --amplification 1.2 --deadline 1s", 1, "where 20% of the attempts fail, it takes 1.249 requests a call; at the most 96% do, with 2 attempts"},
	} {
		code, out, stderr := reprise(append([]string{"storm"}, strings.Fields(row.args)...)...)
		assert.Equal(t, row.code, code, row.args)
		assert.Empty(t, out, row.args)
		assertOneLine(t, stderr, row.want)
	}
}
