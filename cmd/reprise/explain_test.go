package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
)

func TestExplain(t *testing.T) {
	code, out, stderr := commandLine("explain", "--status", "400", "--code", "ThrottlingException",
		"--header", "x-amz-retry-after: 1500", "--service", "dynamodb")
	assert.Zero(t, code)
	assert.Contains(t, out, "status 400, code ThrottlingException, service dynamodb, mode standard\n")
	assert.Contains(t, out, "5.34375s in the mean, 7.5s at worst (R4, R5)")
	assert.Empty(t, stderr)

	code, out, _ = commandLine("explain", "--error", "reset", "--json")
	assert.Zero(t, code)
	assert.Contains(t, out, `"class": "transient"`)
}

func TestExplainWrongCommandLines(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"nothing":       {nil, "reprise: explain: nothing to explain: want --status, --code or both, or --error, or --settings alone\n"},
		"both":          {[]string{"--error", "reset", "--status", "500"}, "reprise: explain: --error beside --status, --code or --header: an attempt that failed has no response\n"},
		"status 42":     {[]string{"--status", "42"}, "reprise: explain: status is 42: want 100 to 999;"},
		"status text":   {[]string{"--status", "teapot"}, `--status: want a whole number, got "teapot"`},
		"header":        {[]string{"--status", "500", "--header", "1500"}, `reprise: explain: --header "1500": want name:value`},
		"header, comma": {[]string{"--status", "500", "--header", "a:b,c"}, ""}, // one header, not two
		"attempts":      {[]string{"--status", "500", "--max-attempts", "0"}, "reprise: explain: --max-attempts is 0: want 1"},
		"error":         {[]string{"--error", "oops"}, `reprise: explain: unknown error "oops": want timeout,`},
		"mode":          {[]string{"--status", "500", "--mode", "turbo"}, `reprise: explain: unknown mode "turbo": want standard, adaptive or legacy`},
		"argument":      {[]string{"500"}, "unexpected argument 500"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := commandLine(append([]string{"explain"}, test.args...)...)
			if test.want == "" {
				assert.Zero(t, code, stderr)
				return
			}
			assert.Equal(t, 2, code)
			assert.Contains(t, stderr, test.want)
		})
	}
}

func TestExplainHelp(t *testing.T) {
	code, help, _ := commandLine("explain", "--help")
	assert.Zero(t, code)
	assert.Contains(t, help, "Examples:")
	for _, name := range scenario.Names() {
		assert.Contains(t, help, name)
	}
	for _, args := range [][]string{
		{"--code", "ns#SlowDown", "--header", "x-amz-retry-after:5", "--service", "sqs"},
		{"--status", "404"},
		{"--error", "cancelled"},
	} {
		_, document, _ := commandLine(append([]string{"explain", "--json"}, args...)...)
		assertKeysIn(t, document, help)
	}
}
