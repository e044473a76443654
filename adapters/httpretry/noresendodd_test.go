package httpretry_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// A request without a body may still name a length or an encoding: what net/http
// leaves out or refuses, it does so beneath NoResend too.
func TestNoResendOfOddRequests(t *testing.T) {
	url, wire := listen(t)
	inner := &http.Transport{}
	send := func(base http.RoundTripper, method string, body io.ReadCloser, length int64, encoding []string) (sent, failure string) {
		req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
		require.NoError(t, err)
		req.Header.Set("Idempotency-Key", "1")
		req.Body, req.ContentLength, req.TransferEncoding = body, length, encoding
		resp, err := base.RoundTrip(req)
		if err != nil {
			return "", err.Error()
		}
		assert.Same(t, req, resp.Request)
		require.NoError(t, resp.Body.Close())
		return <-wire, ""
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

// A server that sends more than it was asked for loses its connection, which net/http
// mends by itself when nothing was written on it. Under NoResend that is a dead
// connection like any other: a failed attempt (R3.2).
func TestNoResendAfterAnUnaskedAnswer(t *testing.T) {
	log.SetOutput(io.Discard) // where net/http tells of it
	defer log.SetOutput(os.Stderr)
	url, inner, serverEnd := held(t)
	base := &recorder{RoundTripper: httpretry.NoResend(inner)}
	e := newEngine(t, engine.WithClock(noSleep{}))
	client := httpretry.Client(e, httpretry.WithBase(base))
	resp, err := client.Get(url) // leaves a connection
	require.NoError(t, err)
	readAll(t, resp)
	unasked := false
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if info.Reused && !unasked {
			unasked = true
			_, _ = io.WriteString(serverEnd(info.Conn), wire200)
			<-info.Conn.(*closeNoted).closed
		}
	}})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	resp, err = client.Do(req)
	require.NoError(t, err)
	readAll(t, resp)
	assert.True(t, unasked)
	assert.Equal(t, []string{wordsUnasked}, base.texts)
	assert.EqualValues(t, 1, e.Stats().TransientRetries)
}
