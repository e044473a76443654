package proxy_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What cannot be sent on is the client's mistake, and nobody else hears of it.
func TestUnservedRequests(t *testing.T) {
	hits := make(chan string, 10)
	p := start(t, one(t, upstream(t, func(_ http.ResponseWriter, r *http.Request) { hits <- r.RequestURI })))
	for text, status := range map[string]int{
		"GET * HTTP/1.1\r\nHost: a\r\n\r\n":                                                  400,
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":                                                   505,
		"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: web\x80socket\r\n\r\n": 400,
	} {
		conn, r := raw(t, p.url)
		send(t, conn, text)
		resp, err := http.ReadResponse(r, nil)
		require.NoError(t, err, text)
		assert.Equal(t, status, resp.StatusCode, text)
	}
	assert.Empty(t, hits)
}

// An answer with a status that is none is one of the proxy's own, and said so.
func TestNoStatus(t *testing.T) {
	for _, status := range []string{"000", "099", "+12"} {
		p := start(t, one(t, takesHeaders(t, "HTTP/1.1 "+status+" Odd\r\nContent-Length: 2\r\n\r\nno")))
		resp, _ := do(t, "GET", p.url+"/odd", "")
		assert.Equal(t, http.StatusBadGateway, resp.StatusCode, status)
		assert.Contains(t, p.log.request(t, "/odd")["error"], "no status")
	}
}

// Trailers do not say what headers may not, and come only if they were announced.
func TestTrailersAreNoHeaders(t *testing.T) {
	got := make(chan http.Header, 1)
	p := start(t, one(t, upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		got <- r.Trailer
	})))
	conn, r := raw(t, p.url)
	send(t, conn, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"+
		"Trailer: X-Sum, X-Forwarded-For, X-Forwarded_proto, Retry-Attempt, Authorization, Connection\r\n\r\n2\r\nab\r\n0\r\n"+
		"X-Sum: 1\r\nX-Forwarded-For: 6.6.6.6\r\nX-Forwarded_proto: https\r\nRetry-Attempt: 9\r\nAuthorization: me\r\nConnection: X-Sum\r\nX-More: 2\r\n\r\n")
	resp, err := http.ReadResponse(r, nil)
	require.NoError(t, err)
	assert.Equal(t, 200, resp.StatusCode)
	assert.Equal(t, http.Header{"X-Sum": {"1"}}, wait(t, "the request", got))
}

// What only proxies know is dropped from strangers in every spelling, and kept from
// a proxy that is trusted.
func TestStrangersAreNoProxies(t *testing.T) {
	got := make(chan http.Header, 1)
	echo := upstream(t, func(_ http.ResponseWriter, r *http.Request) { got <- r.Header })
	said := []string{"X-Real-Ip: 6.6.6.6", "X-Forwarded-Port: 1", "X_Forwarded_For: 6.6.6.6", "x-forwarded_host: evil", "Forwarded: for=6.6.6.6", "X-Request-Id: 7"}
	do(t, "GET", start(t, one(t, echo)).url, "", said...)
	h := wait(t, "the request", got)
	assert.Equal(t, "127.0.0.1", h.Get("X-Forwarded-For"))
	assert.Equal(t, "7", h.Get("X-Request-Id"))
	for _, name := range []string{"X-Real-Ip", "X-Forwarded-Port", "X_forwarded_for", "X-Forwarded_host", "Forwarded"} {
		assert.NotContains(t, h, name)
	}
	do(t, "GET", start(t, one(t, echo), trusting("127.0.0.1/32")).url, "", said...)
	h = wait(t, "the request", got)
	assert.Equal(t, "6.6.6.6", h.Get("X-Real-Ip"))
	assert.Equal(t, "1", h.Get("X-Forwarded-Port"))
}

// A page whose name was made to lead to this machine does not read the admin
// endpoints.
func TestAdminIsForThisMachine(t *testing.T) {
	p := start(t, one(t, upstream(t, http.NotFound)))
	for host, status := range map[string]int{"evil.example": 403, "evil.example:9901": 403, "localhost:9901": 200, "127.0.0.1": 200, "[::1]:80": 200, "10.0.0.1": 200} {
		for _, path := range []string{"/-/engines", "/-/metrics", "/-/healthy"} {
			resp, _ := do(t, "GET", p.admin+path, "", "Host: "+host)
			assert.Equal(t, status, resp.StatusCode, host+path)
		}
	}
}
