package upstreams_test

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/proof/upstreams/internal/child"
)

// server is a real server with its configuration and logs in a folder of the
// test's own.
type server struct {
	url     string // without a slash at its end
	dir     string
	process *child.Process
	gently  os.Signal // ends it when what is under way is done
	stopped bool
}

// line is one request as a server saw it.
type line struct {
	at     float64 // seconds of Unix time, when it was done
	method string
	path   string
	status int    // 0 or -1: none was sent
	call   string // the header X-Call
}

// start writes config to a file of the test's own and runs the program on it,
// with a listening socket as its descriptor 3.
func start(t testing.TB, program, config string, env []string, args ...string) *server {
	t.Helper()
	path, err := child.Find(program)
	require.NoError(t, err)
	s := &server{dir: t.TempDir(), gently: syscall.SIGQUIT}
	// mode is a map that HAProxy can be told to change.
	for name, text := range map[string]string{"config": strings.ReplaceAll(config, "DIR", s.dir), "access": "", "mode": "all live\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
	}
	output, err := os.Create(filepath.Join(s.dir, "output"))
	require.NoError(t, err)
	defer output.Close()
	access, err := os.OpenFile(filepath.Join(s.dir, "access"), os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	defer access.Close()
	socket, addr, err := child.Socket("127.0.0.1:0")
	require.NoError(t, err)
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "DIR", s.dir)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, access, output // HAProxy's log is its output
	cmd.ExtraFiles = []*os.File{socket}
	if program == "nginx" { // which finds its sockets by their addresses
		config := filepath.Join(s.dir, "config")
		text, err := os.ReadFile(config)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(config, []byte(strings.ReplaceAll(string(text), "ADDRESS", addr)), 0o600))
	}
	s.process, err = child.Start(cmd)
	require.NoError(t, err)
	t.Cleanup(func() {
		s.stop(t)
		if t.Failed() {
			for _, name := range []string{"output", "error"} {
				if text, err := os.ReadFile(filepath.Join(s.dir, name)); err == nil && len(text) > 0 {
					t.Logf("%s of %s:\n%s", name, program, text[:min(len(text), 4<<10)])
				}
			}
		}
	})
	s.url = "http://" + addr
	return s
}

func (s *server) ready(t testing.TB, url string) {
	t.Helper()
	s.readyBy(t, url, &http.Transport{})
}

func (s *server) readyBy(t testing.TB, url string, by *http.Transport) {
	t.Helper()
	require.NoError(t, s.process.Ready(url, by))
}

func (s *server) stop(t testing.TB) {
	t.Helper()
	if !s.stopped {
		s.stopped = true
		require.NoError(t, s.process.Stop(s.gently))
	}
}

// requests ends the server, so that its log is complete, and returns what it saw
// in the order in which it was done with it.
func (s *server) requests(t testing.TB) []line {
	t.Helper()
	s.stop(t)
	log, err := os.Open(filepath.Join(s.dir, "access"))
	require.NoError(t, err)
	defer log.Close()
	var all []line
	for scanner := bufio.NewScanner(log); scanner.Scan(); {
		fields := strings.Fields(scanner.Text())
		if !strings.HasPrefix(scanner.Text(), "1") && !strings.HasPrefix(scanner.Text(), "2") { // HAProxy tells its end there too
			continue
		}
		require.Len(t, fields, 5, scanner.Text())
		at, err := strconv.ParseFloat(fields[0], 64)
		require.NoError(t, err)
		status, err := strconv.Atoi(fields[3])
		require.NoError(t, err)
		if fields[2] == "/ready" || fields[2] == "<BADREQ>" { // or a connection that was opened and never used
			continue
		}
		all = append(all, line{at, fields[1], fields[2], status, strings.Trim(fields[4], `"`)})
	}
	return all
}

// statuses of the requests, in their order.
func statuses(all []line) []int {
	list := make([]int, len(all))
	for i, one := range all {
		list[i] = one.status
	}
	return list
}

// times is how often each call was seen.
func times(all []line) map[string]int {
	seen := make(map[string]int)
	for _, one := range all {
		seen[one.call]++
	}
	return seen
}
