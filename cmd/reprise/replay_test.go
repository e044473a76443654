package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	standardVectors   = "../../testdata/vectors/standard.json"
	retryAfterVectors = "../../testdata/vectors/retry_after.json"
)

// commandLine runs a command line in this process.
func commandLine(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(args, &out, &err)
	return code, out.String(), err.String()
}

// written returns the name of a new file with this text.
func written(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "calls.json")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

func TestReplayVectors(t *testing.T) {
	code, out, stderr := commandLine("replay", standardVectors, retryAfterVectors)
	assert.Zero(t, code)
	assert.Equal(t, standardVectors+": 21 cases, 56 steps, all as expected\n"+
		retryAfterVectors+": 14 cases, 28 steps, all as expected\n", out)
	assert.Empty(t, stderr)
}

func TestReplayExitCodes(t *testing.T) {
	data, err := os.ReadFile(standardVectors)
	require.NoError(t, err)
	wrong := written(t, strings.Replace(string(data), `"quota": 486`, `"quota": 480`, 1))
	broken := written(t, strings.Replace(string(data), `"steps"`, `"stops"`, 1))
	refused := written(t, `{"format":"reprise-replay/1","cases":[{"engine":{"capacity":10},"calls":[{"steps":[{"status":200}]}]}]}`)
	for name, test := range map[string]struct {
		args []string
		code int
		want string // in the output or the error
	}{
		"mismatch":           {[]string{wrong}, 1, `case 1 "retry eventually succeeds", call 1, step 1: quota: wanted 480, got 486`},
		"mismatch and fine":  {[]string{wrong, standardVectors}, 1, standardVectors + ": 21 cases, 56 steps, all as expected"},
		"verbose":            {[]string{"-v", wrong}, 1, "as expected"},
		"json":               {[]string{"--json", wrong}, 1, `"mismatches":[{"key":"quota","wanted":480,"got":486}]`},
		"broken":             {[]string{broken}, 2, `call 1: unknown key "stops": want operation, long_polling, steps`},
		"broken and wrong":   {[]string{broken, wrong}, 2, "quota: wanted 480, got 486"},
		"broken json":        {[]string{"--json", broken}, 2, `"ok":false`},
		"missing":            {[]string{"nowhere.json"}, 2, "reprise: replay: nowhere.json: no such file or directory"},
		"directory":          {[]string{t.TempDir()}, 2, "is a directory"},
		"engine's option":    {[]string{refused}, 2, "case 1: engine: reprise/engine: Quota.TransientCost is 14"},
		"no file":            {nil, 2, "replay: no files: want FILE..."},
		"unknown flag":       {[]string{"--fast", wrong}, 2, "unknown flag --fast"},
		"twice stdin":        {[]string{"-", "-"}, 2, "reprise: replay: standard input (-) is there twice"},
		"two kinds of print": {[]string{"-v", "-q", wrong}, 2, "can't be used together"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, stderr := commandLine(append([]string{"replay"}, test.args...)...)
			assert.Equal(t, test.code, code)
			assert.Contains(t, out+stderr, test.want)
			assert.LessOrEqual(t, strings.Count(stderr, "\n"), 1, "an error is one line")
		})
	}
}

func TestReplayStandardInput(t *testing.T) {
	f, err := os.Open(retryAfterVectors)
	require.NoError(t, err)
	defer f.Close()
	stdin := os.Stdin
	os.Stdin = f
	t.Cleanup(func() { os.Stdin = stdin })

	code, out, stderr := commandLine("replay", "-", standardVectors)
	assert.Zero(t, code)
	assert.Contains(t, out, "standard input: 14 cases, 28 steps, all as expected\n")
	assert.Empty(t, stderr)
}

func TestReplayToAFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	var stderr bytes.Buffer
	assert.Equal(t, 1, run([]string{"replay", standardVectors}, full, &stderr))
	assert.Contains(t, stderr.String(), "reprise: replay: result: ")
	assert.Contains(t, stderr.String(), "no space left on device")
}

func TestReplayJSONKeysAreDocumented(t *testing.T) {
	_, out, _ := commandLine("replay", "--json", standardVectors, "../../testdata/vectors/adaptive.json")
	_, help, _ := commandLine("replay", "--help")
	assertKeysIn(t, out, help)
	assert.Contains(t, help, "Examples:")
}

// assertKeysIn asserts that a text mentions every key of a JSON document.
func assertKeysIn(t *testing.T, document, text string) {
	t.Helper()
	var value any
	require.NoError(t, json.Unmarshal([]byte(document), &value))
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, member := range v {
				assert.Contains(t, text, key)
				walk(member)
			}
		case []any:
			for _, element := range v {
				walk(element)
			}
		}
	}
	walk(value)
}
