package fasthttpretry_test

import (
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/reprise-go/reprise/adapters/fasthttpretry"
)

// Where client and server leave the names of headers as they came, what is for one
// hop, and what says where a request came from, is known in any case.
func TestProxyNamesAsTheyAre(t *testing.T) {
	var got []arrived
	w := upstream(t, &got, say(200, "hello", "x-up", "1", "connection", "x-hop", "x-hop", "1", "keep-alive", "timeout=5", "proxy-authenticate", "x", "upgrade", "x"))
	beneath := once(t)
	beneath.DisableHeaderNamesNormalizing = true
	handler, err := fasthttpretry.NewProxy(newClient(t, quick(t), beneath), w.url, 0)
	require.NoError(t, err)
	addr := serveProxy(t, handler, func(s *fasthttp.Server) { s.DisableHeaderNamesNormalizing = true })
	for _, connection := range []string{"x-mine", "close, x-mine"} {
		got = nil
		resp, body := ask(t, addr, "POST", "POST / HTTP/1.1\r\nhost: public.test\r\ntransfer-encoding: chunked\r\n"+
			"connection: "+connection+"\r\nx-mine: 1\r\nkeep-alive: 1\r\nte: trailers\r\nupgrade: websocket\r\nproxy-authorization: x\r\nproxy-connection: x\r\n"+
			"forwarded: for=1.2.3.4\r\nx-forwarded-for: 1.2.3.4\r\nx-FORWARDED-host: evil.test\r\nx-forwarded-proto: https\r\n"+
			"x-kept: 1\r\nuser-agent: mine\r\n\r\n4\r\ntext\r\n0\r\n\r\n")
		assert.Equal(t, "hello", body)
		require.Len(t, got, 1)
		assert.Equal(t, "text", got[0].body)
		got[0].header.Del("Content-Type")
		assert.Equal(t, http.Header{
			"Content-Length": {"4"}, "User-Agent": {"mine"}, "X-Kept": {"1"},
			"X-Forwarded-For": {"127.0.0.1"}, "X-Forwarded-Host": {"public.test"}, "X-Forwarded-Proto": {"http"},
		}, got[0].header)
		assert.Equal(t, "1", resp.Header.Get("X-Up"))
		for _, name := range []string{"X-Hop", "Keep-Alive", "Upgrade", "Proxy-Authenticate"} {
			assert.Empty(t, resp.Header.Get(name), name)
		}
		assert.NotEqual(t, "x-hop", resp.Header.Get("Connection"))
	}
}

// An answer without a content type stays one: no default is put in.
func TestProxyNoContentType(t *testing.T) {
	w := serveWire(t, func(_ int, conn net.Conn, req *http.Request) bool {
		if req.URL.Path == "/typed" {
			return say(200, "hello", "Content-Type", "text/x")(conn)
		}
		return say(200, "hello")(conn)
	})
	addr := serveProxy(t, newProxy(t, quick(t), w.url, 0))
	for path, want := range map[string]string{"/": "", "/typed": "text/x"} {
		resp, body := ask(t, addr, "GET", "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
		assert.Equal(t, want, resp.Header.Get("Content-Type"))
		assert.Equal(t, "hello", body)
	}
}
