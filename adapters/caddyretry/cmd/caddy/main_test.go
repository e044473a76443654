package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asCaddy makes this test's binary the command.
const asCaddy = "REPRISE_TEST_AS_CADDY"

func TestMain(m *testing.M) {
	if os.Getenv(asCaddy) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

const example = "../../../../examples/caddy/Caddyfile"

// caddy is the command with arguments, in a folder of its own.
func caddy(t *testing.T, env []string, args ...string) *exec.Cmd {
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asCaddy+"=1", "HOME="+home, "XDG_DATA_HOME="+home, "XDG_CONFIG_HOME="+home)
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// run runs the command to its end.
func run(t *testing.T, args ...string) (stdout, stderr string, err error) {
	var out, log bytes.Buffer
	cmd := caddy(t, nil, args...)
	cmd.Stdout, cmd.Stderr = &out, &log
	err = cmd.Run()
	return out.String(), log.String(), err
}

// The Caddyfile that the README shows, through the commands that look at one.
func TestExampleIsValid(t *testing.T) {
	out, log, err := run(t, "validate", "--config", example)
	require.NoError(t, err, log)
	assert.Contains(t, out+log, "Valid configuration")

	out, log, err = run(t, "adapt", "--config", example, "--validate")
	require.NoError(t, err, log)
	assert.True(t, json.Valid([]byte(out)))
	assert.Contains(t, out, `"protocol":"reprise"`)

	out, _, err = run(t, "list-modules")
	require.NoError(t, err)
	assert.Contains(t, out, "http.reverse_proxy.transport.reprise")
}

// A wrong setting is told with its line.
func TestWrongCaddyfile(t *testing.T) {
	text, err := os.ReadFile(example)
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "Caddyfile")
	require.NoError(t, os.WriteFile(name, bytes.Replace(text, []byte("max_attempts 3"), []byte("max_attempts 0"), 1), 0o600))
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	require.NoError(t, err)
	line := 1 + strings.Count(string(text[:bytes.Index(text, []byte("max_attempts 3"))]), "\n")
	for _, command := range []string{"validate", "adapt"} {
		_, log, err := run(t, command, "--config", name, "--adapter", "caddyfile")
		require.Error(t, err)
		assert.Regexp(t, `max_attempts is 0: want 1 .*Caddyfile:`+strconv.Itoa(line), log)
		if command == "validate" {
			shown := regexp.MustCompile(`(?m)^    (adapting config .*)$`).FindSubmatch(readme)
			require.NotNil(t, shown)
			assert.Contains(t, strings.ReplaceAll(log, name, "Caddyfile"), string(shown[1]), "what the README shows")
		}
	}
}

// The whole of it: Caddy as its own process, with the README's Caddyfile, before an
// upstream of which two of three answers are failures.
func TestExampleRuns(t *testing.T) {
	var asked atomic.Int64
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1)%3 != 0 {
			w.WriteHeader(503)
			return
		}
		_, _ = io.WriteString(w, "hello")
	}))
	defer up.Close()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	site := "http://" + ln.Addr().String()
	require.NoError(t, ln.Close())

	var log bytes.Buffer
	cmd := caddy(t, []string{"SITE=" + site, "UPSTREAM=" + up.Listener.Addr().String()}, "run", "--config", example)
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	get := func(path string) (int, string, error) {
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		defer stop()
		req, err := http.NewRequestWithContext(ctx, "GET", site+path, nil)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, "", err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body), err
	}
	require.Eventually(t, func() bool { _, _, err := get("/metrics"); return err == nil }, 20*time.Second, 20*time.Millisecond)

	for range 5 {
		status, body, err := get("/")
		require.NoError(t, err)
		assert.Equal(t, 200, status)
		assert.Equal(t, "hello", body)
	}
	assert.EqualValues(t, 15, asked.Load())
	_, metrics, err := get("/metrics")
	require.NoError(t, err)
	key := `engine="api",key="` + up.Listener.Addr().String() + `"`
	assert.Contains(t, metrics, `reprise_retries_total{class="transient",`+key+"} 10")
	assert.Contains(t, metrics, `reprise_quota_tokens{`+key+"} 430", "the last retry's tokens come back, the one's before it do not")

	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, <-ended)
	assert.Contains(t, log.String(), `"retry_attempts":3,"retry_reason":"","retry_class":""`)
	assert.Contains(t, log.String(), `"attempts":3`)
}
