package httpretry_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/httpretry"
)

// A request without a body may still name a length or an encoding: what net/http
// leaves out or refuses, it does so beneath NoResend too.
func TestNoResendOfOddRequests(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	heads := make(chan string, 1<<10) // a fault leaves some of them unread
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			var got bytes.Buffer
			if req, err := http.ReadRequest(bufio.NewReader(io.TeeReader(c, &got))); err == nil {
				_, _ = io.Copy(io.Discard, req.Body)
				heads <- got.String()
				_, _ = io.WriteString(c, "HTTP/1.1 204 None\r\nConnection: close\r\n\r\n")
			}
			_ = c.Close()
		}
	}()
	inner := &http.Transport{}
	send := func(base http.RoundTripper, method string, body io.ReadCloser, length int64, encoding []string) (sent, failure string) {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+listener.Addr().String(), nil)
		require.NoError(t, err)
		req.Header.Set("Idempotency-Key", "1")
		req.Body, req.ContentLength, req.TransferEncoding = body, length, encoding
		resp, err := base.RoundTrip(req)
		if err != nil {
			return "", err.Error()
		}
		assert.Same(t, req, resp.Request)
		require.NoError(t, resp.Body.Close())
		return <-heads, ""
	}
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "TRACE", "DELETE", "PUT", "POST", "PROPFIND", "SEARCH", "get"} {
		for _, body := range []io.ReadCloser{nil, http.NoBody} {
			for _, length := range []int64{-1, 0, 5} {
				for _, encoding := range []string{"", "identity", "chunked"} {
					encodings := strings.Fields(encoding)
					sent, failure := send(inner, method, body, length, encodings)
					ours, fails := send(httpretry.NoResend(inner), method, body, length, encodings)
					assert.Equal(t, sent, ours, "%s %v %d %q", method, body, length, encoding)
					assert.Equal(t, failure, fails, "%s %v %d %q", method, body, length, encoding)
				}
			}
		}
	}
}
