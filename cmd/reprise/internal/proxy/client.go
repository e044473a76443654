package proxy

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// clientWriter is the way to the client. Each write has its own time; a body may
// take as long as it likes while the client takes it.
type clientWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration
	renewed time.Time
	status  int // 0: no final one was written
	bytes   int64
	body    *clientBody // of the request; nil: none
}

// WriteHeader notes the final status. An answer that comes before the end of the
// request's body ends the connection: nobody knows where the next request would
// begin.
func (w *clientWriter) WriteHeader(status int) {
	if status >= 200 {
		w.status = status
		if w.body != nil && !w.body.whole.Load() {
			w.Header().Set("Connection", "close")
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *clientWriter) Write(p []byte) (int, error) {
	w.renew()
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// FlushError is what http.ResponseController looks for.
func (w *clientWriter) FlushError() error {
	w.renew()
	return w.control.Flush()
}

// Unwrap lets http.ResponseController take the connection over.
func (w *clientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// renew gives the next write its time. It is not called at the same time twice:
// ReverseProxy holds a lock around writes and flushes that may meet.
func (w *clientWriter) renew() {
	now := time.Now()
	if now.Sub(w.renewed) > w.limit/8 {
		_ = w.control.SetWriteDeadline(now.Add(w.limit))
		w.renewed = now
	}
}

// clientBody is what the client sends. Each read has its own time, and a failure
// is the client's and no failure of the upstream.
type clientBody struct {
	io.ReadCloser
	control *http.ResponseController
	limit   time.Duration
	ended   atomic.Bool // there is no more to read; written by the reader
	whole   atomic.Bool // it was read to its end; written by the reader
	over    atomic.Bool // the handler has returned: the deadline is the server's again

	// trailer is that of the request that is sent on, in which what follows the
	// body is entered when it is known; from is where it then is. ReverseProxy
	// copies only the names.
	trailer, from http.Header

	// until is when the read that is under way, or has failed, had to be over, in
	// nanoseconds since epoch; 0 if there is none. The reader alone writes it.
	until atomic.Int64
}

func (b *clientBody) Read(p []byte) (int, error) {
	if !b.ended.Load() && !b.over.Load() {
		now := time.Now()
		b.until.Store(int64(now.Add(b.limit).Sub(epoch)))
		_ = b.control.SetReadDeadline(now.Add(b.limit))
		if b.over.Load() { // ours may have replaced that of leave
			_ = b.control.SetReadDeadline(now.Add(lingerTime))
		}
	}
	n, err := b.ReadCloser.Read(p)
	if err == nil || err == io.EOF {
		b.until.Store(0)
	}
	if err != nil {
		b.ended.Store(true)
		if err == io.EOF {
			b.whole.Store(true)
			for name := range b.trailer {
				b.trailer[name] = b.from[name]
			}
		}
		if err != io.EOF {
			err = &clientError{err}
		}
	}
	return n, err
}

// Close leaves the body to the server, whose Close waits for a read that is under
// way, and so for the client.
func (b *clientBody) Close() error { return nil }

// interrupt ends a read that is under way: the call has ended, and net/http waits
// for its reads all the same.
func (b *clientBody) interrupt() {
	if !b.ended.Load() {
		_ = b.control.SetReadDeadline(epoch)
	}
}

// What a client still sends when its answer is there is read for so long, and so
// much of it: closing at once would destroy the answer on its way.
const (
	lingerTime  = 250 * time.Millisecond
	lingerBytes = 256 << 10
)

// leave is called when the handler returns. The server reads on for as long as the
// client likes, so we go first, within bounds.
func (b *clientBody) leave(w *clientWriter) {
	b.over.Store(true)
	if b.ended.Load() {
		return
	}
	_ = w.FlushError() // the client may wait for the answer
	_ = b.control.SetReadDeadline(time.Now().Add(lingerTime))
	_, _ = io.CopyN(io.Discard, b.ReadCloser, lingerBytes)
}

// stopped reports whether the client has kept us waiting for too long. net/http
// ends the request's context at once when a read fails, so this is known before the
// reader learns of it.
func (b *clientBody) stopped() bool {
	until := b.until.Load()
	return until != 0 && int64(time.Since(epoch)) >= until
}

// clientError is a request's body that broke off. It is not retried (R3.5):
// another attempt would have no more of it.
type clientError struct{ err error }

func (e *clientError) Error() string        { return "the client's body: " + e.err.Error() }
func (e *clientError) Unwrap() error        { return e.err }
func (e *clientError) RetryableError() bool { return false }
