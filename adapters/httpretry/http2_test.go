package httpretry_test

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/adapters/httpretry"
	"github.com/reprise-go/reprise/engine"
)

// HTTP/2 frames by hand (RFC 9113, sections 4 and 6): no server of the standard
// library refuses a stream.
const (
	frameHeaders   = 0x1
	frameRSTStream = 0x3
	frameSettings  = 0x4
	frameGoAway    = 0x7
	frameUnknown   = 0x20 // to be ignored

	protocolError = 0x1
	refusedStream = 0x7
)

func frame(kind, flags byte, stream uint32, payload ...uint32) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(4*len(payload))<<8|uint32(kind))
	b = append(b, flags)
	b = binary.BigEndian.AppendUint32(b, stream)
	for _, word := range payload {
		b = binary.BigEndian.AppendUint32(b, word)
	}
	return b
}

// h2OK is ":status: 200", entry 8 of HPACK's static table, and the end of headers
// and stream.
func h2OK(stream uint32) []byte {
	return append([]byte{0, 0, 1, frameHeaders, 0x5}, append(binary.BigEndian.AppendUint32(nil, stream), 0x88)...)
}

// speakH2 answers the requests of a connection with the frames that answer
// returns. After a GOAWAY it says no more.
func speakH2(c net.Conn, answer func(stream uint32) []byte) {
	defer c.Close()
	out := make(chan []byte, 64) // a pipe has no room: reading must not wait for writing
	defer close(out)
	go func() {
		for b := range out {
			if tcp, ok := c.(*net.TCPConn); ok && b == nil {
				_ = tcp.CloseWrite()
			}
			_, _ = c.Write(b)
		}
	}()
	if _, err := io.CopyN(io.Discard, c, 24); err != nil { // the preface
		return
	}
	out <- frame(frameSettings, 0, 0)
	head := make([]byte, 9)
	for {
		if _, err := io.ReadFull(c, head); err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(head)>>8)); err != nil {
			return
		}
		switch {
		case head[3] == frameSettings && head[4] == 0:
			out <- frame(frameSettings, 1, 0)
		case head[3] == frameHeaders:
			b := answer(binary.BigEndian.Uint32(head[5:]))
			if out <- b; b[3] == frameGoAway {
				out <- nil
				_, _ = io.Copy(io.Discard, c) // until the client has read it and is gone
				return
			}
		}
	}
}

// h2Transport speaks HTTP/2 without TLS over what dial returns.
func h2Transport(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Transport {
	tr := &http.Transport{Protocols: new(http.Protocols), DialContext: dial}
	tr.Protocols.SetUnencryptedHTTP2(true)
	return tr
}

// serveH2 listens on a socket.
func serveH2(t *testing.T, answer func(conn int, stream uint32) []byte) (url string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for conn := 1; ; conn++ {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go speakH2(c, func(stream uint32) []byte { return answer(conn, stream) })
		}
	}()
	return "http://" + listener.Addr().String()
}

// R3.2, peer fault 73: a stream that the server has refused was never processed, so
// any method goes again. net/http does that by itself, at once the first time.
func TestRefusedStreamOverTCP(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		var refused, processed atomic.Int32
		url := serveH2(t, func(_ int, stream uint32) []byte {
			if refused.CompareAndSwap(0, 1) {
				return frame(frameRSTStream, 0, stream, refusedStream)
			}
			processed.Inc()
			return h2OK(stream)
		})
		inner := h2Transport(nil)
		e := newEngine(t)
		req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
		require.NoError(t, err)
		resp, err := newTransport(t, e, httpretry.WithBase(inner), httpretry.WithHedge(time.Minute)).RoundTrip(req)
		require.NoError(t, err)
		readAll(t, resp)
		assert.Equal(t, 2, resp.ProtoMajor)
		assert.EqualValues(t, 1, processed.Load())
		inner.CloseIdleConnections()
	}
}

// Peer faults 73 and 118: a server that refuses every stream. net/http sends each
// attempt eight times, with pauses of its own, before it says so; the attempt's
// time-out bounds that. Then the engine retries, whatever the method.
func TestRefusedStreams(t *testing.T) {
	for _, row := range []struct {
		name    string
		opts    []httpretry.Option
		streams int
		fails   bool // the attempt's time-out does not say that nothing was processed
	}{
		{"patient", nil, 8 + 1, false},
		{"with a time-out", []httpretry.Option{httpretry.WithAttemptTimeout(2 * time.Second)}, 3, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			streams, processed := 0, 0
			inner := h2Transport(func(context.Context, string, string) (net.Conn, error) {
				here, there := net.Pipe()
				go speakH2(there, func(stream uint32) []byte {
					if streams++; streams <= 8 {
						return frame(frameRSTStream, 0, stream, refusedStream)
					}
					processed++
					return h2OK(stream)
				})
				return here, nil
			})
			var ev events
			e := newEngine(t, ev.observer())
			resp, err := newTransport(t, e, append(row.opts, httpretry.WithBase(inner))...).RoundTrip(request(t, t.Context(), http.MethodPost, nil))
			if row.fails {
				require.ErrorIs(t, err, engine.ErrNotReplayable)
				assert.Zero(t, processed)
			} else {
				require.NoError(t, err)
				readAll(t, resp)
				assert.Equal(t, 1, processed)
				assert.Len(t, ev.retries, 1)
			}
			assert.Equal(t, row.streams, streams)
			inner.CloseIdleConnections()
		})
	}
}

// R3.2, peer fault 73: GOAWAY. What the server says that it has not looked at goes
// again by itself; what it may have, and then closed the connection over, is
// transient, and goes again if it may arrive twice.
func TestGoAwayOverTCP(t *testing.T) {
	for _, row := range []struct {
		name   string
		method string
		seen   bool // the server has seen the stream
		fails  bool
	}{
		{"GET, not seen", "GET", false, false},
		{"POST, not seen", "POST", false, false},
		{"GET, seen", "GET", true, false},
		{"POST, seen", "POST", true, true},
	} {
		var processed atomic.Int32
		url := serveH2(t, func(conn int, stream uint32) []byte {
			if conn > 1 {
				processed.Inc()
				return h2OK(stream)
			}
			last := uint32(0)
			if row.seen {
				processed.Inc()
				last = stream
			}
			return frame(frameGoAway, 0, 0, last, 0)
		})
		inner := h2Transport(nil)
		e := newEngine(t, engine.WithClock(noSleep{}))
		req, err := http.NewRequestWithContext(t.Context(), row.method, url, nil)
		require.NoError(t, err)
		resp, err := newTransport(t, e, httpretry.WithBase(inner)).RoundTrip(req)
		if row.fails {
			require.ErrorIs(t, err, engine.ErrNotReplayable, row.name)
			assert.EqualValues(t, 1, processed.Load(), row.name)
		} else {
			require.NoError(t, err, row.name)
			readAll(t, resp)
		}
		inner.CloseIdleConnections()
	}
}

// restart is a clock whose wait starts a server, once.
type restart struct {
	noSleep
	start func()
}

func (r *restart) Sleep(context.Context, time.Duration, <-chan struct{}) {
	if r.start != nil {
		r.start()
		r.start = nil
	}
}

// Peer fault 73 with a real server over TLS: it shuts down while a POST is under
// way, which it finishes, and says GOAWAY to what comes after. The next POST finds
// nobody, waits, and finds its successor: two requests, two arrivals.
func TestShutdownOverTLS(t *testing.T) {
	var arrivals atomic.Int32
	entered, leave := make(chan struct{}), make(chan struct{})
	first := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrivals.Inc()
		close(entered)
		<-leave
		_, _ = io.WriteString(w, "first")
	}))
	first.EnableHTTP2 = true
	first.StartTLS()
	defer first.Close()
	address := first.Listener.Addr().String()

	clock := new(restart)
	var second *httptest.Server
	clock.start = func() {
		listener, err := net.Listen("tcp", address)
		if !assert.NoError(t, err) {
			return
		}
		second = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			arrivals.Inc()
			_, _ = io.WriteString(w, "second")
		}))
		_ = second.Listener.Close()
		second.Listener, second.EnableHTTP2 = listener, true
		second.TLS = &tls.Config{Certificates: first.TLS.Certificates}
		second.StartTLS()
	}
	client := httpretry.Client(newEngine(t, engine.WithClock(clock)), httpretry.WithBase(first.Client().Transport))
	post := func() string {
		resp, err := client.Post(first.URL, "text/plain", nil)
		require.NoError(t, err)
		assert.Equal(t, 2, resp.ProtoMajor)
		return readAll(t, resp)
	}
	shut := make(chan error, 1)
	go func() {
		<-entered
		go func() { shut <- first.Config.Shutdown(context.Background()) }()
		for { // until nobody listens any more
			c, err := net.Dial("tcp", address)
			if err != nil {
				break
			}
			_ = c.Close()
		}
		close(leave)
	}()
	assert.Equal(t, "first", post())
	require.NoError(t, <-shut)
	assert.Equal(t, "second", post())
	defer second.Close()
	assert.EqualValues(t, 2, arrivals.Load())
	client.CloseIdleConnections()
}

// The one way in which net/http sends again what may have been processed: it takes
// a peer's PROTOCOL_ERROR for a sign that the request came too early. The package
// comment says so; this test will say when it is no longer true.
func TestProtocolErrorIsSentAgainByNetHTTP(t *testing.T) {
	var arrivals atomic.Int32
	url := serveH2(t, func(_ int, stream uint32) []byte {
		if arrivals.Inc() == 1 {
			return frame(frameRSTStream, 0, stream, protocolError)
		}
		return h2OK(stream)
	})
	inner := h2Transport(nil)
	defer inner.CloseIdleConnections()
	e := newEngine(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
	require.NoError(t, err)
	resp, err := newTransport(t, e, httpretry.WithBase(inner)).RoundTrip(req)
	require.NoError(t, err)
	readAll(t, resp)
	assert.EqualValues(t, 2, arrivals.Load())
	assert.Zero(t, e.Stats().TransientRetries, "it was not us")
}
