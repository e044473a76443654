package httpretry_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// One upstream, one key, however it is spelled; two upstreams, two keys.
func TestHostKey(t *testing.T) {
	for text, want := range map[string]string{
		"http://service.test":           "service.test:80",
		"http://service.test/":          "service.test:80",
		"http://service.test:80/path?q": "service.test:80",
		"http://service.test:/":         "service.test:80",
		"http://service.test:0080/":     "service.test:80",
		"HTTP://SERVICE.test./":         "service.test:80",
		"http://user:pw@service.test/":  "service.test:80",
		"https://service.test":          "service.test:443",
		"https://Service.Test:443":      "service.test:443",
		"https://service.test:8443":     "service.test:8443",
		"http://service.test.:8080":     "service.test:8080",
		"http://127.0.0.1:8080":         "127.0.0.1:8080",
		"http://127.0.0.1":              "127.0.0.1:80",
		"http://[::1]":                  "[::1]:80",
		"https://[::1]:8443":            "[::1]:8443",
		"http://[0:0:0:0:0:0:0:1]:80":   "[::1]:80",
		"http://[2001:DB8::A]/":         "[2001:db8::a]:80",
		"http://[::ffff:10.0.0.1]:8080": "10.0.0.1:8080", // the dialer goes there by IPv4
		"http://[fe80::1%25En0]:80":     "[fe80::1%En0]:80",
		"http://B%C3%BCcher.test/":      "bücher.test:80",
		"http://under_score.test:1":     "under_score.test:1",
		"unix://socket.test/":           "socket.test:",
		"http://":                       ":80",
		"//service.test":                "service.test:80", // as a key is
	} {
		u, err := url.Parse(text)
		require.NoError(t, err, text)
		key := httpretry.HostKey(&http.Request{URL: u, Host: "another.test"})
		assert.Equal(t, want, key, text)
		assert.Equal(t, key, httpretry.HostKey(&http.Request{URL: &url.URL{Scheme: u.Scheme, Host: key}}), "a key is its own key")
	}
	assert.Equal(t, ":", httpretry.HostKey(nil))
	assert.Equal(t, ":", httpretry.HostKey(new(http.Request)))
}

// Whoever may name the upstream cannot fill a group's memory with long names, or
// with long ports or zones: none of them is a host, and they share a key.
func TestHostKeyIsBounded(t *testing.T) {
	long := strings.Repeat("a", 1<<16)
	port := strings.Repeat("1", 1<<16)
	for _, host := range []string{long, long + ".test:80", "service.test:" + port, "[fe80::1%" + long + "]:80", "[" + long, strings.ToUpper(long), long[:299]} {
		assert.Equal(t, "too-long.invalid:1", httpretry.HostKey(&http.Request{URL: &url.URL{Scheme: "http", Host: host}}))
	}
	name := strings.Repeat(strings.Repeat("n", 62)+".", 4)[:251] + ".:65535"
	assert.Equal(t, name[:251]+":65535", httpretry.HostKey(&http.Request{URL: &url.URL{Scheme: "http", Host: name}}))
}

// FuzzHostKey: any URL has a key, which has a colon, no upper case in ASCII names,
// and is its own key.
func FuzzHostKey(f *testing.F) {
	for _, seed := range []string{"service.test", "[::1]:80", "a:b:c", "[", "]:", "A.:00", "[%]:1", "::", "[::ffff:1.2.3.4]"} {
		f.Add("http", seed)
	}
	f.Fuzz(func(t *testing.T, scheme, host string) {
		key := httpretry.HostKey(&http.Request{URL: &url.URL{Scheme: scheme, Host: host}})
		assert.Contains(t, key, ":")
		again := httpretry.HostKey(&http.Request{URL: &url.URL{Scheme: scheme, Host: key}})
		assert.Equal(t, key, again)
	})
}

// R6.2: each upstream has its own quota; one that is down takes nobody else's
// retries. What has no engine in the group is sent once.
func TestEngineByHost(t *testing.T) {
	template := newEngine(t, engine.WithClock(noSleep{}), engine.WithQuota(engine.Quota{Capacity: 28}))
	group, err := engine.NewGroup[string](template, 2)
	require.NoError(t, err)
	b := &base{answer: func(_ int, req *http.Request) (*http.Response, error) {
		if strings.HasPrefix(strings.ToLower(req.URL.Host), "down") {
			return response(503, ""), nil
		}
		return response(200, ""), nil
	}}
	own := newEngine(t, engine.WithClock(noSleep{}))
	transport := newTransport(t, own, httpretry.WithBase(b), httpretry.WithEngineByHost(group))
	send := func(url string) int {
		before := len(b.sent)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		_, err = transport.RoundTrip(req)
		require.NoError(t, err)
		return len(b.sent) - before
	}
	assert.Equal(t, 3, send("http://down.test"))
	assert.Equal(t, 1, send("http://DOWN.test:80"), "its 28 tokens are gone")
	assert.Equal(t, 3, send("https://down.test"), "another port is another upstream")
	assert.Equal(t, 2, group.Len())
	assert.Equal(t, 1, send("http://down2.test"), "no room: one attempt")
	assert.Zero(t, level(group.For("down.test:80")))
	assert.Equal(t, 500, level(own))
	assert.Equal(t, 28, level(template))
}

// An engine by request: its quota, classifier and attempts hold; nil is the
// Transport's own.
func TestEngineFor(t *testing.T) {
	own, other := newEngine(t, engine.WithClock(noSleep{})), newEngine(t, engine.WithClock(noSleep{}), engine.WithMaxAttempts(5))
	b := statuses(503)
	transport := newTransport(t, own, httpretry.WithBase(b), httpretry.WithAWSHeaders(), httpretry.WithEngineFor(func(req *http.Request) *engine.Engine {
		if req.Header.Get("Tenant") == "a" {
			return other
		}
		return nil
	}))
	req := get(t, t.Context())
	req.Header.Set("Tenant", "a")
	_, err := transport.RoundTrip(req)
	require.NoError(t, err)
	require.Len(t, b.sent, 5)
	assert.Equal(t, "attempt=5; max=5", b.sent[4].header.Get("Amz-Sdk-Request"))
	assert.Equal(t, 500-4*14, level(other))
	assert.Equal(t, 500, level(own))

	_, err = transport.RoundTrip(get(t, t.Context()))
	require.NoError(t, err)
	assert.Len(t, b.sent, 8)
	assert.Equal(t, 500-2*14, level(own))
}
