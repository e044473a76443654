package drive

import (
	"bytes"
	"io"
	"net/http"
	"time"

	"github.com/reprise-go/reprise/cmd/reprise/internal/record"
)

// wholeLimit is the longest body that is read within the attempt.
const wholeLimit = 64 << 10

// trace is what the worker's present call has come to: its attempts and the
// engine's decisions about them. Only the worker's own goroutine touches it.
type trace struct {
	attempts int
	service  time.Duration // of the last attempt
	// ready is when the next attempt could be sent if the limiter let it: at
	// once, or after its backoff.
	ready   time.Time
	granted bool // a retry is granted and not yet sent
}

// base is the transport beneath a worker's httpretry: one RoundTrip is one
// attempt.
type base struct {
	next     http.RoundTripper
	recorder *record.Recorder
	trace    *trace
	limited  bool // attempts wait for the limiter
}

func (b *base) RoundTrip(req *http.Request) (*http.Response, error) {
	b.recorder.Attempt()
	start := time.Now()
	if b.limited {
		b.recorder.Waited(start.Sub(b.trace.ready))
	}
	resp, err := roundTripWhole(b.next, req)
	b.trace.attempts++
	b.trace.granted = false
	b.trace.service = time.Since(start)
	if err == nil {
		b.recorder.Answer()
	}
	return resp, err
}

// roundTripWhole is a RoundTrip that fails if the answer does not arrive whole.
// A body longer than wholeLimit is left to the reader after its first part.
func roundTripWhole(next http.RoundTripper, req *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	size := resp.ContentLength
	if size < 0 || size > wholeLimit {
		size = 512
	}
	buffer := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	read, err := io.CopyN(buffer, resp.Body, wholeLimit)
	switch {
	case err == io.EOF: // the whole of it
		_ = resp.Body.Close()
		resp.Body = io.NopCloser(buffer)
	case err != nil:
		_ = resp.Body.Close()
		return nil, err
	case read == wholeLimit:
		rest := resp.Body
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(buffer, rest), rest}
	}
	return resp, nil
}
