package httpretry_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// The words of net/http that are known here, spelled a second time: if a release
// of Go changes one, a test below notices.
const (
	wordsClosedIdle = "http: server closed idle connection"
	wordsLost       = "http2: client connection lost"
	wordsUnasked    = "readLoopPeekFailLocked: %!w(<nil>)"
)

// recorder notes the errors of the base that it is.
type recorder struct {
	http.RoundTripper
	mu    sync.Mutex
	texts []string
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.RoundTripper.RoundTrip(req)
	if err != nil {
		r.mu.Lock()
		r.texts = append(r.texts, err.Error())
		r.mu.Unlock()
	}
	return resp, err
}

// closeNoted is a connection that says when its own side closes it.
type closeNoted struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

func (c *closeNoted) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// held serves "ok", and returns the server's end of each of the transport's connections,
// which are *closeNoted.
func held(t *testing.T) (url string, inner *http.Transport, serverEnd func(net.Conn) net.Conn) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var ends sync.Map // by the client's address
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) }),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			ends.Store(c.RemoteAddr().String(), c)
			return ctx
		},
	}
	go func() { _ = server.Serve(listener) }()
	inner = &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		return &closeNoted{Conn: c, closed: make(chan struct{})}, err
	}}
	t.Cleanup(func() {
		inner.CloseIdleConnections()
		_ = server.Close()
	})
	return "http://" + listener.Addr().String(), inner, func(c net.Conn) net.Conn {
		end, _ := ends.Load(c.LocalAddr().String())
		return end.(net.Conn)
	}
}

// R3.2: a server that closes the connection it has kept alive just when a request
// has been given to it. net/http mends that for a GET; for what is idempotent and no
// GET it is a transient failure, and for the rest nothing that may be repeated.
func TestServerClosesIdleConnection(t *testing.T) {
	for _, row := range []struct {
		method string
		opts   []httpretry.Option
		fails  bool
	}{
		{method: "PUT"},
		{method: "DELETE"},
		{method: "POST", opts: []httpretry.Option{httpretry.WithAnyMethod()}},
		{method: "POST", fails: true},
	} {
		t.Run(fmt.Sprintf("%s %d", row.method, len(row.opts)), func(t *testing.T) {
			url, inner, serverEnd := held(t)
			base := &recorder{RoundTripper: inner}
			e := newEngine(t, engine.WithClock(noSleep{}))
			client := httpretry.Client(e, append(row.opts, httpretry.WithBase(base))...)
			for range 500 { // the word depends on which of net/http's goroutines is first
				resp, err := client.Get(url)
				require.NoError(t, err)
				readAll(t, resp)
				closed := false
				ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
					if info.Reused && !closed {
						closed = true
						_ = serverEnd(info.Conn).Close()
						<-info.Conn.(*closeNoted).closed
					}
				}})
				req, err := http.NewRequestWithContext(ctx, row.method, url, strings.NewReader("text"))
				require.NoError(t, err)
				resp, err = client.Do(req)
				seen := len(base.texts) > 0
				if seen {
					require.Equal(t, []string{wordsClosedIdle}, base.texts)
				}
				if seen && row.fails {
					require.ErrorIs(t, err, engine.ErrNotReplayable)
					assert.Equal(t, 500, level(e))
					return
				}
				require.NoError(t, err)
				readAll(t, resp)
				if seen {
					assert.EqualValues(t, 1, e.Stats().TransientRetries)
					assert.EqualValues(t, 1, e.Stats().Recoveries)
					assert.Equal(t, 500, level(e))
					return
				}
			}
			t.Fatalf("net/http has never said %q", wordsClosedIdle)
		})
	}
}

// R3.2: an HTTP/2 connection that answers no ping any more is the same in net/http's
// other words.
func TestHTTP2ConnectionLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := new(recorder)
		conns := 0
		inner := h2Transport(func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			conns++
			lost := conns == 1
			go speakH2(there, func(stream uint32) []byte {
				if lost {
					return frame(frameUnknown, 0, 0) // no answer, and to pings neither
				}
				return h2OK(stream)
			})
			return here, nil
		})
		inner.HTTP2 = &http.HTTP2Config{SendPingTimeout: time.Second, PingTimeout: time.Second}
		base.RoundTripper = inner
		e := newEngine(t)
		resp, err := newTransport(t, e, httpretry.WithBase(base)).RoundTrip(get(t, t.Context()))
		require.NoError(t, err)
		readAll(t, resp)
		assert.Equal(t, []string{wordsLost}, base.texts)
		assert.EqualValues(t, 1, e.Stats().TransientRetries)
		inner.CloseIdleConnections()
	})
}

// R3.8: the words count whole, at the innermost, as errors.New's, and only where
// nothing else is known of the error.
func TestWordsOfNetHTTP(t *testing.T) {
	for _, row := range []struct {
		name    string
		err     error
		retries uint64
	}{
		{"bare", errors.New(wordsClosedIdle), 1},
		{"a format without its error", fmt.Errorf("readLoopPeekFailLocked: %w", error(nil)), 1},
		{"the same with its error", fmt.Errorf("readLoopPeekFailLocked: %w", errors.New("other")), 0},
		{"the same as another type's", saying(wordsUnasked), 0},
		{"wrapped by a base above", fmt.Errorf("audit: %w", errors.New(wordsClosedIdle)), 1},
		{"a part of a text", errors.New("malformed HTTP response \"" + wordsClosedIdle + "\""), 0},
		{"as a text around another error", fmt.Errorf(wordsClosedIdle+"%w", errors.New("")), 0},
		{"of another type", saying(wordsClosedIdle), 0},
		{"an error that speaks for itself (R3.5)", finalError{errors.New(wordsClosedIdle)}, 0},
		{"joined with another", errors.Join(errors.New(wordsClosedIdle), errors.New("other")), 0},
	} {
		e := newEngine(t, engine.WithClock(noSleep{}), engine.WithMaxAttempts(2))
		_, err := newTransport(t, e, httpretry.WithBase(failing(row.err))).RoundTrip(get(t, t.Context()))
		assert.ErrorIs(t, err, row.err, row.name)
		assert.Equal(t, row.retries, e.Stats().TransientRetries, row.name)
	}
}

type saying string

func (s saying) Error() string { return string(s) }

type finalError struct{ error }

func (e finalError) Unwrap() error      { return e.error }
func (finalError) RetryableError() bool { return false }
