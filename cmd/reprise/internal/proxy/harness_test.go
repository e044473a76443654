package proxy_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/cmd/reprise/internal/proxy"
	"github.com/reprise-go/reprise/cmd/reprise/internal/proxyconf"
)

// patience is how long a test waits for what must happen soon.
const patience = 20 * time.Second

// line is a line of the log.
type line struct {
	message string
	attrs   map[string]any
}

// logged hands the log's lines to those who wait for one.
type logged struct {
	mu    sync.Mutex
	lines []line
	more  chan struct{} // closed when there is another line
}

func newLogged() *logged { return &logged{more: make(chan struct{})} }

func (l *logged) Enabled(context.Context, slog.Level) bool { return true }
func (l *logged) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logged) WithGroup(string) slog.Handler            { return l }
func (l *logged) Handle(_ context.Context, r slog.Record) error {
	one := line{r.Message, make(map[string]any)}
	r.Attrs(func(a slog.Attr) bool { one.attrs[a.Key] = a.Value.Any(); return true })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, one)
	close(l.more)
	l.more = make(chan struct{})
	return nil
}

// wait returns the first line that is like that.
func (l *logged) wait(t *testing.T, like func(line) bool) line {
	t.Helper()
	end := time.After(patience)
	for {
		l.mu.Lock()
		lines, more := l.lines, l.more
		l.mu.Unlock()
		for _, one := range lines {
			if like(one) {
				return one
			}
		}
		select {
		case <-more:
		case <-end:
			require.Fail(t, "the line was not logged", "%v", lines)
		}
	}
}

// request waits for the line of the request of a path.
func (l *logged) request(t *testing.T, path string) map[string]any {
	t.Helper()
	return l.wait(t, func(one line) bool { return one.message == "request" && one.attrs["path"] == path }).attrs
}

// rig is a running proxy.
type rig struct {
	*proxy.Server
	url, admin string
	log        *logged
}

type proxyOptions = proxy.Options

type change func(*proxy.Options, *proxyconf.Config)

// settings changes those of all upstreams.
func settings(f func(*proxyconf.Settings)) change {
	return func(_ *proxy.Options, c *proxyconf.Config) {
		for i := range c.Upstreams {
			f(&c.Upstreams[i].Settings)
		}
	}
}

// one is the configuration of one upstream, with short delays.
func one(t *testing.T, urls ...string) proxyconf.Config {
	t.Helper()
	s := proxyconf.Default()
	s.Backoff.Transient, s.Backoff.Throttling = time.Millisecond, time.Millisecond
	c, err := proxyconf.One(urls, s)
	require.NoError(t, err)
	return c
}

func start(t *testing.T, c proxyconf.Config, changes ...change) *rig {
	t.Helper()
	log := newLogged()
	o := proxy.Options{
		Listen: "127.0.0.1:0", Admin: "127.0.0.1:0", MaxHeader: 16 << 10, MaxConnections: 1000,
		ClientTimeout: patience, IdleTimeout: patience, Version: "test", Log: slog.New(log),
	}
	for _, change := range changes {
		change(&o, &c)
	}
	s, err := proxy.Start(o, c)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		assert.NoError(t, s.Shutdown(ctx))
	})
	return &rig{s, "http://" + s.Addr().String(), "http://" + s.AdminAddr().String(), log}
}

func trusting(networks ...string) change {
	return func(o *proxy.Options, _ *proxyconf.Config) {
		for _, n := range networks {
			o.Trusted = append(o.Trusted, netip.MustParsePrefix(n))
		}
	}
}

func clientTimeout(d time.Duration) change {
	return func(o *proxy.Options, _ *proxyconf.Config) { o.ClientTimeout = d }
}

// upstream is a server that the test writes.
func upstream(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// client is a bare one: a connection per request, no retries of its own.
func client(t *testing.T) *http.Client {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}, Timeout: patience}
	return c
}

func do(t *testing.T, method, url, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	resp, err := client(t).Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(text)
}

// raw opens a connection to the proxy.
func raw(t *testing.T, url string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	return conn, bufio.NewReader(conn)
}

func send(t *testing.T, to io.Writer, text string) {
	t.Helper()
	_, err := io.WriteString(to, text)
	require.NoError(t, err)
}

// wait waits for an event.
func wait[T any](t *testing.T, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		require.Fail(t, what+" did not happen")
	}
	return v
}

// unused is the address of nobody.
func unused(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return "http://" + l.Addr().String()
}

func newLoggedLogger() *slog.Logger { return slog.New(newLogged()) }
