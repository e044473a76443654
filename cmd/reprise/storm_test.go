package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/cmd/reprise/internal/storm"
)

const checkout = `name: checkout
duration: 10s
load: {rate: 100}
layers: [{callers: 4, deadline: 2s, timeout: 500ms, latency: 1ms}]
server: {workers: 2, queue: 50, service: {mean: 10ms}}
faults: [{kind: down, start: 3s, length: 3s}]
policies: [none, standard]
policy: {max_attempts: 7}
`

func scenarioFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// policies are those that a command line's result has.
func policies(t *testing.T, args ...string) (names []string) {
	t.Helper()
	code, out, stderr := reprise(append([]string{"storm", "--json", "-q"}, args...)...)
	require.Zero(t, code, stderr)
	assert.Empty(t, stderr)
	var r storm.Result
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	for _, p := range r.Policies {
		names = append(names, p.Policy)
	}
	return names
}

func TestStorm(t *testing.T) {
	file := scenarioFile(t, "checkout.yaml", checkout)
	code, out, stderr := reprise("storm", file)
	require.Zero(t, code, stderr)
	assert.Contains(t, out, "checkout (")
	assert.Contains(t, out, "│ standard │")
	assert.NotContains(t, out, "\x1b", "no colours for a pipe")
	assert.Contains(t, stderr, "simulated 0.0 million calls in ")

	_, again, _ := reprise("storm", file, "-q")
	assert.Equal(t, out, again)
	_, other, _ := reprise("storm", file, "-q", "--seed", "2")
	assert.NotEqual(t, out, other)

	assert.Equal(t, []string{"none", "standard", "own"}, policies(t, file))
	assert.Equal(t, []string{"naive", "standard"}, policies(t, file, "--policies", "standard,naive"))
	assert.Equal(t, []string{"naive", "own"}, policies(t, file, "--policies", "own,naive"))
	assert.Equal(t, []string{"naive", "own"}, policies(t, file, "--policies", "naive", "--max-attempts", "4"))
	plain := scenarioFile(t, "plain.yaml", strings.Replace(strings.Replace(checkout, "policies:", "#", 1), "policy:", "#", 1))
	assert.Equal(t, storm.PolicyNames(), policies(t, plain))
	assert.Equal(t, append(storm.PolicyNames(), "own"), policies(t, plain, "--pacing", "--quota-capacity", "100", "--backoff-max", "1s"))

	code, out, _ = reprise("storm", "--list")
	assert.Zero(t, code)
	assert.Equal(t, len(storm.Builtin()), strings.Count(out, "\n"))
}

// Of no calls there is no success, and of no success no latency.
func TestStormOfNothing(t *testing.T) {
	file := scenarioFile(t, "none.yaml", "duration: 10s\nload: {rate: 0.001}\nlayers: [{callers: 1}]\npolicies: none\n")
	code, out, stderr := reprise("storm", file, "-q")
	require.Zero(t, code, stderr)
	assert.Regexp(t, `│ none   │ +- │ +0 │ +0 │ +0\.00 │ +- │ +- │ +- │ +- │`, out)
}

// A file's own policy is asked for by its name like the others.
func TestOwnByName(t *testing.T) {
	file := scenarioFile(t, "own.yaml", strings.Replace(checkout, "policies: [none, standard]", "policies: [own]", 1))
	assert.Equal(t, []string{"own"}, policies(t, file))
	assert.Equal(t, []string{"own"}, policies(t, file, "--policies", "own,own"))
	file = scenarioFile(t, "both.yaml", strings.Replace(checkout, "policies: [none, standard]", "policies: [own, none]", 1))
	assert.Equal(t, []string{"none", "own"}, policies(t, file))
}

// A terminal does not obey what a file is named.
func TestStormName(t *testing.T) {
	file := scenarioFile(t, "red.yaml", strings.Replace(checkout, "name: checkout", `name: "\x1b[31mred"`, 1))
	code, out, stderr := reprise("storm", file, "-q")
	require.Zero(t, code, stderr)
	assert.Contains(t, out, `\x1b[31mred (`)
}

func TestStormHelp(t *testing.T) {
	code, help, _ := reprise("storm", "--help")
	require.Zero(t, code)
	assert.Contains(t, help, "Examples:")
	for _, s := range storm.Builtin() {
		assert.Contains(t, help, s.Name)
	}
	_, out, _ := reprise("storm", "--json", "-q", scenarioFile(t, "checkout.yaml", checkout))
	assertKeysIn(t, out, help)

	begin := strings.Index(help, "    name: checkout")
	require.Positive(t, begin)
	example, _, _ := strings.Cut(help[begin:], "\n\n")
	assert.Equal(t, []string{"none", "standard", "own"}, policies(t, scenarioFile(t, "example.yaml", example+"\n")))
}

func TestWrongStorms(t *testing.T) {
	file := scenarioFile(t, "checkout.yaml", checkout)
	wrong := scenarioFile(t, "wrong.yaml", "name: wrong\nload: {rat: 100}\nserver: {worker: 2}\n")
	for _, row := range []struct {
		args string
		code int
		want string
	}{
		{"sunshine", 2, `unknown scenario "sunshine": want blip, outage,`},
		{"Outge", 2, `unknown scenario "Outge": did you mean outage? want blip, outage,`},
		{"hot", 2, `unknown scenario "hot": did you mean hot-partition? want blip,`},
		{"--policies hope", 2, `--policies names "hope": want none, naive,`},
		{"--policies none,standrd", 2, `--policies names "standrd": did you mean standard? want none, naive,`},
		{"--policies=", 2, "--policies is empty: want a value, or leave it out"},
		{"--list --json", 2, "--list runs nothing: want it without --json"},
		{"--list --html storm.html", 2, "--list runs nothing: want it without --html"},
		{"--list --max-attempts 0", 2, "--list runs nothing: want it without the flags of the own policy"},
		{"--list outage", 2, "--list runs nothing: want it without outage"},
		{"--seed -1", 2, `--seed: want a whole number, 0 or more, got "-1"`},
		{"--coalesce -5s", 2, `--coalesce: "-5s" looks like a flag: want a value, or --coalesce="-5s" if it is one`},
		{"--policies own", 2, "--policies names own: want a flag of the own policy with it, such as --max-attempts, or a file with a policy"},
		{"--max-attempts 0", 2, "--max-attempts is 0: want 1 to 2147483647"},
		{"--mode fast", 2, `--mode: unknown mode "fast": want standard, adaptive or legacy`},
		{"--coalesce 1s", 2, "--coalesce is about the send limiter, which standard mode does not have"},
		{"--max-attempts 1 --quota-capacity 50", 2, "--quota-capacity or a cost is given and max_attempts is 1: want 2 or more"},
		{"--max-attempts 1 --backoff-max 5s", 2, "--backoff-transient or another delay is given and max_attempts is 1: want 2 or more"},
		{"--quota-capacity 0", 2, "--quota-capacity is 0: want more, or it left out, for the default"},
		{"--backoff-max 0s", 2, "--backoff-max is 0: want more, or it left out, for the default"},
		{"--mode legacy --pacing", 2, "--pacing is about a retry that the quota refuses, and legacy mode has none"},
		{"--quota-capacity 3", 2, "--quota-transient-cost is 14: want 1 to the capacity, 3 tokens"},
		{"--seed many", 2, `--seed: want a whole number, got "many"`},
		{"outage blip", 2, "unexpected argument blip"},
		{file + ".gone.yaml", 1, "no such file or directory"},
	} {
		code, out, stderr := reprise(append([]string{"storm"}, strings.Fields(row.args)...)...)
		assert.Equal(t, row.code, code, row.args)
		assert.Empty(t, out, row.args)
		assertOneLine(t, stderr, row.want)
	}
	code, out, stderr := reprise("storm", "")
	assert.Equal(t, 2, code)
	assert.Empty(t, out)
	assertOneLine(t, stderr, "scenario is empty: want one, or leave it out")
	code, _, stderr = reprise("storm", wrong)
	assert.Equal(t, 1, code)
	assert.Equal(t, 4, strings.Count(stderr, "\n"), "a line for each mistake")
	assert.Contains(t, stderr, "reprise: scenario "+wrong+": duration is missing: want how long calls begin, such as 5m")
	assert.Contains(t, stderr, "reprise: scenario "+wrong+":2: load.rat is an unknown key: did you mean rate? want rate,")
	assert.Contains(t, stderr, "reprise: scenario "+wrong+":3: server.worker is an unknown key: did you mean workers?")
}

func TestASignalEndsAStorm(t *testing.T) {
	line, out := signalled(t, syscall.SIGINT, "storm", scenarioFile(t, "long.yaml", longStorm))
	assert.Regexp(t, `^storm +\d+ %  0 of 3 policies  \d+\.\d million calls\n$`, line)
	assert.Empty(t, out)

	// One whose first sample is hours away ends as soon.
	_, out = signalled(t, syscall.SIGINT, "storm", scenarioFile(t, "slow.yaml", "duration: 240h\nload: {loops: 1}\nlayers: [{callers: 1, latency: 1ns}]\n"))
	assert.Empty(t, out)
}

// longStorm takes longer than any test.
var longStorm = strings.Replace(checkout, "duration: 10s", "duration: 600h", 1) + "sample: 1m\n"

// signalled runs a command line and sends it a signal after the first line of its
// progress, which it returns with what went to standard output.
func signalled(t *testing.T, signal syscall.Signal, args ...string) (line, out string) {
	t.Helper()
	cmd := child(t, args...)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err = bufio.NewReader(stderr).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(signal))
	require.Error(t, cmd.Wait())
	assert.Equal(t, 128+int(signal), cmd.ProcessState.ExitCode())
	return line, stdout.String()
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestStormPage(t *testing.T) {
	file, page := scenarioFile(t, "checkout.yaml", checkout), filepath.Join(t.TempDir(), "storm.html")
	code, table, stderr := reprise("storm", file, "-q", "--html", page)
	require.Zero(t, code, stderr)
	assert.Contains(t, table, "│ standard │", "the result is printed all the same")
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(text), "<title>reprise storm checkout</title>")

	pipe := filepath.Join(t.TempDir(), "pipe.html")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, row := range []struct {
		html string
		code int
		want string
	}{
		{"-", 2, "--html -: want the name of a file, such as run.html or /dev/stdout"},
		{t.TempDir(), 1, "is a directory: want the name of a file in it, such as "},
		{pipe, 1, "report " + pipe + ": is a pipe: want a regular file, or /dev/stdout to pass it on"},
		{filepath.Join(page, "below"), 1, "not a directory"},
	} {
		code, out, stderr := reprise("storm", file, "-q", "--html", row.html)
		assert.Equal(t, row.code, code)
		assert.Empty(t, out)
		assertOneLine(t, stderr, row.want)
	}
	left, err := os.ReadDir(filepath.Dir(page))
	require.NoError(t, err)
	assert.Len(t, left, 1, "nothing is left but the page")
}

func TestStormCharts(t *testing.T) {
	file, dir := scenarioFile(t, "checkout.yaml", checkout), t.TempDir()
	charts, long := filepath.Join(dir, "run", "charts"), scenarioFile(t, "long.yaml", longStorm)
	signalled(t, syscall.SIGINT, "storm", long, "--svg", charts)
	assert.Empty(t, list(t, dir), "neither files nor folders are left of a run that was ended")

	code, _, stderr := reprise("storm", file, "-q", "--svg", charts)
	require.Zero(t, code, stderr)
	assert.Equal(t, []string{"goodput.svg", "load.svg", "offered.svg", "queue.svg", "quota.svg"}, list(t, charts))
	signalled(t, syscall.SIGTERM, "storm", long, "--svg", charts)
	assert.Equal(t, []string{"goodput.svg", "load.svg", "offered.svg", "queue.svg", "quota.svg"}, list(t, charts))

	for svg, want := range map[string]string{
		"-":                                "--svg -: want the name of a folder, such as charts",
		file:                               "is a file: want a folder, or a name that is free",
		filepath.Join(charts, "load.svg/"): "is a file: want a folder",
	} {
		code, out, stderr := reprise("storm", file, "-q", "--svg", svg, "--html", filepath.Join(dir, "page.html"))
		assert.Equal(t, map[bool]int{true: 2, false: 1}[svg == "-"], code)
		assert.Empty(t, out)
		assertOneLine(t, stderr, want)
	}
	assert.Equal(t, []string{"run"}, list(t, dir), "nothing is left of the page")
}

// A reader of the progress that goes ends nothing, and so leaves nothing half done
// behind; one of the result ends the command as it does others.
func TestReadersThatGo(t *testing.T) {
	dir := t.TempDir()
	gone := func(stream func(*exec.Cmd, *os.File)) *exec.Cmd {
		cmd := child(t, "storm", scenarioFile(t, "checkout.yaml", checkout), "--html", filepath.Join(dir, "page.html"))
		read, write, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, read.Close())
		defer write.Close()
		stream(cmd, write)
		_ = cmd.Run() // its exit code tells
		return cmd
	}
	var out, said bytes.Buffer
	cmd := gone(func(cmd *exec.Cmd, to *os.File) { cmd.Stdout, cmd.Stderr = &out, to })
	assert.Equal(t, 0, cmd.ProcessState.ExitCode(), cmd.ProcessState)
	assert.Contains(t, out.String(), "│ standard │")
	assert.Equal(t, []string{"page.html"}, list(t, dir))

	cmd = gone(func(cmd *exec.Cmd, to *os.File) { cmd.Stdout, cmd.Stderr = to, &said })
	assert.Equal(t, 141, cmd.ProcessState.ExitCode())
	assert.Regexp(t, `^simulated .*\n$`, said.String())
	assert.Equal(t, []string{"page.html"}, list(t, dir))
}
