package proxy_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// dying is an upstream that answers one request on each connection and closes it,
// without a word, at the next.
func dying(t *testing.T) (url string, hits *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	hits = new(atomic.Int32)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for n := range 2 {
					req, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, req.Body)
					hits.Add(1)
					if n == 0 {
						_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
					}
				}
			}()
		}
	}()
	return "http://" + l.Addr().String(), hits
}

// A connection that dies is a failed attempt: net/http sends nothing again behind
// the engine's back, so what arrives is what was paid for.
func TestDeadConnectionsArePaidFor(t *testing.T) {
	url, hits := dying(t)
	for _, row := range []struct {
		method, body, header string
		status, retries      int
	}{
		{"GET", "", "A: b", 200, 1},
		{"HEAD", "", "A: b", 200, 1},
		{"OPTIONS", "", "A: b", 200, 1},
		{"PUT", "body", "A: b", 200, 1},
		{"POST", "body", "Idempotency-Key: 1", 200, 1},
		{"POST", "body", "A: b", 502, 0},
	} {
		p := start(t, one(t, url))
		resp, _ := do(t, "GET", p.url, "") // leaves a connection in the pool
		require.Equal(t, 200, resp.StatusCode)
		before, arrived := p.state(t), hits.Load()
		resp, _ = do(t, row.method, p.url, row.body, row.header)
		assert.Equal(t, row.status, resp.StatusCode, row.method)
		after := p.state(t)
		assert.Equal(t, row.retries, after.Retries.Transient-before.Retries.Transient, row.method)
		assert.EqualValues(t, 1+row.retries, hits.Load()-arrived, row.method)
		assert.Equal(t, before.Quota.Level, after.Quota.Level, "the retry succeeded")
	}
}

// One that the upstream may have closed for having been idle is no failure.
func TestStaleConnectionsAreReplaced(t *testing.T) {
	url, _ := dying(t)
	for _, method := range []string{"GET", "PUT", "DELETE", "POST"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			p := start(t, one(t, url))
			resp, _ := do(t, "GET", p.url, "")
			require.Equal(t, 200, resp.StatusCode)
			idle := time.NewTimer(1100 * time.Millisecond)
			<-idle.C
			resp, _ = do(t, method, p.url, "body")
			if method == "POST" {
				assert.Equal(t, 502, resp.StatusCode, "it may have been obeyed")
			} else {
				assert.Equal(t, 200, resp.StatusCode)
			}
			assert.Zero(t, p.state(t).Retries.Transient)
		})
	}
}
