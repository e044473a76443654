package engine

import (
	"time"

	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/atomicbucket"
)

// member is one key's engine in a [Group], and what the engine owns: one
// allocation of 320 bytes, so that a million keys fit. What a look-up and a
// success read lies together in front; the counters, which failures write, lie
// on lines of their own.
type member struct {
	// mark is whether the engine was looked up lately.
	//
	//	bits 63..2  since  nanoseconds, by the group's anchor, at which a sweep
	//	                   found it referenced last; 0 but in idle
	//	bits 1..0   state  fresh, referenced, idle, gone
	// Invariant: gone is final, and then the engine leaves the map and its slot
	//            is another's.
	// Writers:   a look-up CASes fresh or idle to referenced; a sweep CASes
	//            referenced to idle with the present time, and idle to gone. A
	//            lost CAS of a look-up: look again; of a sweep: somebody cared
	//            for this engine, so it stays.
	// Ordering:  a look-up that leaves it referenced comes before the sweep that
	//            clears it, so what a sweep finds idle nobody has been given
	//            since.
	// Overflow:  since is clamped to 0..2^61, 73 years.
	mark atomic.Uint64

	engine Engine
	key    any // as the map holds it

	quota  atomicbucket.Bucket
	counts counters
}

// The states of a mark. To be referenced is a constant, so that the look-up of a
// hot key is a comparison.
const (
	// fresh: in the map, and nobody has compared its settings with the group's
	// since. Whoever finds it so must, before the engine is given out.
	fresh uint64 = iota
	referenced
	idle
	gone

	stateBits = 3
	sinceBits = 2
)

const (
	// restNanos is how long an engine that equals a new one must not have been
	// looked up before its place may go to another key. It is not 0, because the
	// calls under way go on with the old engine: were a key's engine dropped
	// between each of its calls and the next, no quota would ever bind.
	restNanos = int64(10 * time.Second)
	// idleNanos is the same for an engine whose quota is not full or whose
	// limiter has learned something. It is not forever, because a quota comes
	// back by successes alone: keys that fail and are never asked for again
	// would keep their places for good.
	idleNanos = int64(5 * time.Minute)
)

func newMember(key any, p *policy) *member {
	m := &member{key: key}
	m.engine.begins(p, &m.quota, &m.counts)
	return m
}

// touch marks m as referenced and reports whether it still counts. Lock-free: a
// lost CAS means that another look-up marked it or a sweep went on.
func (m *member) touch() bool {
	for {
		word := m.mark.Load()
		switch word & stateBits {
		case referenced:
			return true
		case gone:
			return false
		}
		if m.mark.CompareAndSwap(word, referenced) {
			return true
		}
	}
}

// equalsNew reports whether m's engine is what a new one would be, but for its
// counts and what an untroubled limiter has measured.
func (m *member) equalsNew() bool {
	return m.quota.Full() && !m.engine.limiter.Enabled()
}

func idleSince(nowNanos int64) uint64 {
	return uint64(min(max(nowNanos, 0), 1<<61))<<sinceBits | idle
}

// restedNanos is how long an idle mark has been so; not above 0 if the clock
// went back.
func restedNanos(word uint64, nowNanos int64) int64 {
	return nowNanos - int64(word>>sinceBits)
}
