package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inEnvironment gives the test an environment of its own, with a home directory
// that holds this config file, and returns that file's name.
func inEnvironment(t *testing.T, file string, variables ...string) string {
	t.Helper()
	home := t.TempDir()
	name := filepath.Join(home, ".aws", "config")
	require.NoError(t, os.Mkdir(filepath.Dir(name), 0o700))
	require.NoError(t, os.WriteFile(name, []byte(file), 0o600))
	for _, variable := range []string{"AWS_RETRY_MODE", "AWS_MAX_ATTEMPTS", "AWS_PROFILE", "AWS_CONFIG_FILE"} {
		t.Setenv(variable, "")
	}
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	return name
}

const profiles = "[default]\nretry_mode = legacy\n[profile prod]\nretry_mode = adaptive\nmax_attempts = 7\n"

func TestExplainSettings(t *testing.T) {
	name := inEnvironment(t, profiles, "AWS_MAX_ATTEMPTS=5", "AWS_PROFILE=lab")
	code, out, stderr := commandLine("explain", "--settings", "--profile", "prod", "--config-file", name, "--service", "dynamodb")
	assert.Zero(t, code, stderr)
	assert.Empty(t, stderr)
	assert.True(t, strings.HasPrefix(out, `retry_mode = adaptive (`+name+`:4, profile "prod")
max_attempts = 5 (AWS_MAX_ATTEMPTS); file said 7
profile = prod (--profile); AWS_PROFILE said lab
config file = `+name+` (--config-file)

engine, service dynamodb, mode adaptive
`), out)

	code, document, stderr := commandLine("explain", "--settings", "--profile", "prod", "--status", "503",
		"--header", "x-amz-retry-after: 5", "--service", "dynamodb", "--json")
	assert.Zero(t, code, stderr)
	_, help, _ := commandLine("explain", "--help")
	assertKeysIn(t, document, help)
	assert.Contains(t, help, "reprise explain --settings")
}

func TestWrongSettings(t *testing.T) {
	name := inEnvironment(t, profiles, "AWS_RETRY_MODE=fast", "AWS_MAX_ATTEMPTS=0")
	for _, command := range []string{"explain", "drive"} {
		code, out, stderr := commandLine(command, "--settings")
		assert.Equal(t, 1, code)
		assert.Empty(t, out)
		assertOneLine(t, stderr, `settings: retry_mode = "fast" (AWS_RETRY_MODE): want standard, adaptive or legacy; `+
			`max_attempts = "0" (AWS_MAX_ATTEMPTS): want an integer from 1 (no retries)`)
		assert.NotContains(t, stderr, "reprise/")
	}

	t.Setenv("AWS_RETRY_MODE", "")
	t.Setenv("AWS_MAX_ATTEMPTS", "")
	for _, row := range []struct {
		args string
		code int
		want string
	}{
		{"--settings --profile lab", 1, `settings: no such profile: "lab" (--profile): want a section [profile lab] in ` + name},
		{"--settings --config-file " + name + "s", 1, "settings: config file " + name + "s (--config-file): file does not exist"},
		{"--settings --profile=", 2, "--profile is empty"},
		{"--profile prod", 2, "--profile without --settings"},
		{"--config-file " + name, 2, "--config-file without --settings"},
	} {
		for _, command := range []string{"explain --status 500 ", "drive "} {
			code, out, stderr := commandLine(strings.Fields(command + row.args)...)
			assert.Equal(t, row.code, code, row.args)
			assert.Empty(t, out, row.args)
			assertOneLine(t, stderr, row.want)
		}
	}
}

// Without --settings the environment and the file are nothing to a command;
// with it the command's flags go before them.
func TestSettingsOnlyWhenAskedFor(t *testing.T) {
	inEnvironment(t, profiles, "AWS_MAX_ATTEMPTS=6")
	target := httptest.NewServer(http.NotFoundHandler()) // the embedded server is measured first, by thousands of calls
	defer target.Close()
	for _, row := range []struct {
		args     string
		mode     string
		attempts int
	}{
		{"", "standard", 3},
		{"--settings", "legacy", 6},
		{"--settings --profile prod", "adaptive", 6},
		{"--settings --mode standard", "standard", 6},
		{"--settings --max-attempts 2", "legacy", 2},
		{"--mode adaptive --max-attempts 2", "adaptive", 2},
	} {
		args := append(strings.Fields(row.args), "--json")
		type made struct {
			Mode        string `json:"mode"`
			MaxAttempts int    `json:"max_attempts"`
		}
		var explained made
		code, out, stderr := commandLine(append([]string{"explain", "--status", "500"}, args...)...)
		require.Zero(t, code, stderr)
		require.NoError(t, json.Unmarshal([]byte(out), &explained))
		assert.Equal(t, made{row.mode, row.attempts}, explained, "explain %s", row.args)

		var driven struct {
			Setup made `json:"setup"`
		}
		code, out, stderr = commandLine(append([]string{"drive", "--calls", "1", "--target", target.URL, "-q"}, args...)...)
		require.Zero(t, code, stderr)
		require.NoError(t, json.Unmarshal([]byte(out), &driven))
		assert.Equal(t, made{row.mode, row.attempts}, driven.Setup, "drive %s", row.args)
	}

	t.Setenv("AWS_RETRY_MODE", "fast")
	for _, args := range [][]string{{"explain", "--status", "500"}, {"drive", "--calls", "1", "--target", target.URL, "-q"}} {
		code, _, stderr := commandLine(args...)
		assert.Zero(t, code, stderr)
	}
}
