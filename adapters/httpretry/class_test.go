package httpretry_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

type markedError bool

func (e markedError) Error() string        { return "marked" }
func (e markedError) RetryableError() bool { return bool(e) }

// Peer fault 130: one table for all doors. The same failure costs the same,
// has the same class and ends for the same reason through Do and through the
// RoundTripper; a response is to Do what stands for it in an error.
func TestSameClassThroughDo(t *testing.T) {
	through := func(op, host string, err error) error {
		return &url.Error{Op: op, URL: host, Err: err}
	}
	reset := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	for _, row := range []struct {
		name  string
		err   error
		class classify.Class
	}{
		{"67: a reset on read", through("Get", "http://x/", reset), classify.Transient},
		{"67: a refused dial", through("Get", "http://x/", dialRefused), classify.Transient},
		{"68: a closed connection", fmt.Errorf("send: %w", net.ErrClosed), classify.Transient},
		{"74: an answer that was cut", io.ErrUnexpectedEOF, classify.Transient},
		{"118: a connection that was dead", io.EOF, classify.Transient},
		{"70: no such host", &net.DNSError{Err: "no such host", IsNotFound: true}, classify.NonRetryable},
		{"a resolver that is busy", &net.DNSError{Err: "server misbehaving", IsTemporary: true}, classify.Transient},
		{"86: an unknown authority", x509.UnknownAuthorityError{}, classify.NonRetryable},
		{"85: a bad scheme", errors.New(`unsupported protocol scheme "ftp"`), classify.NonRetryable},
		{"94: a cancellation", through("Get", "http://x/", context.Canceled), classify.NonRetryable},
		{"95: an attempt that took too long", context.DeadlineExceeded, classify.Transient},
		{"82: an error that says yes", markedError(true), classify.Transient},
		{"82: an error that says no", errors.Join(markedError(false), reset), classify.NonRetryable},
		{"a code", codedError("SlowDown"), classify.Throttling},
		{"a 500", &httpretry.ResponseError{Status: 500}, classify.Transient},
		{"a 501", &httpretry.ResponseError{Status: 501}, classify.NonRetryable},
		{"62: a 429", &httpretry.ResponseError{Status: 429}, classify.Throttling},
		{"a 404", &httpretry.ResponseError{Status: 404}, classify.NonRetryable},
		{"a throttling 400", &httpretry.ResponseError{Status: 400, Code: "ThrottlingException"}, classify.Throttling},
		{"a throttling 503", &httpretry.ResponseError{Status: 503, Code: "SlowDown"}, classify.Throttling},
		{"a transient 400", &httpretry.ResponseError{Status: 400, Code: "RequestTimeout"}, classify.Transient},
		{"a 400 with an unknown code", &httpretry.ResponseError{Status: 400, Code: "Odd"}, classify.NonRetryable},
		{"a 500 with an unknown code", &httpretry.ResponseError{Status: 500, Code: "Odd"}, classify.Transient},
	} {
		t.Run(row.name, func(t *testing.T) {
			var viaDo, viaHTTP events
			e := newEngine(t, engine.WithClock(noSleep{}), viaDo.observer())
			_, doErr := engine.Do(t.Context(), e, func(context.Context) (int, error) { return 0, row.err })

			b := failing(row.err)
			var answer *httpretry.ResponseError
			if errors.As(row.err, &answer) {
				b = answers(func(int) *http.Response { return response(answer.Status, "", "X-Amzn-Errortype", answer.Code) })
			}
			e = newEngine(t, engine.WithClock(noSleep{}), viaHTTP.observer())
			_, err := newTransport(t, e, httpretry.WithBase(b)).RoundTrip(get(t, t.Context()))

			assert.Equal(t, viaDo.retries, viaHTTP.retries)
			assert.Equal(t, viaDo.stops, viaHTTP.stops)
			require.Len(t, viaHTTP.stops, 1)
			assert.Equal(t, row.class, viaHTTP.stops[0].Class)
			if answer == nil {
				assert.Equal(t, doErr, err)
			}
		})
	}
}

// The classifier's overrides hold for responses, successes included.
func TestOverrides(t *testing.T) {
	c, err := classify.Default.With(classify.Overrides{
		Statuses: map[int]classify.Class{202: classify.Transient, 503: classify.NonRetryable},
		Codes:    map[string]classify.Class{"TryAgain": classify.Throttling},
	})
	require.NoError(t, err)
	for _, row := range []struct {
		answer   *http.Response
		attempts int
	}{
		{response(202, ""), 2},
		{response(503, ""), 1},
		{response(409, "", "X-Amzn-Errortype", "TryAgain"), 2},
	} {
		b := answers(func(n int) *http.Response {
			if n == 1 {
				return row.answer
			}
			return response(200, "")
		})
		e := newEngine(t, engine.WithClock(noSleep{}), engine.WithClassifier(c))
		_, err := newTransport(t, e, httpretry.WithBase(b)).RoundTrip(get(t, t.Context()))
		require.NoError(t, err)
		assert.Len(t, b.sent, row.attempts)
	}
}

// R3.3: a number below 100 is no status of HTTP, so its answer is no success: it
// ends the call, comes back whole, and gives nothing to the quota (R6).
func TestStatusBelow100(t *testing.T) {
	for text, want := range map[string]int{"000": 0, "001": 1, "099": 99} {
		for name, opts := range map[string][]httpretry.Option{"plain": nil, "everything": everything()} {
			to, requests := serve(t, func(int, int, *http.Request) string {
				return "HTTP/1.1 " + text + " Odd\r\nX-Amz-Retry-After: 1\r\nContent-Length: 2\r\n\r\nok"
			})
			var ev events
			inner := &http.Transport{}
			e := newEngine(t, engine.WithClock(noSleep{}), engine.WithTokens(100), ev.observer())
			resp, err := httpretry.Client(e, append(opts, httpretry.WithBase(inner))...).Get(to)
			require.NoError(t, err)
			assert.Equal(t, want, resp.StatusCode)
			assert.Equal(t, "ok", readAll(t, resp))
			assert.EqualValues(t, 1, requests.Load())
			assert.Equal(t, 100, level(e), "%s, %s", text, name)
			assert.Empty(t, ev.success)
			if assert.Len(t, ev.stops, 1) {
				assert.Equal(t, engine.ReasonNonRetryable, ev.stops[0].Reason)
			}
			inner.CloseIdleConnections()
		}
	}
}
