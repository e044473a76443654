package upstreams_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/proof/upstreams/internal/child"
)

// gateway is `reprise proxy` before an upstream, as a process of its own.
type gateway struct {
	url, admin string
	send       sender // through it, whatever the URL's host is
	forget     func() // closes the connections of send that are idle
	process    *child.Process
}

// command is the built command. The folder is TestMain's to remove.
var command = sync.OnceValues(func() (string, error) {
	path := filepath.Join(folder, "reprise")
	out, err := exec.Command("go", "build", "-C", "../../cmd/reprise", "-o", path, ".").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go build of cmd/reprise: %w: %s", err, out)
	}
	return path, err
})

var folder string

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "upstreams"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// inFront starts one. Without other flags it waits for a nanosecond at the most
// before a retry.
func inFront(t testing.TB, upstream string, flags ...string) *gateway {
	t.Helper()
	path, err := command()
	require.NoError(t, err)
	if len(flags) == 0 {
		flags = []string{"--backoff-transient=1ns", "--backoff-throttling=1ns"}
	}
	cmd := exec.Command(path, append([]string{"proxy", "--listen=127.0.0.1:0", "--admin=127.0.0.1:0", "--log=json",
		"--upstream", upstream}, flags...)...)
	said, err := cmd.StderrPipe()
	require.NoError(t, err)
	g := &gateway{}
	g.process, err = child.Start(cmd)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.process.Stop(syscall.SIGTERM)) })

	var line struct{ Msg, Listen, Admin string }
	log := json.NewDecoder(said)
	require.NoError(t, log.Decode(&line), "its first line says where it serves")
	require.Equal(t, "serving", line.Msg)
	g.url, g.admin = "http://"+line.Listen, "http://"+line.Admin
	go func() { _, _ = io.Copy(io.Discard, said) }() // or it would have to wait

	bare := http.DefaultTransport.(*http.Transport).Clone()
	bare.MaxIdleConnsPerHost = 64
	t.Cleanup(bare.CloseIdleConnections)
	g.forget = bare.CloseIdleConnections
	through := sendHTTP(t, &http.Client{Transport: bare})
	g.send = func(ctx context.Context, a ask) answer {
		to, err := url.Parse(a.url)
		require.NoError(t, err)
		a.url = g.url + to.Path
		return through(ctx, a)
	}
	return g
}

// account is what the proxy says of its upstream.
type account struct {
	Quota struct {
		Level int `json:"level_tokens"`
	}
	Retries struct{ Transient, Throttling int }
	Stops   map[string]int
	URLs    []struct{ Attempts, FailedAttempts int }
}

func (g *gateway) account(t testing.TB) account {
	t.Helper()
	var all struct{ Upstreams []account }
	require.NoError(t, json.Unmarshal([]byte(g.ask(t, "/-/engines")), &all))
	require.Len(t, all.Upstreams, 1)
	return all.Upstreams[0]
}

// metric reads one number of those without labels.
func (g *gateway) metric(t testing.TB, name string) float64 {
	t.Helper()
	for line := range strings.Lines(g.ask(t, "/-/metrics")) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			number, err := strconv.ParseFloat(value, 64)
			require.NoError(t, err)
			return number
		}
	}
	require.Fail(t, "no metric", name)
	return 0
}

func (g *gateway) ask(t testing.TB, path string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.admin+path, nil)
	require.NoError(t, err)
	once := &http.Transport{DisableKeepAlives: true}
	response, err := once.RoundTrip(request)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(body)
}
