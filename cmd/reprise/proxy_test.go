package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/cmd/reprise/internal/proxyconf"
)

func TestProxyWrongCommandLines(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good.yaml")
	require.NoError(t, os.WriteFile(good, []byte("upstreams: [{name: a, urls: http://127.0.0.1:1}]\n"), 0o600))
	bad := filepath.Join(dir, "bad.toml")
	require.NoError(t, os.WriteFile(bad, []byte("[[upstreams]]\nname = 'a'\nurls = 'http://127.0.0.1:1'\nmax_atempts = 3\n"), 0o600))
	const up = "proxy --upstream http://127.0.0.1:1 "
	for _, row := range []struct {
		args string
		code int
		want string
	}{
		{"proxy", 2, "proxy: nothing to serve: want --upstream URL or --config FILE"},
		{"proxy --upstream nowhere", 2, `proxy: --upstream "nowhere": neither http:// nor https://`},
		{"proxy --upstream=", 2, "--upstream"},
		{"proxy --upstream http://a/x,http://b/y", 2, "want the same path in all"},
		{up + "--config " + good, 2, "--upstream and --config: want it in the file"},
		{"proxy --mode adaptive --config " + good, 2, "--mode and --config: want it in the file"},
		{"proxy --any-method --config " + good, 2, "--any-method and --config"},
		{up + "--mode fast", 2, `--mode: unknown mode "fast"`},
		{up + "--max-attempts 0", 2, "--max-attempts is 0: want 1 to"},
		{up + "--timeout=-1s", 2, "--timeout is -1s: want a duration above zero, or 0s for no limit"},
		{up + "--attempt-timeout 2m", 2, "--attempt-timeout is 2m0s: want no more than the timeout of the whole call, 1m0s"},
		{up + "--max-attempts 2 --attempt-timeout 1s,2s,3s", 2, "--attempt-timeout is a list of 3, and a call has at most 2 attempts: want at most 2 durations, or max_attempts 3 with it"},
		{up + "--quota-capacity 5", 2, "--quota-transient-cost is 14: want 1 to the capacity, 5 tokens"},
		{up + "--coalesce 1s", 2, "--coalesce is about the send limiter"},
		{up + "--body-limit 1GiB", 2, "--body-limit is 1073741824 bytes: want 0 (keep nothing) to 64 MiB"},
		{up + "--body-limit lots", 2, "--body-limit"},
		{up + "--max-header 10B", 2, "--max-header is 10B: want 1KiB to 16MiB"},
		{up + "--max-connections 0", 2, "--max-connections is 0: want 1 or more"},
		{up + "--grace 0s", 2, "--grace"},
		{up + "--client-timeout=-1s", 2, "--client-timeout"},
		{up + "--trust-forwarded all", 2, `--trust-forwarded "all": want addresses or networks such as 10.0.0.0/8`},
		{up + "--log xml", 2, "--log"},
		{up + "--service dinamodb", 2, `--service is wrong: unknown service "dinamodb"`},
		{up + "--listen :0", 2, `--listen ":0": want HOST:PORT such as 127.0.0.1:8080`},
		{up + "--check --listen 8080", 2, `--listen "8080": want HOST:PORT`},
		{up + "--check --admin 127.0.0.1:99999", 2, `--admin "127.0.0.1:99999": want HOST:PORT`},
		{up + "--listen 192.0.2.1:1", 1, "--listen 192.0.2.1:1: "},
		{up + "--listen 127.0.0.1:0 --admin 9901", 2, `--admin "9901": want HOST:PORT`},
		{"proxy --config " + bad, 1, "bad.toml:4: upstreams[0].max_atempts is an unknown key: did you mean max_attempts?"},
		{"proxy --check --config " + bad, 1, "bad.toml:4: upstreams[0].max_atempts is an unknown key"},
		{"proxy --check --config " + dir + "/none.yaml", 1, "none.yaml: no such file or directory"},
	} {
		code, out, stderr := reprise(strings.Fields(row.args)...)
		assert.Equal(t, row.code, code, row.args)
		assert.Empty(t, out, row.args)
		assertOneLine(t, stderr, row.want)
	}

	code, out, stderr := reprise("proxy", "--check", "--config", good)
	assert.Zero(t, code, stderr)
	assert.Equal(t, good+" is right: 1 upstream\n  a: 1 URL, standard mode\n", out)
	code, out, _ = reprise("proxy", "--check", "--upstream", "http://127.0.0.1:1,http://127.0.0.1:2", "--mode", "adaptive")
	assert.Zero(t, code)
	assert.Equal(t, "the flags are right: 1 upstream\n  default: 2 URLs, adaptive mode\n", out)
}

// What is wrong with several keys is on a line each, of which each says where.
func TestProxyTellsMistakesOneByOne(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.yaml")
	require.NoError(t, os.WriteFile(file, []byte("x: 1\nupstreams:\n- name: a\n  urls: http://127.0.0.1:1\n  timeout: soon\n"), 0o600))
	for _, args := range [][]string{{"proxy", "--config", file}, {"proxy", "--check", "--config", file}} {
		code, out, stderr := reprise(args...)
		assert.Equal(t, 1, code)
		assert.Empty(t, out)
		lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
		require.Len(t, lines, 2, stderr)
		for i, want := range []string{":5: upstreams[0].timeout is wrong: ", ":1: x is an unknown key: "} {
			assert.Contains(t, lines[i], "reprise: proxy: config "+file+want)
		}
	}
}

// The example in the help and those in README.md are files that --check likes.
func TestProxyExamples(t *testing.T) {
	help := proxyCommand{}.Help()
	require.Equal(t, proxyconf.Settings{Timeout: time.Minute, BodyLimit: 64 << 10}, proxyconf.Default(), "what the flags' helps say")
	start := strings.Index(help, "  defaults:")
	require.Positive(t, start)
	example, _, found := strings.Cut(help[start:], "\n\nKeys besides")
	require.True(t, found)
	c, err := proxyconf.Parse("help.yaml", []byte(regexp.MustCompile(`(?m)^  `).ReplaceAllString(example, "")))
	require.NoError(t, err)
	assert.Len(t, c.Upstreams, 2)

	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, proxy, found := strings.Cut(string(readme), "\n## The proxy\n")
	require.True(t, found)
	blocks := regexp.MustCompile("(?s)```(yaml|toml)\n(.*?)```").FindAllStringSubmatch(proxy, -1)
	require.Len(t, blocks, 2, "one of each format")
	var configs []proxyconf.Config
	for _, block := range blocks {
		c, err := proxyconf.Parse("readme."+block[1], []byte(block[2]))
		require.NoError(t, err)
		configs = append(configs, c)
	}
	assert.Equal(t, configs[0], configs[1], "both say the same")
}

// running is a proxy in a process of its own.
type running struct {
	*exec.Cmd
	url, admin string
	lines      chan map[string]any // of its log
}

func startProxy(t *testing.T, args ...string) *running {
	t.Helper()
	p := &running{Cmd: child(t, append([]string{"proxy", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--log", "json"}, args...)...), lines: make(chan map[string]any, 10_000)}
	stderr, err := p.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	go func() {
		defer close(p.lines)
		for in := bufio.NewScanner(stderr); in.Scan(); {
			var one map[string]any
			if json.Unmarshal(in.Bytes(), &one) != nil {
				one = map[string]any{"msg": in.Text()}
			}
			p.lines <- one
		}
	}()
	serving := p.wait(t, "serving")
	p.url, p.admin = fmt.Sprint("http://", serving["listen"]), fmt.Sprint("http://", serving["admin"])
	return p
}

// wait waits for a line of the log.
func (p *running) wait(t *testing.T, message string) map[string]any {
	t.Helper()
	end := time.After(30 * time.Second)
	for {
		select {
		case one, ok := <-p.lines:
			require.True(t, ok, "the log has ended without %q", message)
			if one["msg"] == message {
				return one
			}
		case <-end:
			require.Fail(t, "not logged: "+message)
		}
	}
}

// exit waits for the end of the process and returns its code.
func (p *running) exit() int {
	for range p.lines { // up to the end of the pipe: Wait would close it
	}
	_ = p.Wait()
	return p.ProcessState.ExitCode()
}

func get(url string) (status int, body string, err error) {
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second}
	resp, err := c.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// kill -TERM under load: what has begun is served to its end, the code is 0.
func TestProxyTerminatesDuringLoad(t *testing.T) {
	const calls = 50
	arrived, release := make(chan struct{}, calls), make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-release
		_, _ = io.WriteString(w, "whole")
	}))
	defer up.Close()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		p := startProxy(t, "--upstream", up.URL)
		var load sync.WaitGroup
		for range calls {
			load.Go(func() {
				status, body, err := get(p.url)
				assert.NoError(t, err)
				assert.Equal(t, 200, status)
				assert.Equal(t, "whole", body)
			})
		}
		for range calls {
			<-arrived
		}
		require.NoError(t, p.Process.Signal(signal))
		p.wait(t, "ending: no new connections")
		require.Eventually(t, func() bool { _, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://")); return err != nil },
			30*time.Second, time.Millisecond)
		for range calls {
			release <- struct{}{}
		}
		load.Wait()
		assert.Zero(t, p.exit(), "%v", signal)
	}
}

// What takes too long is cut off, with a code that says so; a second signal does
// not wait at all.
func TestProxyEndsInTime(t *testing.T) {
	arrived := make(chan struct{}, 1)
	up := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	}))
	defer up.Close()
	answer := make(chan int, 2)
	ask := func(p *running) {
		status, _, _ := get(p.url)
		answer <- status
	}
	p := startProxy(t, "--upstream", up.URL, "--grace", "50ms")
	go ask(p)
	<-arrived
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	p.wait(t, "reprise: proxy: requests cut off because they took longer than the time to end: 1")
	assert.Equal(t, 1, p.exit())
	assert.Equal(t, 503, <-answer)

	p = startProxy(t, "--upstream", up.URL, "--grace", "1h")
	go ask(p)
	<-arrived
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	p.wait(t, "ending: no new connections")
	require.NoError(t, p.Process.Signal(syscall.SIGINT))
	assert.Equal(t, 130, p.exit())
	assert.Zero(t, <-answer)
}

// SIGHUP under load: the file is read again, a wrong one changes nothing, and no
// request is lost.
func TestProxyReloadsOnSIGHUP(t *testing.T) {
	named := func(name string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) }))
		t.Cleanup(s.Close)
		return s.URL
	}
	file := filepath.Join(t.TempDir(), "proxy.yaml")
	write := func(text string, args ...any) {
		require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, text, args...), 0o600))
	}
	first, second := named("first"), named("second")
	write("upstreams: [{name: a, urls: %q}]\n", first)
	p := startProxy(t, "--config", file)

	stop := make(chan struct{})
	var load sync.WaitGroup
	for range 4 {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				status, _, err := get(p.url)
				if !assert.NoError(t, err) || !assert.Equal(t, 200, status) {
					return
				}
			}
		})
	}
	_, body, err := get(p.url)
	require.NoError(t, err)
	assert.Equal(t, "first", body)

	write("upstreams: [{name: a, urls: %q, max_attemps: 2}]\n", second)
	require.NoError(t, p.Process.Signal(syscall.SIGHUP))
	refused := p.wait(t, "not reloaded: what was served goes on")
	assert.Contains(t, refused["error"], "proxy.yaml:1: upstreams[0].max_attemps is an unknown key: did you mean max_attempts?")
	_, body, err = get(p.url)
	require.NoError(t, err)
	assert.Equal(t, "first", body)

	write("x: 1\ny: 2\n")
	require.NoError(t, p.Process.Signal(syscall.SIGHUP))
	refused = p.wait(t, "not reloaded: what was served goes on")
	assert.Regexp(t, `^config \S+:1: x is .*; config \S+:2: y is `, refused["error"], "one record, and where one mistake ends is to be seen")
	require.NoError(t, os.Remove(file))
	require.NoError(t, syscall.Mkfifo(file, 0o600))
	require.NoError(t, p.Process.Signal(syscall.SIGHUP))
	refused = p.wait(t, "not reloaded: what was served goes on")
	assert.Contains(t, refused["error"], "proxy.yaml: is not a regular file (a pipe)")
	require.NoError(t, os.Remove(file))

	write("upstreams: [{name: a, urls: %q, max_attempts: 2}, {name: b, urls: %q, paths: /b}]\n", second, first)
	require.NoError(t, p.Process.Signal(syscall.SIGHUP))
	assert.EqualValues(t, 2, p.wait(t, "reloaded")["upstreams"])
	_, body, err = get(p.url)
	require.NoError(t, err)
	assert.Equal(t, "second", body)
	_, body, err = get(p.url + "/b")
	require.NoError(t, err)
	assert.Equal(t, "first", body)
	_, body, err = get(p.admin + "/-/engines")
	require.NoError(t, err)
	assert.Contains(t, body, `"max_attempts": 2`)

	close(stop)
	load.Wait()
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	assert.Zero(t, p.exit())
}
