package replay

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const vectors = "../../../../testdata/vectors"

// read reads a whole document.
func read(r io.Reader) ([]*Case, error) { return readBounded(r, defaultBounds) }

func readBounded(r io.Reader, most bounds) ([]*Case, error) {
	var cases []*Case
	for c, err := range parse("f.json", r, most) {
		if err != nil {
			return cases, err
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// step wraps a step into a document, on a line of its own.
func step(step string) string {
	return "{\"format\":\"reprise-replay/1\",\"cases\":[{\"name\":\"n\",\"calls\":[{\"steps\":[\n" + step + "]}]}]}"
}

// settings wraps the engine of a case into a document.
func settings(engine string) string {
	return `{"format":"reprise-replay/1","cases":[{"name":"n","engine":` + engine + `,"calls":[{"steps":[{"status":200,"at_ms":1}]}]}]}`
}

func TestParseVectors(t *testing.T) {
	for name, want := range map[string]int{"standard.json": 21, "retry_after.json": 14, "adaptive.json": 1} {
		data, err := os.ReadFile(filepath.Join(vectors, name))
		require.NoError(t, err)
		cases, err := read(bytes.NewReader(data))
		require.NoError(t, err, name)
		assert.Len(t, cases, want, name)

		slow, err := read(iotest.OneByteReader(bytes.NewReader(data)))
		require.NoError(t, err, name)
		assert.Len(t, slow, want, name)
	}
}

func TestParseTakesKeysInAnyOrder(t *testing.T) {
	cases, err := read(strings.NewReader(`{"cases":[{"calls":[{"steps":[{"expect":{},"status":200}]}],"name":"n"}],"format":"reprise-replay/1"}`))
	require.NoError(t, err)
	require.Len(t, cases, 1)
	assert.Equal(t, "n", cases[0].Name)
}

// R1.3: modes match without case, also where it is asked whether there is a limiter.
func TestParseTakesModesInAnyCase(t *testing.T) {
	document := strings.Replace(settings(`{"mode":"ADAPTIVE "}`), `"at_ms":1`, `"at_ms":1,"expect":{"fill_rate":0.5,"admit_wait_ms":0}`, 1)
	cases, err := read(strings.NewReader(document))
	require.NoError(t, err)
	_, err = cases[0].Run(func(r Result) { assert.Empty(t, r.Mismatches) })
	require.NoError(t, err)
}

func TestParseStops(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(vectors, "standard.json"))
	require.NoError(t, err)
	for c, err := range Parse("f.json", bytes.NewReader(data)) {
		require.NoError(t, err)
		assert.Equal(t, 1, c.number)
		break
	}
}

func TestParseErrors(t *testing.T) {
	const at = `f.json:2:1: case 1 "n", call 1, step 1: `
	long := strings.Repeat("x", 200)
	for name, test := range map[string]struct{ document, want string }{
		"empty":           {"", "f.json: empty: want an object"},
		"blank":           {" \n", "f.json: empty: want an object"},
		"not an object":   {"[]", "f.json:1:1: want an object, got an array"},
		"no format":       {`{"cases":[{"calls":[{"steps":[{"status":200}]}]}]}`, `no format: want "format":"reprise-replay/1"`},
		"other format":    {`{"format":"reprise-replay/2"}`, `f.json:1:29: format is "reprise-replay/2": want "reprise-replay/1"`},
		"format number":   {`{"format":1}`, `f.json:1:11: key "format": want a string, got a number`},
		"no case":         {`{"format":"reprise-replay/1","cases":[]}`, "no cases, so there is nothing to replay"},
		"cases missing":   {`{"format":"reprise-replay/1"}`, "no cases, so there is nothing to replay"},
		"cases an object": {`{"cases":{}}`, "f.json:1:10: want an array, got an object"},
		"cases null":      {`{"cases":null}`, "f.json:1:10: want an array, got null"},
		"other key":       {`{"Format":"reprise-replay/1"}`, `unknown key "Format": want format, cases`},
		"twice":           {`{"format":"reprise-replay/1","format":"reprise-replay/1"}`, `f.json:1:30: key "format" is there twice`},
		"trailing":        {step(`{"status":200}`) + " {}", `f.json:2:22: data after the end of the document`},
		"trailing text":   {step(`{"status":200}`) + "\nx", `f.json:3:1: data after the end of the document`},
		"cut":             {`{"format":"reprise-replay/1","cases":[{"name":"n",`, `the file ends in the middle of its document`},
		"syntax":          {step(`{"status" 200}`), `f.json:2:11: case 1 "n", call 1, step 1: invalid character '2' after object name (expecting ':')`},
		"byte order mark": {"\ufeff" + step(`{"status":200}`), "f.json:1:1: the file begins with a byte order mark: want UTF-8 without one"},
		"UTF-16":          {"\xff\xfe{\x00", "f.json:1:1: the file is UTF-16: want UTF-8"},
		"not UTF-8":       {step("{\"code\":\"\xff\"}"), `f.json:2:10: case 1 "n", call 1, step 1: invalid UTF-8`},

		"case not an object": {`{"cases":[5]}`, `f.json:1:11: case 1: an element of "cases": want an object, got a number`},
		"calls null":         {`{"cases":[{"calls":null}]}`, `case 1: key "calls": null says nothing`},
		"no calls":           {`{"cases":[{"calls":[]}]}`, `case 1: no calls: want at least one`},
		"no steps":           {`{"cases":[{"calls":[{"steps":[]}]}]}`, `case 1, call 1: the call wants more steps than it has`},
		"unknown in call":    {`{"cases":[{"calls":[{"long_poling":true}]}]}`, `case 1, call 1: unknown key "long_poling": want operation, long_polling, steps`},

		"unknown in step":   {step(`{"stats":1}`), `f.json:2:2: case 1 "n", call 1, step 1: unknown key "stats": want status, code, headers, error, at_ms, expect`},
		"unknown in expect": {step(`{"status":200,"expect":{"delay":1}}`), `step 1: unknown key "delay": want outcome, quota, delay_ms,`},
		"case of a key":     {step(`{"Status":200}`), `unknown key "Status"`},
		"twice in step":     {step(`{"status":200,"status":200}`), `f.json:2:15: case 1 "n", call 1, step 1: key "status" is there twice`},
		"status a string":   {step(`{"status":"200"}`), `f.json:2:11: case 1 "n", call 1, step 1: key "status": want a whole number, got a string`},
		"status a decimal":  {step(`{"status":200.5}`), `key "status": want a whole number, got 200.5`},
		"status huge":       {step(`{"status":99999999999999999999}`), `key "status": want a whole number, got 99999999999999999999`},
		"status null":       {step(`{"status":null}`), `key "status": null says nothing: leave the key out`},
		"status 42":         {step(`{"status":42}`), at + `status is 42: want 100 to 999`},
		"status negative":   {step(`{"status":-1}`), at + `status is -1: want 100 to 999`},
		"header a number":   {step(`{"status":500,"headers":{"x-amz-retry-after":1500}}`), `key "x-amz-retry-after": want a string, got a number`},
		"header null":       {step(`{"status":500,"headers":{"a":null}}`), `key "a": null says nothing`},
		"header twice":      {step(`{"status":500,"headers":{"X-A":"1","x-a":"2"}}`), at + `headers: "X-A" and "x-a" are the same header`},
		"nothing":           {step(`{}`), at + `no status, code or error: want what the attempt met`},
		"unknown error":     {step(`{"error":"oops"}`), at + `unknown error "oops": want timeout, `},
		"long error":        {step(`{"error":"` + long + `"}`), `xxx...": want timeout`},
		"empty error":       {step(`{"error":""}`), at + `unknown error "": want`},
		"error and status":  {step(`{"error":"reset","status":500}`), at + `error "reset" beside a status, code or headers`},
		"success with code": {step(`{"status":200,"code":"InternalError"}`), at + `status 200 with code "InternalError": a success has no error code`},
		"at_ms negative":    {step(`{"status":200,"at_ms":-1}`), at + `at_ms is -1: want a number from 0`},
		"at_ms huge":        {step(`{"status":200,"at_ms":1e300}`), at + `at_ms is 1e+300: want a number from 0`},
		"at_ms infinite":    {step(`{"status":200,"at_ms":1e999}`), `key "at_ms": want a number, got 1e999`},
		"outcome":           {step(`{"status":200,"expect":{"outcome":"Success"}}`), at + `unknown outcome "Success": want success, retry,`},
		"quota negative":    {step(`{"status":200,"expect":{"quota":-1}}`), at + `quota is -1`},
		"delay negative":    {step(`{"status":200,"expect":{"delay_ms":-0.5}}`), at + `delay_ms is -0.5: want a number from 0`},
		"rate in standard":  {step(`{"status":200,"expect":{"fill_rate":0.5}}`), at + `fill_rate is expected, but only adaptive mode has a limiter`},
		"after the end":     {step(`{"status":200},` + "\n" + ` {"status":200}`), `f.json:3:2: case 1 "n", call 1, step 2: a step after the end of its call: step 1 ends it (success)`},
		"after given end":   {step(`{"status":500,"expect":{"outcome":"quota"}},{"status":200}`), `step 2: a step after the end of its call: step 1 ends it (quota)`},
		"before the end":    {step(`{"status":500,"expect":{"outcome":"retry"}}`), at + `the call wants more steps than it has`},

		"engine a string":  {settings(`"standard"`), `f.json:1:60: case 1 "n": key "engine": want an object, got a string`},
		"unknown setting":  {settings(`{"retries":3}`), `unknown key "retries": want mode, service, max_attempts, tokens, capacity, max_backoff_ms, jitter`},
		"attempts 0":       {settings(`{"max_attempts":0}`), `case 1 "n": engine: max_attempts is 0: want a number from 1`},
		"tokens negative":  {settings(`{"tokens":-1}`), `engine: tokens is -1: want a number from 0`},
		"tokens above":     {settings(`{"tokens":501}`), `engine: tokens is 501: want at most the capacity, 500`},
		"capacity 0":       {settings(`{"capacity":0}`), `engine: capacity is 0: want a number from 1`},
		"jitter above":     {settings(`{"jitter":1.01}`), `engine: jitter is 1.01: want a number from 0 to 1`},
		"max_backoff 0":    {settings(`{"max_backoff_ms":0}`), `engine: max_backoff_ms is 0: want milliseconds above 0`},
		"max_backoff huge": {settings(`{"max_backoff_ms":1e18}`), `engine: max_backoff_ms is 1e+18`},
		"adaptive, no at":  {strings.Replace(settings(`{"mode":"adaptive"}`), `,"at_ms":1`, "", 1), `step 1: no at_ms: adaptive mode has to know when the response arrives`},
		"Adaptive, no at":  {strings.Replace(settings(`{"mode":" Adaptive"}`), `,"at_ms":1`, "", 1), `step 1: no at_ms: adaptive mode has to know when the response arrives`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(strings.NewReader(test.document))
			require.Error(t, err)
			assert.ErrorContains(t, err, test.want)
			assert.True(t, strings.HasPrefix(err.Error(), "replay: f.json"), err.Error())
			assert.NotContains(t, err.Error(), "\n")
			assert.IsType(t, (*FileError)(nil), err)
		})
	}
}

func TestParsePlacesLinesOfLaterCases(t *testing.T) {
	one := `{"calls":[{"steps":[` + "\n" + `{"status":200}]}]}`
	document := "{\"format\":\"reprise-replay/1\",\"cases\":[\n" + strings.Repeat(one+",\n", 1000) + "\n  {\"calls\":5}]}"
	_, err := read(strings.NewReader(document))
	assert.EqualError(t, err, `replay: f.json:2003:12: case 1001: key "calls": want an array, got a number`)
}

func TestParseReadErrors(t *testing.T) {
	_, err := read(iotest.ErrReader(os.ErrClosed))
	assert.ErrorContains(t, err, "replay: f.json: ")
	_, err = read(io.MultiReader(strings.NewReader(`{"format":"reprise-replay/1","cases":[`), iotest.ErrReader(os.ErrClosed)))
	assert.ErrorContains(t, err, "file already closed")

	dir, err := os.Open(t.TempDir())
	require.NoError(t, err)
	defer dir.Close()
	_, err = read(dir)
	assert.EqualError(t, err, "replay: f.json: is a directory")
}

// repeated is a head and then the same text for ever.
type repeated struct{ head, text string }

func (r *repeated) Read(p []byte) (int, error) {
	for n := 0; n < len(p); {
		if r.head == "" {
			r.head = r.text
		}
		copied := copy(p[n:], r.head)
		r.head = r.head[copied:]
		n += copied
	}
	return len(p), nil
}

func TestParseBounds(t *testing.T) {
	most := bounds{caseBytes: 1 << 20, stringBytes: 64 << 10, caseSteps: 5000}
	const begin = `{"format":"reprise-replay/1","cases":[{"name":"n","calls":[{"steps":[`
	for name, test := range map[string]struct{ head, text, want string }{
		"string": {`{"format":"`, "x", "f.json: a string or blanks of more than 64 KiB"},
		"blanks": {"", " \n", "f.json: a string or blanks of more than 64 KiB"},
		"steps":  {begin, `{"status":500},`, `case 1 "n", call 1, step 5001: a case of more than 5000 steps: split it`},
		"case":   {begin, `{"status":500,"code":"` + strings.Repeat("x", 1000) + `"},`, `case 1 "n": a case of more than 1 MiB: split it`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readBounded(&repeated{test.head, test.text}, most)
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"standard.json", "adaptive.json"} {
		data, err := os.ReadFile(filepath.Join(vectors, name))
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte(step(`{"error":"reset","expect":{"quota":486}},{"status":0,"code":"ns#Throttling"}`)))
	f.Add([]byte(settings(`{"mode":"legacy","service":"dynamodb","jitter":0.5,"capacity":20,"tokens":1}`)))
	f.Fuzz(func(t *testing.T, document []byte) {
		cases, err := read(bytes.NewReader(document))
		if err == nil {
			require.NotEmpty(t, cases)
		} else {
			require.NotContains(t, err.Error(), "\n")
		}
		// The same document byte by byte, as a slow pipe gives it, is the same. The
		// words of a syntax error may differ with what the decoder has seen by then.
		again, errAgain := read(iotest.OneByteReader(bytes.NewReader(document)))
		require.Equal(t, err == nil, errAgain == nil)
		require.Len(t, again, len(cases))
		for i, c := range cases {
			for j, call := range c.Calls {
				require.NotEmpty(t, call.Steps)
				for k := range call.Steps {
					assert.Equal(t, call.Steps[k].offset, again[i].Calls[j].Steps[k].offset)
				}
			}
			steps := 0
			notRun, _ := c.Run(func(r Result) {
				steps++
				require.GreaterOrEqual(t, r.Quota, 0)
				require.GreaterOrEqual(t, r.Delay, time.Duration(0))
			})
			require.Equal(t, c.steps(), steps+notRun)
		}
	})
}
