package fasthttpretry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

type marked bool

func (m marked) Error() string        { return "marked" }
func (m marked) RetryableError() bool { return bool(m) }

// What fasthttp's errors mean (R3), and which of them prove that nothing was
// sent: those are retried whatever the method.
func TestCauses(t *testing.T) {
	const final, transient = classify.NonRetryable, classify.Transient
	reset := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for _, row := range []struct {
		name  string
		err   error
		class classify.Class
		never bool // sent
	}{
		{"the connection ended", fasthttp.ErrConnectionClosed, transient, false},
		{"wrapped", fmt.Errorf("ask: %w", fasthttp.ErrConnectionClosed), transient, false},
		{"time-out", fasthttp.ErrTimeout, transient, false},
		{"dial time-out", fasthttp.ErrDialTimeout, transient, true},
		{"dial time-out, as the dialer wraps it", dialError(t), transient, true},
		{"handshake time-out", fasthttp.ErrTLSHandshakeTimeout, transient, true},
		{"67: reset", reset, transient, false},
		{"67: refused", refused, transient, true},
		{"68: closed", net.ErrClosed, transient, false},
		{"118: end of file", io.EOF, transient, false},
		{"74: cut", io.ErrUnexpectedEOF, transient, false},
		{"no free connection", fasthttp.ErrNoFreeConns, final, true},
		{"the pipeline is full", fasthttp.ErrPipelineOverflow, final, true},
		{"nobody to balance", fasthttp.ErrNoAvailableClients, final, true},
		{"too large", fasthttp.ErrBodyTooLarge, final, false},
		{"headers too large", &fasthttp.ErrSmallBuffer{}, final, false},
		{"a broken chunk", fasthttp.ErrBrokenChunk{}, final, false},
		{"the wrong scheme", fasthttp.ErrHostClientRedirectToDifferentScheme, final, false},
		{"no URL", fasthttp.ErrorInvalidURI, final, false},
		{"82: says yes", marked(true), transient, false},
		{"82: says no of a closed connection", errors.Join(marked(false), fasthttp.ErrConnectionClosed), final, false},
		{"R3.8: words", errors.New(fasthttp.ErrConnectionClosed.Error()), final, false},
		{"94: cancelled", context.Canceled, final, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			for method, attempts := range map[string]int{"GET": 2, "POST": 1} {
				if row.class == final {
					attempts = 1
				} else if row.never {
					attempts = 2
				}
				req, resp := request(t, method, "http://service.test/")
				r, err := newClient(t, quick(t, engine.WithMaxAttempts(2)), failing(row.err)).DoContext(t.Context(), req, resp)
				assert.Equal(t, row.err, attemptError(err))
				assert.Equal(t, row.class, r.Class, method)
				assert.Equal(t, attempts, r.Attempts, method)
				if row.class == final {
					assert.Equal(t, row.err, err, "untouched")
				}
			}
		})
	}
}

// attemptError is the attempt's error.
func attemptError(err error) error {
	if e, ok := err.(*engine.Error); ok {
		err = e.Err
	}
	if e, ok := err.(interface{ Unwrap() []error }); ok && len(e.Unwrap()) == 2 && fmt.Sprintf("%T", err) == "*fasthttpretry.notReplayableError" {
		err = e.Unwrap()[0]
	}
	return err
}

// dialError is what fasthttp's own dialer returns when its time is up.
func dialError(t *testing.T) error {
	_, err := fasthttp.DialTimeout("127.0.0.1:1", 1)
	require.ErrorIs(t, err, fasthttp.ErrDialTimeout)
	return err
}

// The classifier's overrides hold for answers, successes included.
func TestOverrides(t *testing.T) {
	c, err := classify.Default.With(classify.Overrides{Statuses: map[int]classify.Class{202: classify.Transient, 503: classify.NonRetryable}})
	require.NoError(t, err)
	for status, attempts := range map[int]int{202: 3, 503: 1} {
		d := statuses(status)
		req, resp := get(t, "http://service.test/")
		require.NoError(t, newClient(t, quick(t, engine.WithClassifier(c)), d).Do(req, resp))
		assert.Len(t, d.sent, attempts)
	}
}
