package caddyretry_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/modules/standard"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/caddyretry"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

const (
	ms = time.Millisecond
	// near is what a draw as near to 1 as there is takes off a ceiling.
	near = time.Nanosecond
)

func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "caddyretry")
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"} {
		_ = os.Setenv(name, home)
	}
	code := m.Run()
	_ = os.RemoveAll(home)
	os.Exit(code)
}

// site is a Caddy that runs in this process, with one site on 127.0.0.1.
type site struct {
	t    *testing.T
	addr string // of the site
	log  string // the file of its access and error log
}

// url of a path.
func (s *site) url(path string) string { return "http://" + s.addr + path }

// siteFile is a whole Caddyfile around the body of a site.
func siteFile(addr, log, body string) string {
	return fmt.Sprintf(`{
	admin off
	persist_config off
	auto_https off
	grace_period 1s
	log {
		output file %[2]s {
			mode 0600
		}
		level DEBUG
	}
}
http://%[1]s {
	bind 127.0.0.1
	log
	%[3]s
}
`, addr, log, body)
}

// adapt makes JSON of a Caddyfile.
func adapt(text string) ([]byte, error) {
	out, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), map[string]any{"filename": "Caddyfile"})
	return out, err
}

// serve runs a site with a body, until the test's end.
func serve(t *testing.T, body string) *site {
	t.Helper()
	s := &site{t: t, log: filepath.Join(t.TempDir(), "log")}
	t.Cleanup(func() {
		require.NoError(t, caddy.Stop())
		assert.Empty(t, caddyretry.Names(), "engines were kept that no configuration has")
	})
	require.NoError(t, s.load(body))
	return s
}

// load is a reload with another body, on another port: a connection that comes while
// Caddy hands a listener over may be lost.
func (s *site) load(body string) error {
	addr := freeAddr(s.t)
	err := s.loadAt(addr, body)
	if err == nil {
		s.addr = addr
	}
	return err
}

func (s *site) loadAt(addr, body string) error {
	out, err := adapt(siteFile(addr, s.log, body))
	require.NoError(s.t, err)
	return caddy.Load(out, true)
}

// proxy is a body of a site that sends all to upstreams, with a block for the
// transport.
func proxy(upstreams, block string) string {
	return fmt.Sprintf("reverse_proxy %s {\n transport reprise {\n %s\n }\n }", upstreams, block)
}

// logged returns the lines of the log that hold a text, once there are any.
func (s *site) logged(text string) (lines []string) {
	require.Eventually(s.t, func() bool {
		whole, _ := os.ReadFile(s.log)
		lines = nil
		for line := range strings.Lines(string(whole)) {
			if strings.Contains(line, text) {
				lines = append(lines, line)
			}
		}
		return len(lines) > 0
	}, 5*time.Second, ms, "no line of the log holds %s", text)
	return lines
}

// reply is an answer that has been read.
type reply struct {
	status int
	header http.Header
	body   string
}

// do sends a request to the site.
func (s *site) do(method, path, body string, header ...string) reply {
	s.t.Helper()
	var from io.Reader
	if body != "" {
		from = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url(path), from)
	require.NoError(s.t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := client(s.t).Do(req)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	return reply{resp.StatusCode, resp.Header, string(text)}
}

func (s *site) get(path string) reply { s.t.Helper(); return s.do(http.MethodGet, path, "") }

// client sends nothing again by itself, as it has no old connection.
func client(t *testing.T) *http.Client {
	tr := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// engineOf returns the engine of an upstream under the name that is the default.
func engineOf(t *testing.T, upstream string) *engine.Engine {
	t.Helper()
	e := caddyretry.EnginesOf("caddy")[upstream]
	require.NotNil(t, e, "%s has no engine; there are those of %v", upstream, caddyretry.EnginesOf("caddy"))
	return e
}

// fast makes engines wait for nothing, and their delays their ceilings less near.
func fast(t *testing.T, more ...engine.Option) {
	caddyretry.SetEngineOptions(t, append([]engine.Option{engine.WithClock(&leap{leave: func() {}}), engine.WithSource(fastbackoff.Fixed(1))}, more...)...)
}

// leap is a clock on which waits are over at once.
type leap struct {
	mu    sync.Mutex
	ahead time.Duration
	leave func() // called in each wait
	hang  bool   // a wait is for the caller's end
}

func (c *leap) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *leap) Sleep(ctx context.Context, d time.Duration, _ <-chan struct{}) {
	c.mu.Lock()
	c.ahead += d
	c.mu.Unlock()
	c.leave()
	if c.hang {
		<-ctx.Done()
	}
}

// events is what an observer has heard.
type events struct {
	mu      sync.Mutex
	retries []engine.RetryEvent
	stops   []engine.StopEvent
	success []engine.SuccessEvent
}

func (ev *events) observer() engine.Option {
	return engine.WithObserver(engine.Observer{
		Retry:   func(e engine.RetryEvent) { ev.mu.Lock(); ev.retries = append(ev.retries, e); ev.mu.Unlock() },
		Stop:    func(e engine.StopEvent) { ev.mu.Lock(); ev.stops = append(ev.stops, e); ev.mu.Unlock() },
		Success: func(e engine.SuccessEvent) { ev.mu.Lock(); ev.success = append(ev.success, e); ev.mu.Unlock() },
	})
}

// wire is an upstream that answers as a script says, byte for byte.
type wire struct {
	addr string
	mu   sync.Mutex
	seen []*http.Request // without bodies
}

// script answers the n-th request, from 1, and says whether its connection goes on.
type script func(n int, conn net.Conn, req *http.Request) (keep bool)

func serveWire(t *testing.T, answer script) *wire {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	return serveOn(t, ln, answer)
}

func serveOn(t *testing.T, ln net.Listener, answer script) *wire {
	w := &wire{addr: ln.Addr().String()}
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	running.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
				r := bufio.NewReader(conn)
				for {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					body, _ := io.ReadAll(req.Body)
					req.Body = io.NopCloser(strings.NewReader(string(body)))
					w.mu.Lock()
					w.seen = append(w.seen, req)
					n := len(w.seen)
					w.mu.Unlock()
					if !answer(n, conn, req) {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		stop()
		_ = ln.Close()
		running.Wait()
	})
	return w
}

// hits is the number of requests that have arrived.
func (w *wire) hits() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen)
}

// say answers with a status, headers (names and values in turn) and a body.
func say(status int, body string, header ...string) script {
	var s strings.Builder
	fmt.Fprintf(&s, "HTTP/1.1 %d %s\r\nContent-Length: %d\r\n", status, http.StatusText(status), len(body))
	for i := 0; i < len(header); i += 2 {
		fmt.Fprintf(&s, "%s: %s\r\n", header[i], header[i+1])
	}
	return raw(s.String()+"\r\n"+body, true)
}

func raw(text string, keep bool) script {
	return func(_ int, conn net.Conn, _ *http.Request) bool {
		_, err := io.WriteString(conn, text)
		return err == nil && keep
	}
}

// inTurn answers one request after the other, then as the last again.
func inTurn(scripts ...script) script {
	return func(n int, conn net.Conn, req *http.Request) bool {
		return scripts[min(n, len(scripts))-1](n, conn, req)
	}
}

func hangUp(int, net.Conn, *http.Request) bool { return false }

func reset(_ int, conn net.Conn, _ *http.Request) bool {
	_ = conn.(*net.TCPConn).SetLinger(0)
	return false
}

// silence reads until the other side is gone.
func silence(_ int, conn net.Conn, _ *http.Request) bool {
	_, _ = io.Copy(io.Discard, conn)
	return false
}

// freeAddr is an address that nobody listens on.
func freeAddr(t *testing.T) string {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	return ln.Addr().String()
}
