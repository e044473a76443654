package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// childVariable makes the test binary behave as the command.
const (
	childVariable = "REPRISE_TEST_CHILD"
	shortChild    = "short"
)

// short makes what commands measure and simulate of themselves smaller.
func short() {
	baseline, simulated = 100, 50_000
}

func TestMain(m *testing.M) {
	if role := os.Getenv(childVariable); role != "" {
		if role == shortChild {
			short()
		}
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	if signal.Ignored(syscall.SIGHUP) {
		// The tests were started by nohup. A signal that is handled here is not
		// ignored in the children.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	if flag.Parse(); testing.Short() {
		short()
	}
	os.Exit(m.Run())
}

// reprise runs a command line in this process.
func reprise(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(args, &out, &err)
	return code, out.String(), err.String()
}

// child starts a command line in a process of its own.
func child(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	role := "whole"
	if testing.Short() {
		role = shortChild
	}
	cmd.Env = append(os.Environ(), childVariable+"="+role)
	return cmd
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}} {
		code, out, stderr := reprise(args...)
		assert.Zero(t, code)
		assert.Contains(t, out, "drive")
		assert.Empty(t, stderr)
	}
	code, out, _ := reprise("drive", "--help")
	assert.Zero(t, code)
	assert.Contains(t, out, "Examples:")
	assert.Contains(t, out, "reprise drive --calls 1000000")
	assert.NotContains(t, out, "${", "every variable is filled in")
}

func TestVersion(t *testing.T) {
	code, out, stderr := reprise("--version")
	assert.Zero(t, code)
	assert.Empty(t, stderr)
	assert.Regexp(t, `^reprise (devel|v\d+\.\d+\.\d+\S*)\n$`, out)
}

// A pseudo-terminal's master tells its size as a terminal does.
func TestNarrowTerminalsGetLines(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	defer terminal.Close()
	for _, columns := range []uint16{liveWidth - 1, liveWidth, 200} {
		require.NoError(t, unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}))
		assert.EqualValues(t, columns, width(terminal))
	}
	assert.Zero(t, width(new(bytes.Buffer)))
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	assert.Zero(t, width(null))
}

func TestWrongCommandLines(t *testing.T) {
	dir := t.TempDir()
	for _, row := range []struct {
		args string
		code int
		want string
	}{
		{"sing", 2, `unknown command "sing": want drive, replay, explain, storm or proxy`},
		{"explian --status 503", 2, `unknown command "explian": did you mean explain? want drive,`},
		{"drive --sing", 2, "unknown flag --sing"},
		{"drive now", 2, "unexpected argument now"},
		{"drive --calls 0", 2, "--calls is 0: want 1 or more"},
		{"drive --calls -1", 2, "--calls"},
		{"drive --calls many", 2, "--calls"},
		{"drive --duration 0s", 2, "--duration is 0s: want more than 0"},
		{"drive --duration=-1s", 2, "--duration is -1s"},
		{"drive --duration 10", 2, "--duration"},
		{"drive --workers 0", 2, "--workers is 0: want 1 to 4096"},
		{"drive --rate=-5", 2, "--rate is -5"},
		{"drive --rate NaN", 2, "--rate is NaN"},
		{"drive --rate NaN --mode adaptive", 2, "--rate is NaN"}, // the workers depend on it
		{"drive --mode fast", 2, `--mode: unknown mode "fast": want standard, adaptive or legacy`},
		{"drive --max-attempts 0", 2, "--max-attempts is 0: want 1 to 2147483647"},
		{"drive --max-attempts=-3", 2, "--max-attempts is -3"},
		{"drive --deadline=-1s", 2, "--deadline is -1s"},
		{"drive --faults 500", 2, `--faults: "500" is not KIND=SHARE`},
		{"drive --faults 500=200%", 2, `--faults: fault 500: share "200%" is not from 0% to 100%`},
		{"drive --outage 90%+20%", 2, "--outage: start, length and recovery add up to 110%"},
		{"drive --capacity=-5", 2, "--capacity is -5: want up to 1000000 requests per second, or 0 for no limit"},
		{"drive --capacity lots", 2, "--capacity"},
		{"drive --capacity 5 --target http://127.0.0.1/", 2, "--capacity is the embedded server's: a --target has its own"},
		{"drive --coalesce 10ms", 2, "--coalesce is about the send limiter, which standard mode does not have: want --mode adaptive with it"},
		{"drive --target nowhere", 2, `--target "nowhere": want a URL`},
		{"drive --target http://192.0.2.1/", 2, "--target 192.0.2.1 is not on this machine: a run loads its target, so other hosts need --allow-remote"},
		{"drive --calls", 2, "--calls has no value"},
		{"drive --calls=-1", 2, `--calls: want a whole number, got "-1"`},
		{"explain --status abc", 2, `--status: want a whole number, got "abc"`},
		{"drive --rate fast", 2, "--rate: want a number, got \"fast\"\n"},
		{"drive --max-attempts 2147483648", 2, "--max-attempts is 2147483648: want 1 to 2147483647"},
		{"drive --service dinamodb", 2, `--service: unknown service "dinamodb"`},
		{"drive --target=", 2, "--target is empty: want a value, or leave it out"},
		{"drive --html=", 2, "--html is empty"},
		{"drive --service=", 2, "--service is empty"},
		{"drive --settings --profile=", 2, "--profile is empty"},
		{"explain --status 503 --mode=", 2, "--mode is empty"},
		{"explain --error=", 2, "--error is empty"},
		{"drive --target http://127.0.0.1:1/ --faults none", 2, "--faults is the embedded server's: a --target has its own"},
		{"drive --outage none --target http://127.0.0.1:1/", 2, "--outage is the embedded server's"},
		{"drive --target http://127.0.0.1:1/ --slow-delay 1s", 2, "--slow-delay is the embedded server's"},
		{"drive --target http://127.0.0.1:1/ --seed 1", 2, "--seed is the embedded server's"},
		{"drive --target http://127.0.0.1:1/ --capacity 50", 2, "--capacity is the embedded server's"},
		{"drive --target http://127.0.0.1:1/ --latency 1ms", 2, "--latency is the embedded server's"},
		{"drive --allow-remote", 2, "--allow-remote without --target"},
		{"drive --html -", 2, "--html -: want the name of a file"},
		{"drive --service \x1b[31m", 2, `\x1b[31m`},
		{"replay \x1b[31m", 2, `replay: \x1b[31m: no such file or directory`},
		{"drive --html " + dir, 1, "report " + dir + ": is a directory"},
		{"drive --html " + dir + "/no/run.html", 1, "no such file or directory"},
	} {
		code, out, stderr := reprise(strings.Fields(row.args)...)
		assert.Equal(t, row.code, code, row.args)
		assert.Empty(t, out, row.args)
		assertOneLine(t, stderr, row.want)
	}
}

func assertOneLine(t *testing.T, stderr, want string) {
	t.Helper()
	assert.True(t, strings.HasPrefix(stderr, "reprise: "), stderr)
	assert.Contains(t, stderr, want)
	assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	assert.NotContains(t, stderr, "\x1b", "a name must not steer the terminal")
}

func TestUnreachableTarget(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	html := filepath.Join(t.TempDir(), "run.html")
	code, out, stderr := reprise("drive", "--target", "http://"+address+"/", "--html", html)
	assert.Equal(t, 1, code)
	assert.Empty(t, out)
	assertOneLine(t, stderr, "target http://"+address+"/ is unreachable")
	assertEmpty(t, filepath.Dir(html))
}

// A server that hangs up on everyone is reached but never answers.
func TestSilentTarget(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	code, out, stderr := reprise("drive", "-q", "--calls", "3", "--target", "http://"+listener.Addr().String())
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "stopped", "what was seen is shown")
	assertOneLine(t, stderr, "no attempt was answered by http://"+listener.Addr().String())
}

func assertEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func TestDriveReports(t *testing.T) {
	dir := t.TempDir()
	html := filepath.Join(dir, "run.html")
	code, out, stderr := reprise("drive", "--calls", "500", "--faults", "500=3%,reset=1%", "--json", "--html", html, "-q")
	require.Zero(t, code, stderr)
	assert.Empty(t, stderr)
	var res struct {
		Schema           string
		Calls, Successes uint64
		Stops            struct{ Total uint64 }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &res), "standard output is the JSON and nothing else")
	assert.Equal(t, "reprise.drive/1", res.Schema)
	assert.EqualValues(t, 500, res.Calls)
	assert.Equal(t, res.Calls, res.Successes+res.Stops.Total)
	page, err := os.ReadFile(html)
	require.NoError(t, err)
	assert.True(t, bytes.HasPrefix(page, []byte("<!DOCTYPE html>")))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1)

	code, out, stderr = reprise("drive", "--calls", "100", "--faults", "none", "--outage", "none", "-q")
	require.Zero(t, code, stderr)
	assert.Contains(t, out, "100.00%")
	assert.NotContains(t, out, "\x1b", "no colours for a pipe")
}

func TestDriveShowsTheSendLimiter(t *testing.T) {
	html := filepath.Join(t.TempDir(), "run.html")
	// Two seconds: the first cut waits for up to one of them.
	args := strings.Fields("drive --mode adaptive --capacity 0.01 --calls 100 --rate 50 --workers 2 --deadline 200ms --coalesce 50ms -q --html " + html)
	code, out, stderr := reprise(args...)
	require.Zero(t, code, stderr)
	for _, want := range []string{"capacity of 0.01/s", "The server's capacity", "Send limiter", "fill rate", "ended waiting", "cut once"} {
		assert.Contains(t, strings.Join(strings.Fields(out), " "), want)
	}
	page, err := os.ReadFile(html)
	require.NoError(t, err)
	assert.Contains(t, string(page), "Send rate")
	assert.Contains(t, string(page), "Faults: none. Outage (start, length, recovery, as shares of the run): none.",
		"a capacity is shown by itself unless more is asked for")

	code, out, stderr = reprise("drive", "--capacity", "20", "--faults", "500=10%", "--outage", "30%+20%", "--calls", "50", "-q", "--json")
	require.Zero(t, code, stderr)
	for _, want := range []string{`"faults": "500=10%"`, `"outage": "30%+20%+0%"`, `"limiter": null`} {
		assert.Contains(t, out, want)
	}
}

// `reprise drive --mode adaptive` alone shows adaptive mode.
func TestAdaptiveModeHasACapacityByDefault(t *testing.T) {
	name := inEnvironment(t, profiles)
	type setup struct {
		Rate, Capacity float64
		Coalesce       time.Duration
		Outage         string
	}
	const window, outage = time.Minute, "30%+25%+20%"
	for args, want := range map[string]setup{
		"--mode ADAPTIVE": {2000, 1300, window, "none"},
		"--settings --profile prod --config-file " + name: {2000, 1300, window, "none"},
		"--mode adaptive --calls 60":                      {2000, 10, window, "none"},
		"--mode adaptive --rate 12 --coalesce 0s":         {12, 8, 0, "none"},
		"--mode adaptive --rate 0":                        {0, 1300, window, "none"},
		"--mode adaptive --capacity 50":                   {2000, 50, 0, "none"},
		"--mode adaptive --capacity 0":                    {2000, 0, 0, outage},
		"--mode adaptive --faults none":                   {2000, 0, 0, outage},
		"--mode adaptive --outage none":                   {2000, 0, 0, "none"},
		"--mode adaptive --target http://127.0.0.1:1":     {2000, 0, 0, outage},
		"--mode standard --calls 60":                      {0, 0, 0, outage},
	} {
		var cli commands
		parser, err := kong.New(&cli, kong.Vars(defaults))
		require.NoError(t, err)
		_, err = parser.Parse(append([]string{"drive"}, strings.Fields(args)...))
		require.NoError(t, err)
		found, err := cli.Drive.load()
		require.NoError(t, err)
		c, err := cli.Drive.config(found)
		require.NoError(t, err)
		assert.Equal(t, want, setup{c.Rate, c.Capacity, c.Coalesce, c.Outage.String()}, args)
	}
	code, out, stderr := reprise("drive", "--mode", "adaptive", "--calls", "60", "--workers", "8", "--deadline", "200ms", "-q")
	require.Zero(t, code, stderr)
	assert.True(t, strings.HasPrefix(out, "embedded faulty server with a capacity of 10/s"), out)
	assert.Contains(t, out, "Send limiter")
}

func TestFullDisks(t *testing.T) {
	code, out, stderr := reprise("drive", "--calls", "10", "--html", "/dev/full", "-q")
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "Calls", "the result is not lost with the page")
	assertOneLine(t, stderr, "report /dev/full: no space left on device")

	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	var errors bytes.Buffer
	assert.Equal(t, 1, run([]string{"drive", "--calls", "10", "-q"}, full, &errors))
	assertOneLine(t, errors.String(), "no space left on device")
}

func TestPageOnStandardOutput(t *testing.T) {
	cmd := child(t, "drive", "--calls", "50", "-q", "--html", "/dev/stdout")
	out, err := cmd.Output()
	require.NoError(t, err)
	assert.True(t, bytes.HasPrefix(out, []byte("<!DOCTYPE html>")))
	assert.True(t, bytes.HasSuffix(bytes.TrimSpace(out), []byte("</html>")), "the table does not follow the page")

	var stderr bytes.Buffer
	cmd = child(t, "drive", "--calls", "50", "--json", "--html", "/dev/stdout")
	cmd.Stderr = &stderr
	require.Error(t, cmd.Run())
	assert.Equal(t, 2, cmd.ProcessState.ExitCode())
	assertOneLine(t, stderr.String(), "both go to standard output")
}

func TestSignalsEndTheRunWithItsResult(t *testing.T) {
	for signal, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		dir := t.TempDir()
		cmd := child(t, "drive", "--duration", "1m", "--rate", "500", "--html", filepath.Join(dir, "run.html"))
		var out bytes.Buffer
		cmd.Stdout = &out
		stderr, err := cmd.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		// The first line of the progress says that the run is on.
		line, err := bufio.NewReader(stderr).ReadString('\n')
		require.NoError(t, err)
		assert.Contains(t, line, "calls/s")
		assert.Contains(t, line, "quota")
		require.NoError(t, cmd.Process.Signal(signal))
		require.Error(t, cmd.Wait())
		assert.Equal(t, code, cmd.ProcessState.ExitCode())
		assert.True(t, strings.HasPrefix(out.String(), "interrupted:"), out.String())
		assert.Contains(t, out.String(), "lowest level")
		assert.FileExists(t, filepath.Join(dir, "run.html"))
	}
}

func TestASecondSignalEndsAtOnce(t *testing.T) {
	dir := t.TempDir()
	cmd := child(t, "drive", "--duration", "1m", "--rate", "500", "--html", filepath.Join(dir, "run.html"))
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = bufio.NewReader(stderr).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Error(t, cmd.Wait())
	assert.Contains(t, []int{130, 143}, cmd.ProcessState.ExitCode())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		assert.Equal(t, "run.html", e.Name(), "nothing half done is left")
	}
}
