package httpretry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"go.uber.org/atomic"

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
// returned. So each attempt has a body of its own, only the latest of which may
// begin a read of the source, and the source is closed when the call is over and
// the latest has been closed.
type keptBody struct {
	limit  int  // bytes
	long   bool // it said that it is longer: keep nothing
	source io.ReadCloser

	// bytes is what was read from the source, until it is dropped: at most limit
	// bytes and what one Read gave. The slice only grows, so what a reader has
	// loaded stays as it is. Written under reading.
	bytes atomic.Pointer[[]byte]

	// reading is held for as long as a read of the source takes, by the one who
	// reads; state for moments, to decide who that may be. reading comes first.
	reading sync.Mutex
	ended   error // what the source ended with; under reading

	state  sync.Mutex
	latest *attemptBody // the attempt under way; nil between attempts
	lost   bool         // more than limit bytes were read and nothing is kept
	over   bool         // there will be no further attempt
	closed bool         // the source is, or is about to be
	broken error        // what the source failed with
}

// keep returns the body of req, of which limit bytes are kept; nothing is of a
// body that says that it is longer.
func keep(req *http.Request, limit int) *keptBody {
	k := &keptBody{limit: limit, source: req.Body, long: req.ContentLength > int64(limit)}
	if !k.long && req.ContentLength > 0 {
		room := make([]byte, 0, req.ContentLength)
		k.bytes.Store(&room)
	}
	return k
}

// attemptBody is a keptBody as one attempt sees it.
type attemptBody struct {
	kept   *keptBody
	off    int  // bytes that this attempt has read; not counted once they are lost
	closed bool // under kept.state
}

var errRetired = errors.New("reprise/httpretry: this attempt's body is closed, or the next attempt's by now")

// open returns the body of a new attempt, which is the latest from now on.
func (k *keptBody) open() *attemptBody {
	b := &attemptBody{kept: k}
	k.state.Lock()
	k.latest = b
	k.state.Unlock()
	return b
}

// reopen is the GetBody of an attempt: net/http's transport sends a request
// again by itself if the connection that it took turned out to be dead.
func (k *keptBody) reopen() (io.ReadCloser, error) {
	k.state.Lock()
	defer k.state.Unlock()
	if why := k.unreplayable(); why != nil {
		return nil, why
	}
	if k.closed || k.latest == nil {
		return nil, errRetired
	}
	k.latest = &attemptBody{kept: k}
	return k.latest, nil
}

// unreplayable says why the body cannot be sent again, or nil; under state.
func (k *keptBody) unreplayable() error {
	if k.broken != nil {
		return &bodyFailedError{k.broken}
	}
	if k.lost || len(k.read()) > k.limit {
		return &bodyTooLongError{k.limit}
	}
	return nil
}

// decide asks the engine about a failed attempt. It does so while nobody can
// drop what is kept, so that a retry that is granted has its body; if none is
// granted, the base may go on sending what it sends.
func (k *keptBody) decide(ctx context.Context, c *engine.Call, o engine.Outcome) (engine.Decision, error) {
	k.state.Lock()
	defer k.state.Unlock()
	why := k.unreplayable()
	o.NotReplayable = why != nil
	d := c.FailIn(ctx, o)
	if d.Reason == engine.ReasonRetry {
		k.latest = nil
	}
	return d, why
}

// end says that there will be no further attempt. The source is closed when
// the latest is; now, if idle says that none is under way.
func (k *keptBody) end(idle bool) {
	k.state.Lock()
	k.over = true
	if idle {
		k.latest = nil
	}
	_ = k.unlockAndClose(k.latest == nil || k.latest.closed)
}

// unlockAndClose gives up state and, the first time that it is wanted, closes
// the source.
func (k *keptBody) unlockAndClose(wanted bool) error {
	first := wanted && !k.closed
	k.closed = k.closed || wanted
	k.state.Unlock()
	if first {
		return k.source.Close()
	}
	return nil
}

// read returns what has been read and is kept.
func (k *keptBody) read() []byte {
	if p := k.bytes.Load(); p != nil {
		return *p
	}
	return nil
}

func (b *attemptBody) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if n := b.copyKept(p); n > 0 {
		return n, nil
	}
	k := b.kept
	k.reading.Lock()
	defer k.reading.Unlock()
	if n := b.copyKept(p); n > 0 { // an earlier attempt was still reading
		return n, nil
	}
	lost, mine := k.mayRead(b)
	if !mine {
		return 0, errRetired
	}
	if k.ended != nil {
		return 0, k.ended
	}
	n, err := k.source.Read(p)
	if n > 0 && !lost {
		kept := append(k.read(), p[:n]...)
		k.bytes.Store(&kept)
		b.off += n
	}
	if err != nil {
		k.sourceEnded(err)
	}
	return n, err
}

// copyKept gives b the next of what is kept.
func (b *attemptBody) copyKept(p []byte) int {
	kept := b.kept.read()
	if b.off >= len(kept) {
		return 0
	}
	n := copy(p, kept[b.off:])
	b.off += n
	return n
}

// mayRead says whether the next bytes of the source are b's, and if so, whether
// they are lost to all others. It is the last look before the read: a retry that
// is granted during the read finds in bytes what the read gave.
func (k *keptBody) mayRead(b *attemptBody) (lost, mine bool) {
	k.state.Lock()
	defer k.state.Unlock()
	if k.latest != b || b.closed {
		return false, false
	}
	if !k.lost && (k.long || len(k.read()) > k.limit) {
		k.lost = true
		k.bytes.Store(nil)
	}
	return k.lost, true
}

// sourceEnded keeps what the source ended with; under reading.
func (k *keptBody) sourceEnded(err error) {
	k.ended = err
	if err != io.EOF {
		k.state.Lock()
		k.broken = err
		k.state.Unlock()
	}
}

// Close ends this attempt's reading and, if it is the last one's, closes the
// source.
func (b *attemptBody) Close() error {
	k := b.kept
	k.state.Lock()
	b.closed = true
	return k.unlockAndClose(k.over && k.latest == b)
}
