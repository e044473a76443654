package grpcretry_test

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/reprise-go/reprise/adapters/grpcretry"
	"github.com/reprise-go/reprise/engine"
)

// wire is a server that does with streams as it is told, on 127.0.0.1.
type wire struct {
	target string
	mu     sync.Mutex
	hits   int
}

// reaction is what a server does with a request, the n-th, from 1; a connection is
// kept for another one if it says so.
type reaction func(n int, fr *http2.Framer, conn net.Conn, id uint32) (keep bool)

func serveWire(t *testing.T, react reaction) *wire {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	w := &wire{target: "passthrough:///" + ln.Addr().String()}
	var running sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	running.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			running.Go(func() { w.speak(conn, react) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		mu.Lock()
		for _, conn := range conns {
			_ = conn.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return w
}

func (w *wire) speak(conn net.Conn, react reaction) {
	defer conn.Close()
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	fr := http2.NewFramer(conn, conn)
	if fr.WriteSettings() != nil {
		return
	}
	for {
		frame, err := fr.ReadFrame()
		if err != nil {
			return
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = fr.WriteSettingsAck()
			}
		case *http2.HeadersFrame:
			w.mu.Lock()
			w.hits++
			n := w.hits
			w.mu.Unlock()
			if !react(n, fr, conn, f.StreamID) {
				return
			}
		}
	}
}

func (w *wire) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hits
}

// fields writes a block of headers.
func fields(fr *http2.Framer, id uint32, end bool, pairs ...string) {
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for i := 0; i < len(pairs); i += 2 {
		_ = enc.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: end})
}

// succeeds is a whole answer.
func succeeds(_ int, fr *http2.Framer, _ net.Conn, id uint32) bool {
	fields(fr, id, false, ":status", "200", "content-type", "application/grpc")
	_ = fr.WriteData(id, false, []byte{0, 0, 0, 0, 0})
	fields(fr, id, true, "grpc-status", "0")
	return true
}

func resets(code http2.ErrCode) reaction {
	return func(_ int, fr *http2.Framer, _ net.Conn, id uint32) bool {
		_ = fr.WriteRSTStream(id, code)
		return true
	}
}

// says answers with headers and a body alone.
func says(body string, pairs ...string) reaction {
	return func(_ int, fr *http2.Framer, _ net.Conn, id uint32) bool {
		fields(fr, id, body == "", pairs...)
		if body != "" {
			_ = fr.WriteData(id, true, []byte(body))
		}
		return true
	}
}

// Peer fault 73 and others: what a connection can do to a call, over TCP.
func TestWire(t *testing.T) {
	grpcHeaders := []string{":status", "200", "content-type", "application/grpc"}
	part := func(keep bool) reaction {
		return func(_ int, fr *http2.Framer, _ net.Conn, id uint32) bool {
			fields(fr, id, false, grpcHeaders...)
			_ = fr.WriteData(id, false, []byte{0, 0, 0, 0, 10, 1, 2})
			if keep {
				fields(fr, id, true, "grpc-status", "0")
			}
			return keep
		}
	}
	for name, row := range map[string]struct {
		react     reaction
		always    bool
		once      bool // the method may not be sent twice
		hits      int
		retries   int
		code      codes.Code
		reason    error
		untouched bool
	}{
		"REFUSED_STREAM, which grpc sends again": {react: resets(http2.ErrCodeRefusedStream), hits: 2},
		"REFUSED_STREAM for a method once":       {react: resets(http2.ErrCodeRefusedStream), once: true, hits: 2},
		"REFUSED_STREAM always":                  {react: resets(http2.ErrCodeRefusedStream), always: true, hits: 6, retries: 2, code: codes.Unavailable, reason: engine.ErrMaxAttempts},
		"GOAWAY before the stream": {react: func(_ int, fr *http2.Framer, _ net.Conn, _ uint32) bool {
			_ = fr.WriteGoAway(0, http2.ErrCodeNo, nil)
			return true
		}, hits: 2},
		"GOAWAY after the stream, and the end": {react: func(_ int, fr *http2.Framer, _ net.Conn, id uint32) bool {
			_ = fr.WriteGoAway(id, http2.ErrCodeNo, nil)
			return false
		}, hits: 2, retries: 1},
		"ENHANCE_YOUR_CALM":   {react: resets(http2.ErrCodeEnhanceYourCalm), hits: 1, code: codes.ResourceExhausted, untouched: true},
		"INTERNAL_ERROR":      {react: resets(http2.ErrCodeInternal), hits: 1, code: codes.Internal, untouched: true},
		"CANCEL":              {react: resets(http2.ErrCodeCancel), hits: 1, code: codes.Canceled, untouched: true},
		"the end":             {react: func(int, *http2.Framer, net.Conn, uint32) bool { return false }, hits: 2, retries: 1},
		"the end, once":       {react: func(int, *http2.Framer, net.Conn, uint32) bool { return false }, once: true, hits: 1, code: codes.Unavailable, reason: engine.ErrNotReplayable},
		"74: part of a reply": {react: part(false), hits: 2, retries: 1},
		"a reply cut short":   {react: part(true), hits: 1, code: codes.Internal, untouched: true},
		"no HTTP/2": {react: func(_ int, _ *http2.Framer, conn net.Conn, _ uint32) bool {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			return false
		}, hits: 2, retries: 1},
		"503 of a proxy":                        {react: says("<h1>down</h1>", ":status", "503", "content-type", "text/html"), hits: 2, retries: 1},
		"429 of a proxy":                        {react: says("", ":status", "429", "content-type", "text/html"), hits: 2, retries: 1},
		"500 of a proxy":                        {react: says("", ":status", "500", "content-type", "text/html"), hits: 1, code: codes.Unknown, untouched: true},
		"404 of a proxy":                        {react: says("", ":status", "404", "content-type", "text/html"), hits: 1, code: codes.Unimplemented, untouched: true},
		"no grpc-status":                        {react: says("", grpcHeaders...), hits: 1, code: codes.Unknown, untouched: true},
		"an odd grpc-status":                    {react: says("", append(grpcHeaders, "grpc-status", "x")...), hits: 1, code: codes.Unknown, untouched: true},
		"a grpc-status nobody knows":            {react: says("", append(grpcHeaders, "grpc-status", "14000")...), hits: 1, code: 14000, untouched: true},
		"UNAVAILABLE and details that are none": {react: says("", append(grpcHeaders, "grpc-status", "14", "grpc-status-details-bin", "AAAA")...), hits: 2, retries: 1},
		"a reply and then UNAVAILABLE": {react: func(_ int, fr *http2.Framer, _ net.Conn, id uint32) bool {
			fields(fr, id, false, grpcHeaders...)
			_ = fr.WriteData(id, false, []byte{0, 0, 0, 0, 0})
			fields(fr, id, true, "grpc-status", "14")
			return true
		}, hits: 2, retries: 1},
		"success without a reply": {react: says("", append(grpcHeaders, "grpc-status", "0")...), hits: 1, code: codes.Internal, untouched: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := serveWire(t, func(n int, fr *http2.Framer, conn net.Conn, id uint32) bool {
				if n == 1 || row.always {
					return row.react(n, fr, conn, id)
				}
				return succeeds(n, fr, conn, id)
			})
			var ev events
			e := quick(t, ev.observer())
			var opts []grpcretry.Option
			if !row.once {
				opts = append(opts, grpcretry.WithAnyMethod())
			}
			client := testpb.NewTestServiceClient(dialTo(t, w.target, newInterceptor(t, e, opts...)))
			_, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{})
			assert.Equal(t, row.code, status.Code(err), "%v", err)
			if row.reason != nil {
				assert.ErrorIs(t, err, row.reason)
			}
			if row.untouched {
				var ours *engine.Error
				assert.NotErrorAs(t, err, &ours)
			}
			assert.Len(t, ev.retries, row.retries)
			assert.Equal(t, row.hits, w.count())
		})
	}
}
