package caddyretry_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/caddyretry"
	"github.com/reprise-go/reprise/engine"
)

// Upstreams over TLS and HTTP/2, with and without TLS, are asked as by Caddy's own
// transport, and again where they fail.
func TestVersions(t *testing.T) {
	for _, row := range []struct {
		name, scheme, block, proto string
		protocols                  func(*http.Protocols)
	}{
		{"HTTP/1.1", "http://", "", "HTTP/1.1", nil},
		{"HTTP/1.1 alone", "http://", "versions 1.1", "HTTP/1.1", nil},
		{"h2c", "h2c://", "", "HTTP/2.0", func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) }},
		{"TLS", "https://", "tls_insecure_skip_verify\nversions 1.1", "HTTP/1.1", nil},
		{"TLS and HTTP/2", "https://", "tls_insecure_skip_verify", "HTTP/2.0", func(p *http.Protocols) { p.SetHTTP2(true) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			fast(t)
			failed := false
			up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !failed {
					failed = true
					w.WriteHeader(503)
					return
				}
				_, _ = io.WriteString(w, r.Proto)
			}))
			up.Config.Protocols = new(http.Protocols)
			up.Config.Protocols.SetHTTP1(true)
			if row.protocols != nil {
				row.protocols(up.Config.Protocols)
			}
			if row.scheme == "https://" {
				up.EnableHTTP2 = row.proto == "HTTP/2.0"
				up.StartTLS()
			} else {
				up.Start()
			}
			defer up.Close()
			s := serve(t, proxy(row.scheme+up.Listener.Addr().String(), row.block))
			r := s.get("/")
			assert.Equal(t, 200, r.status)
			assert.Equal(t, row.proto, r.body)
			assert.Equal(t, uint64(1), engineOf(t, up.Listener.Addr().String()).Stats().TransientRetries)
		})
	}
}

// A certificate that nobody vouches for is final (R3.3).
func TestBadCertificateIsFinal(t *testing.T) {
	fast(t)
	up := httptest.NewTLSServer(http.NotFoundHandler())
	defer up.Close()
	s := serve(t, proxy("https://"+up.Listener.Addr().String(), ""))
	assert.Equal(t, 502, s.get("/").status)
	assert.Equal(t, uint64(1), engineOf(t, up.Listener.Addr().String()).Stats().Stops[engine.ReasonNonRetryable])
}

// A host name that does not exist is final (R3.7), unless it is said otherwise: the
// cause of a failed dial is known although Caddy's own error hides it.
func TestFailedDials(t *testing.T) {
	for block, attempts := range map[string]int{"": 1, "classify transient nxdomain": 3} {
		fast(t)
		s := serve(t, proxy("no.such.name.invalid:80", block)+"\nlog_append attempts {http.reverse_proxy.retry.attempts}")
		assert.Equal(t, 502, s.get("/").status)
		s.logged(fmt.Sprintf(`"attempts":%d`, attempts))
	}
}

// A unix socket is an upstream like another.
func TestUnixSocket(t *testing.T) {
	fast(t)
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	require.NoError(t, err)
	w := serveOn(t, ln, inTurn(say(503, ""), say(200, "hello")))
	s := serve(t, proxy("unix/"+path, ""))
	assert.Equal(t, "hello", s.get("/").body)
	assert.Equal(t, 2, w.hits())
	assert.Equal(t, uint64(1), engineOf(t, "unix/"+path).Stats().Recoveries)
}

// With the PROXY protocol the client's address is in the URL; the engine is still
// the upstream's.
func TestProxyProtocolHasOneEngine(t *testing.T) {
	fast(t)
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				r := bufio.NewReader(conn)
				if line, err := r.ReadString('\n'); err != nil || !strings.HasPrefix(line, "PROXY TCP4 127.0.0.1") {
					return
				}
				if _, err := http.ReadRequest(r); err == nil {
					say(200, "hello", "Connection", "close")(1, conn, nil)
				}
			}()
		}
	}()
	s := serve(t, proxy(ln.Addr().String(), "proxy_protocol v1"))
	for range 3 {
		assert.Equal(t, "hello", s.get("/").body)
	}
	assert.Len(t, caddyretry.EnginesOf("caddy"), 1)
	engineOf(t, ln.Addr().String())
}
