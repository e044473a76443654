package httpretry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/reprise-go/reprise/engine"
)

// keptBody is a request body that can be read only once, kept while it is read
// so that it can be sent again. Nothing is read before the base asks for it. An
// attempt reads what its predecessors have read and then goes on with the
// source. When more than limit bytes have been read, what was kept is dropped,
// and the rest goes straight to the attempt that reads it, which is then the
// last.
//
// A base may go on reading the body of an attempt after its RoundTrip has
// returned, and may wait, in Close or in RoundTrip, for such a read to end. So
// each attempt has a body of its own, whose Close ends its Read at once without
// harm to the source, which the next attempt needs: while the body is kept, a
// goroutine reads the source, and attempts wait for it or for their own end.
type keptBody struct {
	limit  int  // bytes
	long   bool // it said that it is longer: keep nothing
	size   int  // as it said; 0 if it did not
	source io.ReadCloser

	// mu is held for moments, and never while the source is read.
	mu     sync.Mutex
	latest *attemptBody // the attempt under way; nil between attempts
	// bytes is what was read from the source, until it is dropped: at most limit
	// bytes and what one Read gave.
	bytes    []byte
	reading  bool          // a goroutine reads the source into bytes
	progress chan struct{} // closed when it has
	lost     bool          // more than limit bytes were read and nothing is kept
	ended    error         // what the source ended with
	over     bool          // there will be no further attempt
	closed   bool          // the source is, or is about to be
}

// keep returns the body of req, of which limit bytes are kept; nothing is of a
// body that says that it is longer.
func keep(req *http.Request, limit int) *keptBody {
	k := &keptBody{limit: limit, source: req.Body}
	if k.long = req.ContentLength > int64(limit); !k.long {
		k.size = int(max(req.ContentLength, 0))
	}
	return k
}

// attemptBody is a keptBody as one attempt sees it.
type attemptBody struct {
	kept    *keptBody
	ctx     context.Context // the attempt's: net/http waits for a Read without looking at it
	attempt int             // whose it is, from 1
	off     int             // bytes that it has read; not counted once they are lost
	over    bool            // closed, or no longer the latest
	done    chan struct{}   // closed when over is set
}

var errRetired = errors.New("reprise/httpretry: this attempt's body is closed, or the next attempt's by now")

// open returns the body of attempt n, which is the latest from now on.
func (k *keptBody) open(ctx context.Context, n int) *attemptBody {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.openLocked(ctx, n)
}

func (k *keptBody) openLocked(ctx context.Context, n int) *attemptBody {
	k.retire()
	k.latest = &attemptBody{kept: k, ctx: ctx, attempt: n, done: make(chan struct{})}
	return k.latest
}

// retire ends the latest attempt's reading; under mu.
func (k *keptBody) retire() {
	if k.latest != nil {
		k.latest.finish()
		k.latest = nil
	}
}

// reopen is the GetBody of an attempt: net/http's transport sends a request
// again by itself if the connection that it took turned out to be dead.
func (b *attemptBody) reopen() (io.ReadCloser, error) {
	k := b.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	switch why := k.unreplayable().(type) {
	case nil:
	case *bodyTooLongError:
		return nil, &unsentAgainError{why}
	default:
		return nil, why
	}
	if k.closed || k.latest == nil || k.latest.attempt != b.attempt {
		return nil, errRetired
	}
	return k.openLocked(b.ctx, b.attempt), nil
}

// unreplayable says why the body cannot be sent again, or nil; under mu.
func (k *keptBody) unreplayable() error {
	if k.ended != nil && k.ended != io.EOF {
		return &bodyFailedError{k.ended}
	}
	if k.lost || len(k.bytes) > k.limit {
		return &bodyTooLongError{k.limit}
	}
	return nil
}

// decide asks the engine about a failed attempt. It does so while nobody can
// drop what is kept, so that a retry that is granted has its body; if none is
// granted, the base may go on sending what it sends.
func (k *keptBody) decide(ctx context.Context, c *engine.Call, o engine.Outcome) (engine.Decision, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	why := k.unreplayable()
	o.NotReplayable = why != nil
	d := c.FailIn(ctx, o)
	if d.Reason == engine.ReasonRetry {
		k.retire()
	}
	return d, why
}

// end says that there will be no further attempt. The source is closed when
// the latest is; now, if idle says that none is under way.
func (k *keptBody) end(idle bool) {
	k.mu.Lock()
	k.over = true
	if idle {
		k.retire()
	}
	_ = k.unlockAndClose(k.latest == nil || k.latest.over)
}

// unlockAndClose gives up mu and, the first time that it is wanted, closes the
// source.
func (k *keptBody) unlockAndClose(wanted bool) error {
	first := wanted && !k.closed
	k.closed = k.closed || wanted
	k.mu.Unlock()
	if first {
		return k.source.Close()
	}
	return nil
}

func (b *attemptBody) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	k := b.kept
	for {
		k.mu.Lock()
		if b.over {
			k.mu.Unlock()
			return 0, errRetired
		}
		if b.off < len(k.bytes) {
			n := copy(p, k.bytes[b.off:])
			b.off += n
			k.mu.Unlock()
			return n, nil
		}
		if err := k.ended; err != nil {
			k.mu.Unlock()
			return 0, err
		}
		if k.long || len(k.bytes) > k.limit {
			k.lost, k.bytes = true, nil
		}
		if k.lost {
			k.mu.Unlock()
			return k.readThrough(p)
		}
		if !k.reading {
			k.reading, k.progress = true, make(chan struct{})
			go k.readMore(k.bytes)
		}
		progress := k.progress
		k.mu.Unlock()
		select {
		case <-progress:
		case <-b.done:
		case <-b.ctx.Done():
			return 0, context.Cause(b.ctx)
		}
	}
}

// readThrough reads the source for the last attempt, whose Close closes it.
func (k *keptBody) readThrough(p []byte) (int, error) {
	n, err := k.source.Read(p)
	if err != nil {
		k.mu.Lock()
		k.ended = err
		k.mu.Unlock()
	}
	return n, err
}

// firstRead is how much room there is for the first of a body of unknown
// length.
const firstRead = 4 << 10

// readMore reads the source into the room behind kept, which is what there is;
// others read below it meanwhile.
func (k *keptBody) readMore(kept []byte) {
	if len(kept) == cap(kept) {
		room := max(firstRead, len(kept))
		if kept == nil && k.size > 0 {
			room = k.size + 1 // one more, to see the end
		}
		kept = slices.Grow(kept, room)
	}
	n, err := k.source.Read(kept[len(kept):cap(kept)])

	k.mu.Lock()
	k.bytes, k.ended, k.reading = kept[:len(kept)+n], err, false
	close(k.progress)
	k.mu.Unlock()
}

// finish ends the attempt's reading; under kept.mu.
func (b *attemptBody) finish() {
	if !b.over {
		b.over = true
		close(b.done)
	}
}

// Close ends this attempt's reading and, if it is the last one's, closes the
// source.
func (b *attemptBody) Close() error {
	k := b.kept
	k.mu.Lock()
	b.finish()
	return k.unlockAndClose(k.latest == b && (k.over || k.lost))
}
