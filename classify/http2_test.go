package classify_test

import (
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
)

// HTTP/2 frames by hand (RFC 9113, sections 4 and 6): no server of the standard
// library can be made to refuse a stream.
const (
	frameHeaders   = 0x1
	frameRSTStream = 0x3
	frameSettings  = 0x4
	frameGoAway    = 0x7

	flagAck        = 0x1
	flagEndHeaders = 0x4
)

type h2Code uint32

const (
	h2NoError         h2Code = 0x0
	h2ProtocolError   h2Code = 0x1
	h2InternalError   h2Code = 0x2
	h2RefusedStream   h2Code = 0x7
	h2Cancel          h2Code = 0x8
	h2EnhanceYourCalm h2Code = 0xb
)

func writeFrame(w io.Writer, kind, flags byte, stream uint32, payload []byte) {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	head = append(head, flags)
	head = binary.BigEndian.AppendUint32(head, stream)
	w.Write(append(head, payload...))
}

// writeOK answers with ":status: 200", entry 8 of HPACK's static table.
func writeOK(w io.Writer, stream uint32) {
	writeFrame(w, frameHeaders, flagEndHeaders, stream, []byte{0x88})
}

func writeReset(w io.Writer, stream uint32, code h2Code) {
	writeFrame(w, frameRSTStream, 0, stream, binary.BigEndian.AppendUint32(nil, uint32(code)))
}

func writeGoAway(w io.Writer, last uint32, code h2Code, debug string) {
	payload := binary.BigEndian.AppendUint32(nil, last)
	payload = binary.BigEndian.AppendUint32(payload, uint32(code))
	writeFrame(w, frameGoAway, 0, 0, append(payload, debug...))
}

// serveH2 speaks HTTP/2 without TLS up to each request, which answer ends.
func serveH2(t *testing.T, answer func(w io.Writer, stream uint32)) string {
	return serve(t, func(c *net.TCPConn) {
		defer c.Close()
		preface := make([]byte, 24)
		if _, err := io.ReadFull(c, preface); err != nil {
			return
		}
		writeFrame(c, frameSettings, 0, 0, nil)
		head := make([]byte, 9)
		for {
			if _, err := io.ReadFull(c, head); err != nil {
				return
			}
			length := binary.BigEndian.Uint32(head) >> 8
			if _, err := io.CopyN(io.Discard, c, int64(length)); err != nil {
				return
			}
			switch head[3] {
			case frameSettings:
				if head[4]&flagAck == 0 {
					writeFrame(c, frameSettings, flagAck, 0, nil)
				}
			case frameHeaders:
				answer(c, binary.BigEndian.Uint32(head[5:]))
				c.CloseWrite()
				io.Copy(io.Discard, c) // until the client has read it all and is gone
				return
			}
		}
	})
}

// fetchH2 makes one request on a connection of its own, which, unlike a
// Transport, does not send it again by itself.
func fetchH2(t *testing.T, addr string) error {
	t.Helper()
	tr := &http.Transport{Protocols: new(http.Protocols)}
	tr.Protocols.SetUnencryptedHTTP2(true)
	cc, err := tr.NewClientConn(t.Context(), "http", addr)
	require.NoError(t, err)
	defer cc.Close()
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+addr, nil)
	require.NoError(t, err)
	resp, err := cc.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// streamError has the shape that the standard library's own As method fills.
type streamError struct {
	StreamID uint32
	Code     h2Code
	Cause    error
}

func (streamError) Error() string { panic("Error was called") }

func TestRealHTTP2StreamErrors(t *testing.T) {
	for code, want := range map[h2Code]classify.Verdict{
		h2RefusedStream:   {Class: transient, Rule: classify.RuleRefusedStream, NeverSent: true},
		h2NoError:         {Rule: classify.RuleStreamReset},
		h2ProtocolError:   {Rule: classify.RuleStreamReset},
		h2InternalError:   {Rule: classify.RuleStreamReset},
		h2Cancel:          {Rule: classify.RuleStreamReset},
		h2EnhanceYourCalm: {Rule: classify.RuleStreamReset},
		99:                {Rule: classify.RuleStreamReset},
	} {
		for name, answer := range map[string]func(io.Writer, uint32){
			"instead of an answer": func(w io.Writer, stream uint32) { writeReset(w, stream, code) },
			"in the body":          func(w io.Writer, stream uint32) { writeOK(w, stream); writeReset(w, stream, code) },
		} {
			if code == h2NoError && name == "in the body" {
				continue // an answer that ends early on purpose: no error
			}
			err := fetchH2(t, serveH2(t, answer))
			var se streamError
			require.ErrorAs(t, err, &se, "%v", err)
			require.Equal(t, code, se.Code)
			check(t, err, want)
			check(t, get(err), want)
		}
	}
}

func TestRealHTTP2GoAway(t *testing.T) {
	for _, code := range []h2Code{h2NoError, h2InternalError, h2EnhanceYourCalm} {
		for name, answer := range map[string]func(io.Writer, uint32){
			"instead of an answer": func(w io.Writer, stream uint32) { writeGoAway(w, stream, code, "") },
			"in the body":          func(w io.Writer, stream uint32) { writeOK(w, stream); writeGoAway(w, stream, code, "REFUSED_STREAM") },
		} {
			err := fetchH2(t, serveH2(t, answer))
			require.ErrorContains(t, err, "GOAWAY", name)
			check(t, err, classify.Verdict{Class: transient, Rule: classify.RuleGoAway})
		}
	}
}

func TestRealHTTP2ConnectionCut(t *testing.T) {
	err := fetchH2(t, serveH2(t, writeOK)) // headers, then the end of the connection
	check(t, err, classify.Verdict{Class: transient, Rule: classify.RuleEOF})
}

func TestRealHTTP2ConnectionError(t *testing.T) {
	// DATA on stream 0 breaks the protocol: the client ends the connection.
	err := fetchH2(t, serveH2(t, func(w io.Writer, _ uint32) { writeFrame(w, 0, 0, 0, []byte("x")) }))
	check(t, err, classify.Verdict{Rule: classify.RuleStreamReset})
}

func TestLookalikeOfAStreamErrorIsNone(t *testing.T) {
	// Neither the shape nor the name makes it one: the package does.
	assert.Equal(t, classify.Verdict{}, classify.Default.ExplainError(streamError{Code: h2RefusedStream}))
	assert.Equal(t, classify.Verdict{}, classify.Default.ExplainError(StreamError{Code: h2RefusedStream}))
	assert.Equal(t, classify.Verdict{}, classify.Default.ExplainError(GoAwayError{}))
}

type (
	StreamError streamError
	GoAwayError struct{}
)

func (StreamError) Error() string { panic("Error was called") }
func (GoAwayError) Error() string { panic("Error was called") }
