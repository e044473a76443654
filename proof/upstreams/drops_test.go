package upstreams_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// HAProxy hangs up without an answer, or does so until the first retry has been
// granted: reject closes the connection.
func TestRejected(t *testing.T) {
	throughEach(t, func(t *testing.T, d door) {
		server := haproxy(t, `
	http-request reject if { path /reject }
	http-request return status 200 content-type text/plain string taken
`)
		e := watch(t)
		send := d.open(t, e.Engine, 0)
		got := send(t.Context(), ask{url: server.url + "/reject"})
		assert.Equal(t, 3, got.attempts)
		assert.Equal(t, classify.Transient, got.class, "R3.2")
		assert.Equal(t, engine.ReasonMaxAttempts, got.reason)
		assert.ErrorIs(t, got.err, engine.ErrMaxAttempts)
		assert.Equal(t, ms(25, 50), e.delays)
		post := send(t.Context(), ask{url: server.url + "/reject", method: http.MethodPost, body: "order", call: "order-once"})
		assert.Equal(t, engine.ReasonNotReplayable, post.reason)
		assert.Equal(t, 200, send(t.Context(), ask{url: server.url + "/"}).status)
		assert.Equal(t, 473, e.tokens())
		seen := times(server.requests(t))
		assert.Equal(t, 1, seen["order-once"])
		assert.Len(t, seen, 3)
	})
}

// HAProxy lets the caller wait (tarpit), or forgets the connection and tells
// nobody (silent-drop, which needs the right to; else it resets it). Only the
// attempt's own time-out ends the wait, and with a live caller that is transient
// (R3.6).
func TestSilence(t *testing.T) {
	for _, action := range []string{"tarpit", "silent-drop"} {
		throughEach(t, func(t *testing.T, d door) {
			t.Parallel()
			server := haproxy(t, `
	timeout tarpit 20s
	http-request `+action+`
`)
			e := watch(t)
			got := d.open(t, e.Engine, 60*time.Millisecond)(t.Context(), ask{url: server.url})
			assert.Equal(t, 3, got.attempts, action)
			assert.Equal(t, classify.Transient, got.class, action)
			assert.Equal(t, engine.ReasonMaxAttempts, got.reason, action)
			assert.Equal(t, 472, e.tokens(), action)
			assert.Equal(t, ms(25, 50), e.delays, action)
			if action == "tarpit" {
				var timeout interface{ Timeout() bool }
				require.ErrorAs(t, got.err, &timeout)
				assert.True(t, timeout.Timeout())
			}
		})
	}
}

// Behind HAProxy, an address at which nobody listens: it answers 503 itself.
func TestServerDown(t *testing.T) {
	throughEach(t, func(t *testing.T, d door) {
		server := haproxy(t, fmt.Sprintf(`
	default_backend down
backend down
	server gone %s
`, nobody(t)))
		e := watch(t)
		send := d.open(t, e.Engine, 0)
		got := send(t.Context(), ask{url: server.url})
		assert.Equal(t, 503, got.status)
		assert.Contains(t, got.body, "No server is available", "HAProxy's own page")
		assert.Equal(t, 3, got.attempts)
		assert.Equal(t, classify.Transient, got.class)
		assert.Equal(t, 1, send(t.Context(), ask{url: server.url, method: http.MethodPost}).attempts)
		assert.Equal(t, 472, e.tokens())
		assert.Equal(t, []int{503, 503, 503, 503}, statuses(server.requests(t)))
	})
}

// Nobody listens: the dial is refused, which proves that nothing was sent, so
// even a POST is tried again.
func TestRefused(t *testing.T) {
	throughEach(t, func(t *testing.T, d door) {
		e := watch(t)
		got := d.open(t, e.Engine, 0)(t.Context(), ask{url: "http://" + nobody(t), method: http.MethodPost, body: "order"})
		assert.Error(t, got.err)
		assert.Equal(t, 3, got.attempts)
		assert.Equal(t, classify.Transient, got.class)
		assert.Equal(t, engine.ReasonMaxAttempts, got.reason)
		assert.Equal(t, 472, e.tokens())
	})
}

// nobody returns an address of loopback that refuses connections for as long as
// the test lasts: it is bound, and not listened at.
func nobody(t testing.TB) string {
	t.Helper()
	held, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := held.Addr().String()
	dialled, err := net.Dial("tcp", addr) // its two ends keep the port taken
	require.NoError(t, err)
	accepted, err := held.Accept()
	require.NoError(t, err)
	require.NoError(t, held.Close())
	t.Cleanup(func() { _, _ = dialled.Close(), accepted.Close() })
	return addr
}

// origin is a server behind HAProxy or toxiproxy that counts what arrives.
type origin struct {
	*httptest.Server
	hits atomic.Int64
}

func serve(t testing.TB, handler http.HandlerFunc) *origin {
	t.Helper()
	o := &origin{}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.hits.Inc()
		handler(w, r)
	}))
	t.Cleanup(o.Close)
	return o
}

func (o *origin) addr() string { return o.Listener.Addr().String() }

// The server behind HAProxy is too slow for its time-out: 504, which is transient
// for a GET, and passes through to a POST that arrived.
func TestGatewayTimeout(t *testing.T) {
	throughEach(t, func(t *testing.T, d door) {
		released := make(chan struct{})
		slow := serve(t, func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-released:
			}
		})
		defer close(released)
		server := haproxy(t, fmt.Sprintf(`
	default_backend slow
backend slow
	timeout server 50ms
	server slow %s
`, slow.addr()))
		e := watch(t)
		send := d.open(t, e.Engine, 0)
		got := send(t.Context(), ask{url: server.url})
		assert.Equal(t, 504, got.status)
		assert.Equal(t, 3, got.attempts)
		assert.Equal(t, classify.Transient, got.class)
		post := send(t.Context(), ask{url: server.url, method: http.MethodPost, body: "order"})
		assert.Equal(t, 504, post.status)
		assert.Equal(t, engine.ReasonNotReplayable, post.reason)
		assert.EqualValues(t, 4, slow.hits.Load(), "three times the GET, once the POST")
		assert.Equal(t, 472, e.tokens())
	})
}

// HAProxy watches what its server answers: after the third 500 in a row it takes
// it out, and answers 503 itself until the server's health check, which this one
// always fails, says otherwise.
func TestObservedHealth(t *testing.T) {
	throughEach(t, func(t *testing.T, d door) {
		failing := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
		})
		server := haproxy(t, fmt.Sprintf(`
	default_backend watched
backend watched
	server failing %s check inter 60s observe layer7 error-limit 3 on-error mark-down
`, failing.addr()))
		e := watch(t)
		send := d.open(t, e.Engine, 0)
		first := send(t.Context(), ask{url: server.url})
		assert.Equal(t, 500, first.status)
		assert.Equal(t, 3, first.attempts)
		second := send(t.Context(), ask{url: server.url})
		assert.Equal(t, 503, second.status)
		assert.Equal(t, 3, second.attempts)
		assert.EqualValues(t, 3, failing.hits.Load(), "the second call was HAProxy's to answer")
		assert.Equal(t, []int{500, 500, 500, 503, 503, 503}, statuses(server.requests(t)))
		assert.Equal(t, 500-4*14, e.tokens())
	})
}
