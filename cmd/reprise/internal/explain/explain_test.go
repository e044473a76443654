package explain

import (
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file under testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

func explain(t *testing.T, q Question) *Answer {
	t.Helper()
	a, err := Explain(q)
	require.NoError(t, err)
	return a
}

func TestGolden(t *testing.T) {
	for name, q := range map[string]Question{
		"throttling":    {Status: new(400), Code: "aws#ThrottlingException", Headers: []string{"x-amz-retry-after: 1500"}, Service: "dynamodb", LongPoll: true},
		"reset":         {Error: "reset", MaxAttempts: new(60)},
		"not_found":     {Status: new(404), Headers: []string{"X-Amz-Retry-After:1500"}},
		"deadline":      {Error: "deadline"},
		"success":       {Status: new(204)},
		"one_attempt":   {Error: "refused", MaxAttempts: new(1)},
		"hint_too_big":  {Status: new(503), Headers: []string{"x-amz-retry-after: 99999999999999999999"}},
		"hint_ignored":  {Status: new(503), Headers: []string{"x-amz-retry-after: 1.5"}},
		"hint_nothing":  {Status: new(503), Headers: []string{"x-amz-retry-after: 0"}},
		"code_alone":    {Code: "RequestTimeout"},
		"error_type":    {Status: new(400), Headers: []string{"x-amzn-errortype: SlowDown:http://internal.example/"}},
		"legacy":        {Status: new(503), Mode: "legacy", LongPoll: true},
		"legacy_long":   {Status: new(503), Mode: "legacy", MaxAttempts: new(math.MaxInt32)},
		"adaptive":      {Error: "timeout", Mode: "adaptive"},
		"all_throttles": {Status: new(429), MaxAttempts: new(math.MaxInt32)},
	} {
		t.Run(name, func(t *testing.T) {
			text := explain(t, q).Text()
			golden(t, name+".txt", text)
			for line := range strings.Lines(text) {
				assert.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), 100, line)
			}
		})
	}
}

func TestGoldenJSON(t *testing.T) {
	text, err := explain(t, Question{Status: new(400), Code: "ThrottlingException", Headers: []string{"x-amz-retry-after: 1500"}, Service: "dynamodb"}).JSON()
	require.NoError(t, err)
	golden(t, "throttling.json", string(text))
	text, err = explain(t, Question{Error: "cancelled"}).JSON()
	require.NoError(t, err)
	golden(t, "cancelled.json", string(text))
}

func TestTotalsArePublished(t *testing.T) {
	for _, test := range []struct {
		q           Question
		mean, worst float64
		cost, holds int
	}{
		{Question{Status: new(500)}, 75, 150, 14, 35},                                              // R4.3, R6.5
		{Question{Code: "Throttling"}, 1500, 3000, 5, 100},                                         // R4.3, R6.5
		{Question{Status: new(500), Service: "dynamodb"}, 87.5, 175, 14, 35},                       // R4.1: 25, 50, 100
		{Question{Status: new(500), Service: "DynamoDB Streams"}, 87.5, 175, 14, 35},               // R1.1
		{Question{Status: new(500), MaxAttempts: new(12)}, 32775, 65550, 14, 35},                   // R4.2: up to 20 s from index 9
		{Question{Status: new(500), Headers: []string{"x-amz-retry-after:10"}}, 76.5, 150, 14, 35}, // R5
	} {
		a := explain(t, test.q)
		assert.InDelta(t, test.mean, a.Total.MeanMS, 1e-9)
		assert.InDelta(t, test.worst, a.Total.WorstMS, 1e-9)
		assert.Equal(t, Quota{Cost: test.cost, Capacity: 500, Retries: test.holds}, *a.Quota)
	}
}

// What the table says of a delay is what the engine does: the mean over draws
// and the bounds, for hints on each side of the backoff and of its window.
func TestSpreadIsWhatTheEngineDoes(t *testing.T) {
	draws := rand.New(rand.NewPCG(1, 2))
	for _, hint := range []time.Duration{0, 10 * time.Millisecond, 1500 * time.Millisecond, 5500 * time.Millisecond, 10 * time.Second, math.MaxInt64} {
		a := explain(t, Question{Code: "Throttling", MaxAttempts: new(6)})
		least, mean, most := spread(a.Retries[4].CeilingMS*1e6, float64(hint)) // 16 s
		e, err := engine.New(engine.WithSource(draws), engine.WithMaxAttempts(6), engine.WithQuota(engine.Quota{Capacity: 1 << 20}),
			engine.WithSchedule(fastbackoff.Schedule{Transient: 16 * time.Second}))
		require.NoError(t, err)
		const n = 20_000
		sum := 0.0
		for range n {
			call := e.Begin()
			delay := float64(call.Fail(engine.Outcome{Class: 1, RetryAfter: hint}).Delay)
			call.Abandon()
			sum += delay
			require.GreaterOrEqual(t, delay, least-1)
			require.LessOrEqual(t, delay, most)
		}
		assert.InEpsilon(t, mean, sum/n, 0.02, hint)
	}
}

// What R3.10 makes of the five codes depends on a clock that is not asked for.
func TestClockSkewIsMentioned(t *testing.T) {
	for code, want := range map[string]bool{"RequestTimeTooSkewed": true, "ns#AuthFailure": true, "ValidationException": false, "SlowDown": false} {
		text := explain(t, Question{Status: new(403), Code: code}).Text()
		assert.Equal(t, want, strings.Contains(text, "R3.10"), text)
	}
}

func TestCodesDoNotSteerTheTerminal(t *testing.T) {
	assert.NotContains(t, explain(t, Question{Code: "Slow\x1b[31mDown\n"}).Text(), "\x1b")
}

func TestErrors(t *testing.T) {
	for name, test := range map[string]struct {
		q    Question
		want string
	}{
		"nothing":       {Question{}, "nothing to explain: want --status, --code or both, or --error"},
		"header alone":  {Question{Headers: []string{"x-amz-retry-after: 5"}}, "nothing to explain"},
		"both":          {Question{Error: "reset", Status: new(500)}, "--error beside --status, --code or --header: an attempt that failed has no response"},
		"both, code":    {Question{Error: "reset", Code: "SlowDown"}, "--error beside"},
		"both, header":  {Question{Error: "reset", Headers: []string{"a:b"}}, "--error beside"},
		"status 42":     {Question{Status: new(42)}, "status is 42: want 100 to 999"},
		"status 0":      {Question{Status: new(0), Code: "SlowDown"}, "status is 0: want 100 to 999"},
		"negative":      {Question{Status: new(-500)}, "status is -500: want 100 to 999"},
		"success, code": {Question{Status: new(200), Code: "SlowDown"}, `status 200 with code "SlowDown": a success has no error code`},
		"no colon":      {Question{Status: new(500), Headers: []string{"x-amz-retry-after 5"}}, `--header "x-amz-retry-after 5": want name:value`},
		"no name":       {Question{Status: new(500), Headers: []string{": 5"}}, `--header ": 5": want name:value`},
		"bad name":      {Question{Status: new(500), Headers: []string{"retry after: 5"}}, `want name:value`},
		"bad value":     {Question{Status: new(500), Headers: []string{"a: b\nc"}}, `--header "a: b\nc": want name:value`},
		"twice":         {Question{Status: new(500), Headers: []string{"x-amz-retry-after:5", "X-Amz-Retry-After:6"}}, "--header x-amz-retry-after is there twice"},
		"unknown error": {Question{Error: "oops"}, `unknown error "oops": want timeout, attempt_timeout,`},
		"mode":          {Question{Status: new(500), Mode: "turbo"}, `unknown mode "turbo": want standard, adaptive or legacy`},
		"service":       {Question{Status: new(500), Service: "dynamo"}, `unknown service "dynamo": want dynamodb or dynamodbstreams`},
		"attempts":      {Question{Status: new(500), MaxAttempts: new(0)}, "--max-attempts is 0: want 1 to 2147483647, the first attempt included"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Explain(test.q)
			require.ErrorContains(t, err, test.want)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestEveryFailureIsExplained(t *testing.T) {
	for _, name := range scenario.Names() {
		a := explain(t, Question{Error: name})
		assert.NotEqual(t, "no part of the error is recognised", a.Rule, name)
		assert.True(t, strings.HasPrefix(a.Clause, "R3."), name)
		assert.Equal(t, a.Retryable, len(a.Retries) == 2, name)
		assert.Contains(t, a.Text(), name)
	}
}
