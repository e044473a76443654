package metrics_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience bounds each start, end and wait.
const patience = 20 * time.Second

// program is the path of an installed program.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	require.NoError(t, err, "make servers installs it (on Debian, as root)")
	return path
}

// start runs a program until the test ends and returns the first match of a pattern
// in what it says on standard error. It is ended by SIGTERM, and killed if that
// takes too long.
func start(t *testing.T, until *regexp.Regexp, path string, args ...string) []string {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = patience
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	said, its, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stderr = its
	require.NoError(t, cmd.Start())
	require.NoError(t, its.Close())

	found := make(chan []string, 1)
	var reading sync.WaitGroup
	var heard strings.Builder
	reading.Go(func() {
		defer close(found)
		lines := bufio.NewScanner(io.TeeReader(said, &heard))
		for lines.Scan() {
			if match := until.FindStringSubmatch(lines.Text()); match != nil {
				found <- match
				_, _ = io.Copy(io.Discard, said) // or it would have to wait
				return
			}
		}
	})
	t.Cleanup(func() {
		end()
		_ = cmd.Wait() // what ended it is the signal
		reading.Wait()
		_ = said.Close()
	})
	select {
	case match, ok := <-found:
		require.True(t, ok, "%s ended; it said %s", path, &heard)
		return match
	case <-time.After(patience):
		require.Fail(t, "not ready", path)
		return nil
	}
}

// run runs a program to its end and returns what it says.
func run(t *testing.T, in io.Reader, path string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdin = in
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %s: %s", path, strings.Join(args, " "), out)
	return string(out)
}

// proxy starts `reprise proxy` before an upstream and returns where it serves and
// where it tells.
func proxy(t *testing.T, upstream string) (url, admin string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "reprise")
	goTool(t, "build", "-C", "../../cmd/reprise", "-o", path, ".")
	line := start(t, regexp.MustCompile(`.*"msg":"serving".*`), path, "proxy", "--listen=127.0.0.1:0", "--admin=127.0.0.1:0", "--log=json",
		"--backoff-transient=1ns", "--backoff-throttling=1ns", "--upstream", upstream)
	var serving struct{ Listen, Admin string }
	require.NoError(t, json.Unmarshal([]byte(line[0]), &serving))
	return "http://" + serving.Listen, "http://" + serving.Admin
}

func goTool(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.Command("go", args...).CombinedOutput()
	require.NoError(t, err, "go %v: %s", args, out)
}
