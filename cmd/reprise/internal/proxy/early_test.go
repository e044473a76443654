package proxy_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/cmd/reprise/internal/proxyconf"
)

// halves are requests whose clients wait in the midst of the body.
var halves = map[string]string{
	"length":         "Content-Length: 10\r\n\r\nabc",
	"chunked":        "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
	"kept no longer": "Content-Length: 100000\r\n\r\n" + string(make([]byte, 70_000)),
}

// takesHeaders is an upstream that answers before the body is there; with nothing
// it never answers.
func takesHeaders(t *testing.T, answer string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				r := bufio.NewReader(conn)
				if _, err := http.ReadRequest(r); err == nil {
					_, _ = io.WriteString(conn, answer)
					_, _ = io.Copy(io.Discard, r)
				}
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

// The timeout holds too while the client is in the midst of its body, of whose
// time there is much left.
func TestTimeoutAmidBody(t *testing.T) {
	for name, half := range halves {
		t.Run(name, func(t *testing.T) {
			p := start(t, one(t, takesHeaders(t, "")), settings(func(s *proxyconf.Settings) { s.Timeout = 200 * time.Millisecond }))
			conn, r := raw(t, p.url)
			began := time.Now()
			send(t, conn, "PUT / HTTP/1.1\r\nHost: a\r\n"+half)
			resp, err := http.ReadResponse(r, nil)
			require.NoError(t, err)
			assert.Equal(t, http.StatusGatewayTimeout, resp.StatusCode)
			assert.True(t, resp.Close, "what is left of the body is not the next request")
			assert.Less(t, time.Since(began), patience/2)
		})
	}
}

// An answer that comes before the body has all been sent is passed on at once, and
// what is left of the body does not become a request.
func TestAnswerAmidBody(t *testing.T) {
	for name, half := range halves {
		t.Run(name, func(t *testing.T) {
			p := start(t, one(t, takesHeaders(t, "HTTP/1.1 413 Too Much\r\nContent-Length: 2\r\n\r\nno")))
			conn, r := raw(t, p.url)
			began := time.Now()
			send(t, conn, "PUT / HTTP/1.1\r\nHost: a\r\n"+half)
			resp, err := http.ReadResponse(r, nil)
			require.NoError(t, err)
			assert.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
			assert.True(t, resp.Close)
			text, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			assert.Equal(t, "no", string(text))
			_, _ = r.ReadByte() // the connection is at its end
			assert.Less(t, time.Since(began), patience/2)
		})
	}
}

// Body and answer may be on their way at the same time.
func TestBothWaysAtOnce(t *testing.T) {
	p := start(t, one(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex()
		for line := bufio.NewScanner(r.Body); line.Scan(); {
			_, _ = io.WriteString(w, line.Text()+" too\n")
			_ = control.Flush()
		}
	})))
	conn, r := raw(t, p.url)
	send(t, conn, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na\n\r\n")
	resp, err := http.ReadResponse(r, nil)
	require.NoError(t, err)
	body := bufio.NewReader(resp.Body)
	for _, next := range []string{"2\r\nb\n\r\n", "0\r\n\r\n"} {
		text, err := body.ReadString('\n')
		require.NoError(t, err)
		assert.Contains(t, []string{"a too\n", "b too\n"}, text)
		send(t, conn, next)
	}
	_, err = body.ReadByte()
	assert.Equal(t, io.EOF, err)
}

// A client that is cut off in the midst of its body is told so.
func TestShutdownAmidBody(t *testing.T) {
	for name, half := range halves {
		t.Run(name, func(t *testing.T) {
			p := start(t, one(t, takesHeaders(t, "")))
			conn, r := raw(t, p.url)
			send(t, conn, "PUT / HTTP/1.1\r\nHost: a\r\n"+half)
			require.Eventually(t, func() bool { return p.state(t).Running == 1 }, patience, time.Millisecond)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			assert.ErrorContains(t, p.Shutdown(ctx), "cut off")
			resp, err := http.ReadResponse(r, nil)
			require.NoError(t, err)
			assert.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
		})
	}
}
