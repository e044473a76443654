package replay

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
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

// replayed replays one document from standard input, as text.
func replayed(t *testing.T, document string, detail Detail) (out, faults string, totals Totals) {
	t.Helper()
	var o, f bytes.Buffer
	totals, err := Files([]string{"-"}, strings.NewReader(document), NewText(&o, &f, detail, 0))
	require.NoError(t, err)
	return o.String(), f.String(), totals
}

func TestVectorsAreAsPublished(t *testing.T) {
	for name, want := range map[string]string{
		"standard.json":    "21 cases, 56 steps, all as expected",
		"retry_after.json": "14 cases, 28 steps, all as expected",
		"adaptive.json":    "1 case, 17 steps, all as expected",
	} {
		var out, faults bytes.Buffer
		path := filepath.Join(vectors, name)
		totals, err := Files([]string{path}, nil, NewText(&out, &faults, Quiet, 0))
		require.NoError(t, err)
		assert.Equal(t, path+": "+want+"\n", out.String())
		assert.Empty(t, faults.String())
		assert.Zero(t, totals.Mismatched+totals.NotRun+totals.Errors)
	}
}

func TestMutatedVectorsAreNot(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(vectors, "standard.json"))
	require.NoError(t, err)
	for name, test := range map[string]struct{ old, new, want string }{
		"quota":   {`"quota": 486`, `"quota": 487`, `standard input:13: case 1 "retry eventually succeeds", call 1, step 1: quota: wanted 487, got 486`},
		"delay":   {`"delay_ms": 100`, `"delay_ms": 100.002`, `standard input:21: case 1 "retry eventually succeeds", call 1, step 2: delay_ms: wanted 100.002, got 100`},
		"outcome": {`"outcome": "max_attempts"`, `"outcome": "quota"`, `case 2 "fail due to max attempts reached", call 1, step 3: outcome: wanted quota, got max_attempts`},
		"tokens":  {`"tokens": 14`, `"tokens": 28`, `case 3 "retry quota reached after a single retry", call 1, step 1: quota: wanted 0, got 14`},
		"jitter":  {`"jitter": 1.0`, `"jitter": 0.5`, `case 1 "retry eventually succeeds", call 1, step 1: delay_ms: wanted 50, got 25`},
		"header":  {`"x-amz-retry-after": "1500"`, `"x-amz-retry-after": "1600"`, `case 16 "honor x-amz-retry-after", call 1, step 1: delay_ms: wanted 1500, got 1600`},
		"code":    {`"code": "Throttling"`, `"code": "throttling"`, `case 9 "throttling drain and backoff", call 1, step 1: outcome: wanted retry, got non_retryable`},
		"service": {`"service": "dynamodb"`, `"service": "s3"`, `case 10 "dynamodb base backoff and attempts", call 1, step 3: outcome: wanted retry, got max_attempts`},
		"polling": {`"long_polling": true`, `"long_polling": false`, `case 11 "long-poll transient, empty bucket", call 1, step 1: delay_ms: wanted 50, got 0`},
		"success": {`"status": 200`, `"status": 503`, `case 1 "retry eventually succeeds", call 1, step 3: outcome: wanted success, got max_attempts`},
	} {
		t.Run(name, func(t *testing.T) {
			mutated := strings.Replace(string(data), test.old, test.new, 1)
			require.NotEqual(t, string(data), mutated)
			out, faults, totals := replayed(t, mutated, Quiet)
			assert.Contains(t, out, test.want)
			assert.Empty(t, faults)
			assert.Positive(t, totals.Mismatched)
			assert.Zero(t, totals.Errors)
		})
	}
}

func TestDelayIsComparedToAMicrosecond(t *testing.T) {
	for ms, ok := range map[string]bool{"50": true, "49.9991": true, "49.9989": false, "50.0011": false} {
		_, _, totals := replayed(t, `{"format":"reprise-replay/1","cases":[{"engine":{"jitter":1},"calls":[{"steps":[
			{"status":500,"expect":{"delay_ms":`+ms+`}},{"status":200}]}]}]}`, Quiet)
		assert.Equal(t, ok, totals.Mismatched == 0, ms)
	}
}

// one is a document with a case of one call.
func one(engine, call string) string {
	return `{"format":"reprise-replay/1","cases":[{"name":"n","engine":` + engine + `,"calls":[` + call + `]}]}`
}

func TestRunFaults(t *testing.T) {
	for name, test := range map[string]struct{ document, want string }{
		"wants more":      {one(`{}`, `{"steps":[{"status":500}]}`), `case 1 "n", call 1, step 1: the call wants more steps than it has: the engine retries after the last one`},
		"after the end":   {one(`{"tokens":0}`, `{"steps":[{"status":500},{"status":200}]}`), `case 1 "n", call 1, step 2: a step after the end of its call: the engine ends it with step 1 (quota)`},
		"engine's option": {one(`{"capacity":10}`, `{"steps":[{"status":200}]}`), `case 1 "n": engine: reprise/engine: Quota.TransientCost is 14: want 1 to the capacity, 10 tokens`},
		"mode":            {one(`{"mode":"Fast"}`, `{"steps":[{"status":200}]}`), `engine: unknown mode "Fast": want standard, adaptive or legacy`},
		"service":         {one(`{"service":"dynamo"}`, `{"steps":[{"status":200}]}`), `engine: unknown service "dynamo": want dynamodb or dynamodbstreams`},
	} {
		t.Run(name, func(t *testing.T) {
			_, faults, totals := replayed(t, test.document, News)
			assert.True(t, strings.HasPrefix(faults, "reprise: replay: standard input:1:"), faults)
			assert.Contains(t, faults, test.want)
			assert.Equal(t, 1, strings.Count(faults, "\n"))
			assert.Equal(t, 1, totals.Errors)
		})
	}
}

func TestFaultOfACaseDoesNotHideTheNext(t *testing.T) {
	out, faults, totals := replayed(t, `{"format":"reprise-replay/1","cases":[
		{"engine":{"capacity":10},"calls":[{"steps":[{"status":200}]}]},
		{"calls":[{"steps":[{"status":200,"expect":{"quota":499}}]}]}]}`, Quiet)
	assert.Contains(t, faults, "case 1: engine: reprise/engine: Quota")
	assert.Contains(t, out, "case 2, call 1, step 1: quota: wanted 499, got 500")
	assert.Contains(t, out, "2 cases, 1 step, 0 as expected, 1 not as expected, 1 not run, 1 error\n")
	assert.Equal(t, 1, totals.Mismatched)
}

func TestCaseEndsWhereFileAndEngineDisagree(t *testing.T) {
	out, faults, totals := replayed(t, one(`{"max_attempts":1}`,
		`{"steps":[{"status":500,"expect":{"outcome":"retry"}},{"status":200}]},{"steps":[{"status":200,"expect":{"quota":1}}]}`), Quiet)
	assert.Empty(t, faults)
	assert.Equal(t, "standard input:1: case 1 \"n\", call 1, step 1: outcome: wanted retry, got max_attempts\n"+
		"standard input: 1 case, 1 step, 0 as expected, 1 not as expected, 2 not run\n", out)
	assert.Equal(t, 2, totals.NotRun)
}

func TestStepsThatAreNotResponses(t *testing.T) {
	for name, want := range map[string]string{
		"timeout": "retry", "attempt_timeout": "retry", "dial_timeout": "retry", "refused": "retry", "reset": "retry",
		"broken_pipe": "retry", "closed": "retry", "eof": "retry", "unexpected_eof": "retry", "goaway": "retry",
		"refused_stream": "retry", "dns_temporary": "retry", "dns_timeout": "retry", // R3.2
		"dns_not_found":   "non_retryable",                                                                // R3.7
		"unreachable":     "non_retryable",                                                                // not in R3.2
		"tls_certificate": "non_retryable", "bad_url": "non_retryable", "too_many_files": "non_retryable", // R3.3
		"cancelled": "cancelled", "deadline": "deadline", // R3.6
	} {
		t.Run(name, func(t *testing.T) {
			_, err := scenario.Find(name)
			require.NoError(t, err)
			quota := "500"
			next := ""
			if want == "retry" {
				quota, next = "486", `,{"status":200,"expect":{"quota":500}}`
			}
			out, faults, totals := replayed(t, one(`{}`, `{"steps":[{"error":"`+name+`","expect":{"outcome":"`+want+`","quota":`+quota+`}}`+next+`]}`), Quiet)
			assert.Empty(t, faults)
			assert.Zero(t, totals.Mismatched, out)
		})
	}
}

func TestCodesAndHeadersAsTheyArrive(t *testing.T) {
	for name, step := range map[string]string{
		"namespace": `{"status":400,"code":"aws.dynamodb#ThrottlingException","expect":{"outcome":"retry","quota":495,"delay_ms":1000}}`,                // R3.9
		"url":       `{"status":400,"code":" SlowDown:http://internal.example/ ","expect":{"outcome":"retry","quota":495,"delay_ms":1000}}`,             // R3.9
		"code only": `{"code":"RequestTimeout","expect":{"outcome":"retry","quota":486,"delay_ms":50}}`,                                                 // R3.2
		"429":       `{"status":429,"expect":{"outcome":"retry","quota":495,"delay_ms":1000}}`,                                                          // R3.4
		"header":    `{"status":500,"headers":{"X-AMZ-Retry-After":" 1500 "},"expect":{"outcome":"retry","quota":486,"delay_ms":1500}}`,                 // R5
		"no header": `{"status":500,"headers":{"Retry-After":"9"},"expect":{"outcome":"retry","quota":486,"delay_ms":50}}`,                              // R5
		"throttled": `{"status":503,"code":"SlowDown","headers":{"x-amz-retry-after":"3000"},"expect":{"outcome":"retry","quota":495,"delay_ms":3000}}`, // R3.1, R5.1
		"a decimal": `{"status":503,"headers":{"x-amz-retry-after":"1500.7"},"expect":{"outcome":"retry","quota":486,"delay_ms":50}}`,                   // R5.1
		"too large": `{"status":503,"headers":{"x-amz-retry-after":"99999999999999999999"},"expect":{"outcome":"retry","quota":486,"delay_ms":5050}}`,   // R5.2
	} {
		t.Run(name, func(t *testing.T) {
			out, faults, totals := replayed(t, one(`{"jitter":1}`, `{"steps":[`+step+`,{"status":204,"expect":{"outcome":"success","quota":500}}]}`), Quiet)
			assert.Empty(t, faults)
			assert.Zero(t, totals.Mismatched, out)
		})
	}
}

func TestLongPollByOperation(t *testing.T) {
	for operation, ms := range map[string]string{"ReceiveMessage": "50", "PollForDecisionTask": "50", "SendMessage": "0"} { // R7
		_, _, totals := replayed(t, one(`{"jitter":1,"tokens":0}`,
			`{"operation":"`+operation+`","steps":[{"status":500,"expect":{"outcome":"quota","delay_ms":`+ms+`}}]}`), Quiet)
		assert.Zero(t, totals.Mismatched, operation)
	}
}

// 100 ms after a cut to 1.12/s with an empty bucket an attempt lacks 1 - 0.112
// tokens (R8.1).
func TestAdaptiveAdmission(t *testing.T) {
	for wait, ok := range map[string]bool{"792.857143": true, "792.86": true, "792.87": false, "0": false} {
		out, faults, totals := replayed(t, one(`{"mode":"adaptive","max_attempts":1}`, `
			{"steps":[{"status":429,"at_ms":600,"expect":{"fill_rate":1.12,"measured_tx_rate":1.6,"admit_wait_ms":0}}]},
			{"steps":[{"status":200,"at_ms":700,"expect":{"admit_wait_ms":`+wait+`}}]}`), Quiet)
		assert.Empty(t, faults)
		assert.Equal(t, ok, totals.Mismatched == 0, out)
	}
}

func TestMutatedRatesAreNotAsPublished(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(vectors, "adaptive.json"))
	require.NoError(t, err)
	out, _, totals := replayed(t, strings.Replace(string(data), "3.4866391734702598", "3.48663918", 1), Quiet)
	assert.Equal(t, 1, totals.Mismatched)
	assert.Contains(t, out, "call 11, step 1: fill_rate: wanted 3.48663918, got 3.48663917347")
}

// R1.4: no quota, 1 s * 2^i whatever the class, 5 attempts.
func TestLegacy(t *testing.T) {
	out, faults, totals := replayed(t, one(`{"mode":"legacy","jitter":1,"tokens":0}`, `{"steps":[
		{"status":500,"expect":{"outcome":"retry","delay_ms":1000}},
		{"status":400,"code":"SlowDown","expect":{"outcome":"retry","delay_ms":2000}},
		{"error":"reset","expect":{"outcome":"retry","delay_ms":4000}},
		{"status":503,"expect":{"outcome":"retry","delay_ms":8000}},
		{"status":500,"expect":{"outcome":"max_attempts","delay_ms":0}}]}`), Quiet)
	assert.Empty(t, faults)
	assert.Zero(t, totals.Mismatched, out)
}

func TestReplayDoesNotWait(t *testing.T) {
	begin := time.Now()
	_, _, totals := replayed(t, one(`{"jitter":1,"max_attempts":4,"tokens":15}`,
		`{"long_polling":true,"steps":[{"code":"SlowDown"},{"code":"SlowDown"},{"code":"SlowDown"},{"error":"deadline"}]}`), Quiet)
	assert.Equal(t, 4, totals.Steps)
	assert.Zero(t, totals.Errors)
	assert.Less(t, time.Since(begin), 900*time.Millisecond) // the first delay alone is a second
}

const mixed = `{"format":"reprise-replay/1","cases":[
{"name":"nothing expected","engine":{"jitter":1},"calls":[{"steps":[
  {"status":500},
  {"status":400,"code":"ns#SlowDown","headers":{"x-amz-retry-after":"3000"}},
  {"error":"dns_not_found"}]}]},
{"name":"some expected","engine":{"jitter":1,"service":"dynamodb"},"calls":[
  {"steps":[{"status":500,"expect":{"outcome":"retry","delay_ms":26}},{"status":200,"expect":{"outcome":"success","quota":501}}]},
  {"steps":[{"status":200,"expect":{"outcome":"success","quota":500}}]}]},
{"engine":{"capacity":10},"calls":[{"steps":[{"status":200}]}]},
{"engine":{"mode":"adaptive","jitter":1},"calls":[
  {"steps":[{"at_ms":600,"status":429},{"at_ms":700,"status":200,"expect":{"outcome":"success","quota":500,"fill_rate":1.4,"measured_tx_rate":2}}]}]}]}`

func TestTextReports(t *testing.T) {
	for name, detail := range map[string]Detail{"news.txt": News, "quiet.txt": Quiet, "full.txt": Full} {
		out, faults, _ := replayed(t, mixed, detail)
		golden(t, name, out)
		assert.Equal(t, "reprise: replay: standard input:9:1: case 3: engine: reprise/engine: Quota.TransientCost is 14: want 1 to the capacity, 10 tokens; a cost above it could never be paid\n", faults)
	}
}

func TestJSONReport(t *testing.T) {
	var out, faults bytes.Buffer
	_, err := Files([]string{"-", "testdata/missing.json"}, strings.NewReader(mixed), NewJSON(&out, &faults))
	require.NoError(t, err)
	golden(t, "report.json", out.String())
	assert.Equal(t, 2, strings.Count(faults.String(), "\n"))
	assert.Contains(t, faults.String(), "reprise: replay: testdata/missing.json: no such file or directory\n")

	out.Reset()
	_, err = Files([]string{filepath.Join(vectors, "standard.json")}, nil, NewJSON(&out, io.Discard))
	require.NoError(t, err)
	assert.Contains(t, out.String(), `"totals":{"cases":21,"steps":56,"checked":56,"mismatched":0,"not_run":0,"errors":0},"ok":true}`)
}

func TestReportThatCannotBeWritten(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	for _, to := range []Reporter{NewText(full, io.Discard, News, 0), NewJSON(full, io.Discard)} {
		_, err := Files([]string{"-"}, strings.NewReader(mixed), to)
		assert.ErrorContains(t, err, "no space left on device")
	}
}

func TestTextPrintsLongCasesInParts(t *testing.T) {
	steps := strings.Repeat(`{"steps":[{"status":200}]},`, maxRows) + `{"steps":[{"status":200}]}`
	out, _, _ := replayed(t, one(`{}`, steps), News)
	assert.Equal(t, 2, strings.Count(out, `standard input: case 1 "n"`))
	assert.Equal(t, maxRows+1, strings.Count(out, "success"))
}
