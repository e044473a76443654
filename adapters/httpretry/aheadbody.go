package httpretry

import (
	"context"
	"io"
	"maps"
	"net/http"
	"time"

	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/internal/answer"
)

const (
	// peekLimit is how much of a failed response's body is read to find the
	// error code in it, in bytes.
	peekLimit = answer.PeekLimit
	// drainLimit is how much of a body that nobody will read is read all the
	// same, to get its connection back.
	drainLimit = 64 << 10
	// bodyPatience is how long each of the two may take; what came until then
	// counts.
	bodyPatience = time.Second
)

// aheadBody is the body of a failed response whose beginning has been read
// ahead by a goroutine of its own, so that a server which sends slowly delays
// nobody for longer than bodyPatience. To its reader it is the body, byte for
// byte, and ends as that ended.
type aheadBody struct {
	source io.ReadCloser
	buffer []byte

	// from is the base's response, to the caller's. net/http fills in the
	// trailer of from when a read of source meets the end, be it the goroutine's
	// read; the caller's changes when the caller's own Read meets it.
	from, to *http.Response

	// filled is how many bytes of buffer there are. Written by fill alone, and
	// it only grows; a reader that sees it sees the bytes below it.
	filled  atomic.Int32
	enough  atomic.Bool   // fill is to stop at its next step
	stopped chan struct{} // closed when fill has stopped
	failed  error         // what the source ended with; after stopped
	closed  atomic.Bool

	off int // bytes that the reader has taken
}

// newAheadBody returns the body of a copy of resp, which is its field to.
func newAheadBody(resp *http.Response, limit int) *aheadBody {
	own := *resp
	own.Trailer = maps.Clone(resp.Trailer)
	b := &aheadBody{source: resp.Body, buffer: make([]byte, limit), stopped: make(chan struct{}), from: resp, to: &own}
	own.Body = b
	return b
}

// readAhead starts to read resp's body, and returns when limit bytes of it are
// there, or all of it, or ctx or the patience is at an end.
func readAhead(ctx context.Context, resp *http.Response, limit int) *aheadBody {
	b := newAheadBody(resp, limit)
	ctx, cancel := context.WithTimeout(ctx, bodyPatience)
	defer cancel()
	go b.fill()
	select {
	case <-b.stopped:
	case <-ctx.Done():
		b.enough.Store(true)
	}
	return b
}

// maxIdleReads is how often a source may return nothing before it counts as
// stuck.
const maxIdleReads = 100

func (b *aheadBody) fill() {
	defer close(b.stopped)
	idle := 0
	for n := 0; n < len(b.buffer) && idle < maxIdleReads && !b.enough.Load(); {
		m, err := b.source.Read(b.buffer[n:])
		n += m
		b.filled.Store(int32(n))
		if err != nil {
			b.failed = err
			return
		}
		if idle++; m > 0 {
			idle = 0
		}
	}
}

// start returns what has been read ahead.
func (b *aheadBody) start() []byte { return b.buffer[:b.filled.Load()] }

// complete reports whether all that was asked for has been read, or all there
// is.
func (b *aheadBody) complete() bool {
	select {
	case <-b.stopped:
		return b.failed == io.EOF || len(b.start()) == len(b.buffer)
	default:
		return false
	}
}

// more reports whether a reader would find more of the source without having to
// wait for a server that has just kept us waiting.
func (b *aheadBody) more() bool {
	select {
	case <-b.stopped:
		return b.failed == nil
	default:
		return false
	}
}

func (b *aheadBody) Read(p []byte) (int, error) {
	if b.closed.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	if len(p) == 0 {
		return 0, nil
	}
	if n := b.take(p); n > 0 {
		return n, nil
	}
	<-b.stopped // fill may be in its last Read, as the reader now would be
	if n := b.take(p); n > 0 {
		return n, nil
	}
	n, err := 0, b.failed
	if err == nil {
		n, err = b.source.Read(p)
	}
	if err == io.EOF {
		b.to.Trailer = b.from.Trailer
	}
	return n, err
}

func (b *aheadBody) take(p []byte) int {
	n := copy(p, b.start()[b.off:])
	b.off += n
	return n
}

func (b *aheadBody) Close() error {
	b.closed.Store(true)
	return b.source.Close()
}

// discard reads what is left of a response that nobody will read, within
// bounds, so that its connection can be used again, and closes it.
func discard(ctx context.Context, resp *http.Response) {
	body := bodyOf(resp)
	if drainable(resp) {
		ctx, cancel := context.WithTimeout(ctx, bodyPatience)
		defer cancel()
		drained := make(chan struct{})
		go func() {
			_, _ = io.CopyN(io.Discard, body, drainLimit)
			close(drained)
		}()
		select {
		case <-drained:
		case <-ctx.Done():
		}
	}
	_ = body.Close()
}

// hold is discard for a response that may yet be the call's: its body is read ahead
// within bounds, so that its connection can be used again, and is there to be read. A
// longer one keeps its connection.
func hold(ctx context.Context, resp *http.Response) *http.Response {
	if !drainable(resp) {
		return resp
	}
	limit := peekLimit // bytes, which wait with the call
	if resp.ContentLength > 0 {
		limit = int(resp.ContentLength) + 1 // one more, to see the end
	}
	return readAhead(ctx, resp, limit).to
}

// letGo is discard after hold, for a caller who must not wait any more.
func letGo(ctx context.Context, resp *http.Response) {
	if drainable(resp) {
		go discard(ctx, resp)
		return
	}
	_ = bodyOf(resp).Close()
}

// drainable reports whether to read on in a body may bring its connection back.
func drainable(resp *http.Response) bool {
	body := bodyOf(resp)
	ahead, _ := body.(*aheadBody)
	return body != http.NoBody && resp.ContentLength != 0 && resp.ContentLength <= drainLimit && (ahead == nil || ahead.more())
}
