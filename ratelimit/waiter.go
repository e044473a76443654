package ratelimit

import (
	"math"
	"time"

	"github.com/reprise-go/reprise/internal/atomic"
	"github.com/reprise-go/reprise/internal/pad"
)

// Waiter is a place in the line of those who wait for a token. It takes nothing
// while it waits: the token is paid when [Waiter.AdmitAt] admits (R8.1). The
// zero Waiter is never admitted. Copies are the same place.
//
// The caller's loop, in which every exit but an admission leaves:
//
//	w := l.Wait()
//	defer w.Leave()
//	for {
//		wait, ok := w.AdmitAt(time.Now())
//		if ok {
//			return nil // send now
//		}
//		// too long for the deadline? return: Leave gives up the place
//		timer.Reset(wait)
//		select {
//		case <-timer.C:
//		case <-w.Turn():
//		case <-ctx.Done():
//			return context.Cause(ctx)
//		}
//	}
//
// A caller that can only sleep may leave Turn out: it is then served when its
// wait is over, and others with it.
type Waiter struct {
	l     *Limiter
	place *place
}

// Wait takes the next place in the line. Call it when Acquire has refused; every
// place must end in an admission or in [Waiter.Leave], because those behind wait
// for it. Lock-free, reads no clock, allocates the place.
func (l *Limiter) Wait() Waiter {
	at := &place{turn: make(chan struct{})}
	l.queue.join(&node{place: at})
	return Waiter{l: l, place: at}
}

// AdmitAt asks to send one attempt, at most one for each place. true admits: the
// token is taken, the place given up, the next in line called. false refuses,
// takes nothing, and wait is the time until the turn comes at the present rate,
// those in front served first; it is what a deadline is compared with, and when
// to ask again. Cancelled places in front may make it too long, never too
// short.
//
// The first in line needs a token; the others need one for each in front as
// well, or a full bucket, so that no token is lost to a caller who is slow to
// wake. Lock-free; never blocks, reads no clock.
func (w Waiter) AdmitAt(now time.Time) (wait time.Duration, ok bool) {
	if w.place == nil || w.place.state.Load() == gone {
		return math.MaxInt64, false
	}
	return w.AdmitNanos(w.l.anchor.Nanos(now))
}

// AdmitNanos is [Waiter.AdmitAt] for a count of nanoseconds.
func (w Waiter) AdmitNanos(nowNanos int64) (wait time.Duration, ok bool) {
	if w.place == nil || w.place.state.Load() == gone {
		return math.MaxInt64, false
	}
	if w.l.gate.enabled() {
		wait, _ = w.l.take(nowNanos, ticksPerToken, w.l.queue.ahead(w.place), true)
	}
	if wait != 0 {
		return wait, false
	}
	w.Leave()
	return 0, true
}

// Turn returns a channel that is closed when the place has become the first in
// line: time to ask again, since the wait may have become shorter. A nil channel
// for the zero Waiter.
func (w Waiter) Turn() <-chan struct{} {
	if w.place == nil {
		return nil
	}
	return w.place.turn
}

// Leave gives up the place and calls the next in line. Nothing else remains of
// it, and nothing was taken. After an admission, or a second time, it does
// nothing. Lock-free.
func (w Waiter) Leave() {
	if w.place != nil && w.place.state.Swap(gone) != gone {
		w.l.queue.left()
	}
}

// node links a place into the line. It is not the place, so that who keeps a Waiter
// does not keep all that came behind it.
type node struct {
	*place

	// next is the place behind, or one further back with none but gone ones
	// between; nil while there is none.
	//
	// Writers:  the join that takes that place, by a CAS from nil; then sweep, by a
	//           CAS to a later one. A lost CAS means that another joined or swept.
	// Ordering: publishes that node. Whoever stands at a node that was swept out of
	//           the line still finds all that is behind it.
	next atomic.Pointer[node]
}

// place is a place in the line.
type place struct {
	// ticket is the place's number: one more than that of the place in front.
	// Written by join before the node is linked.
	ticket int64

	// state is where the place is in its life.
	//
	//	0 waiting, 1 called (first in line), 2 gone
	// Invariant: never decreases; turn is closed by who moves it from 0 to 1,
	//            so at most once.
	// Writers:   call CASes 0 to 1, a lost CAS means that another called it or
	//            that it is gone; Leave swaps in 2.
	// Ordering:  gone is stored before Leave looks for the next in line.
	state atomic.Int32
	turn  chan struct{}
}

const (
	called int32 = 1
	gone   int32 = 2
)

// queue is the line: a linked list whose head is the last place known to be
// gone, and whose tail is at or near the end.
type queue struct {
	// waiting is the number of places that are not gone.
	//
	//	bits 63..0  places, >= 0
	// Writers:   join adds 1 before the place can be called, left takes 1 off.
	// Ordering:  publishes nothing; admissions outside the line read it as a
	//            hint of how many tokens to leave.
	// Overflow:  a place is memory.
	waiting atomic.Int64
	_       [pad.CacheLine - 8]byte

	// head is a gone place; the first in line is the first after it that is not
	// gone. Writers: call, by a CAS to the next place when that is gone too.
	head atomic.Pointer[node]
	// tail is the last place or one in front of it, which may have been swept out of
	// the line. Writers: join, by a CAS forward along next; a lost CAS means that
	// another moved it.
	tail atomic.Pointer[node]

	// leaves is how many places were given up or served since the last sweep, about.
	// Writers: left adds one, and sets 0 by a CAS if it sweeps; a lost CAS means that
	// another left, who looks too. Ordering: publishes nothing.
	leaves atomic.Uint32
	_      [4]byte
}

// sweepAfter is how many places leave, at the least, before a sweep.
const sweepAfter = 64

func (q *queue) init() {
	first := &node{place: new(place)}
	first.state.Store(gone)
	q.head.Store(first)
	q.tail.Store(first)
}

// join links n behind the last place. It ends: a failed CAS on next means that
// another joined. The zero Limiter has no line, since it makes nobody wait.
func (q *queue) join(n *node) {
	q.waiting.Add(1)
	for {
		last := q.tail.Load()
		if last == nil {
			return
		}
		if behind := last.next.Load(); behind != nil {
			q.tail.CompareAndSwap(last, behind)
			continue
		}
		n.ticket = last.ticket + 1
		if last.next.CompareAndSwap(nil, n) {
			q.tail.CompareAndSwap(last, n)
			break
		}
	}
	q.call()
}

// left calls the next in line. Those who gave up behind somebody who still waits
// stay in the list; when they may be the most of it they are swept out, so that a
// sweep costs each of them a few steps.
func (q *queue) left() {
	waiting := q.waiting.Add(-1)
	q.call()
	leaves := q.leaves.Inc()
	if leaves >= sweepAfter && int64(leaves) >= 2*waiting && q.leaves.CompareAndSwap(leaves, 0) {
		q.sweep()
	}
}

// sweep links each place that is not gone to the next that is not. The last place
// stays, since whoever joins links to it. Others may join, call and sweep meanwhile:
// a node that has left the list leads back into it, to a place no further back than
// the next that is not gone. It ends: each step passes a place, and another's sweep
// only makes the way shorter.
func (q *queue) sweep() {
	for n := q.head.Load(); n != nil; {
		next := n.next.Load()
		behind := next
		for behind != nil && behind.state.Load() == gone {
			further := behind.next.Load()
			if further == nil {
				break
			}
			behind = further
		}
		if behind != next {
			n.next.CompareAndSwap(next, behind)
		}
		n = behind
	}
}

// call tells the first in line that it is. Every join and every Leave calls it
// after its own change, so whichever of two comes second sees both. It ends:
// each step passes a place that is gone for good.
func (q *queue) call() {
	for {
		h := q.head.Load()
		if h == nil {
			return
		}
		n := h.next.Load()
		if n == nil {
			return
		}
		if n.state.Load() == gone {
			q.head.CompareAndSwap(h, n)
			continue
		}
		if n.state.CompareAndSwap(0, called) {
			close(n.turn)
		}
		if n.state.Load() != gone {
			return
		}
	}
}

// ahead returns how many places are in front of p, or more: gone places that
// the head has not passed count, and so do places behind, whichever is less.
func (q *queue) ahead(p *place) int64 {
	if p.state.Load() == called {
		return 0
	}
	front := p.ticket - q.head.Load().ticket - 1
	return max(min(front, q.waiting.Load()-1), 1)
}
