package fasthttpretry

import (
	"errors"
	"io"
	"time"

	"github.com/valyala/fasthttp"
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/internal/mono"
)

// idle are the connections that the client beneath keeps and does not use. A
// server that restarts, or does not keep them for as long, ends them all; without
// this each would cost an attempt, and three of them a call.
type idle struct {
	// nextNanos is when a dead connection may make us close the idle ones again.
	//   bits 63..0  time  ns since anchor; 0: at once
	// Invariant: never goes back; between two closings lies dropEvery.
	// Writers:   drop, by one CAS; a lost CAS means that another call has
	//            just begun to close them.
	// Ordering:  publishes nothing.
	// Overflow:  292 years after the anchor.
	nextNanos atomic.Int64
	clients   []idleCloser
	anchor    mono.Anchor
}

type idleCloser interface{ CloseIdleConnections() }

// dropEvery is in the interest of the other hosts of a client that has several:
// it cannot be told whose connections to close.
const dropEvery = time.Second

// idleOf returns what keeps connections beneath. Of fasthttp's own clients a
// PipelineClient does not let them be closed, and an LBClient only one by one.
func idleOf(client any) []idleCloser {
	switch c := client.(type) {
	case idleCloser:
		return []idleCloser{c}
	case *fasthttp.LBClient:
		var all []idleCloser
		for _, balanced := range c.Clients {
			all = append(all, idleOf(balanced)...)
		}
		return all
	}
	return nil
}

func (i *idle) close() {
	for _, c := range i.clients {
		c.CloseIdleConnections()
	}
}

// drop closes the idle connections because one was dead, unless that was done
// less than dropEvery ago. Reads the clock if there is anything to close.
func (i *idle) drop() {
	if len(i.clients) == 0 {
		return
	}
	next, now := i.nextNanos.Load(), i.anchor.Now()
	if now >= next && i.nextNanos.CompareAndSwap(next, now+int64(dropEvery)) {
		i.close()
	}
}

// diedIdle reports whether an attempt may have failed because its connection had
// ended before: there was no beginning of an answer.
func (f *failure) diedIdle() bool {
	return f.err != nil && !f.verdict.NeverSent && !errors.Is(f.err, io.ErrUnexpectedEOF) &&
		(f.verdict.Rule == classify.RuleEOF || f.verdict.Rule == classify.RuleReset)
}
