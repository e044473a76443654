package engine

import (
	"time"

	"github.com/reprise-go/reprise/atomicbucket"
	"github.com/reprise-go/reprise/internal/atomic"
)

// member is one key's engine in a [Group], and what the engine owns: one
// allocation of 320 bytes, so that a million keys fit. What a look-up and a
// success read lies together in front; the counters, which failures write, lie
// on lines of their own.
type member struct {
	// mark is whether the engine was looked up lately.
	//
	//	bits 63..2  since  nanoseconds, by the group's anchor, at which a sweep
	//	                   cleared the mark last, at least 1; 0: none has yet
	//	bits 1..0   state  fresh, referenced, idle, gone
	// Invariant: gone is final, and then the engine leaves the map and its slot
	//            is another's.
	// Writers:   a look-up CASes fresh or idle to referenced; a sweep CASes fresh
	//            or referenced to idle, with the present time, and idle to gone.
	//            A lost CAS of a look-up: look again; of a sweep: somebody cared
	//            for this engine, so it stays.
	// Ordering:  a look-up that leaves it referenced comes before the sweep that
	//            clears it, so what a sweep finds idle nobody has been given
	//            since.
	// Overflow:  since is clamped to 1..2^61, 73 years.
	mark atomic.Uint64

	engine Engine
	key    any // as the map holds it

	quota  atomicbucket.Bucket
	counts counters
}

// The states of a mark.
const (
	fresh      uint64 = iota // in the map, and not given out yet
	referenced               // looked up since the last sweep: a look-up writes nothing
	idle                     // not looked up since
	gone                     // dropped

	stateBits = 3
	sinceBits = 2
)

const (
	// restNanos is how long an engine that equals a new one must not have been
	// looked up before its place may go to another key. It is not 0, because the
	// calls under way go on with the old engine: were a key's engine dropped
	// between each of its calls and the next, no quota would ever bind.
	restNanos = int64(10 * time.Second)
	// idleNanos is the same for an engine whose quota is not full or that was
	// throttled in adaptive mode. It is not forever, because a quota comes back
	// by successes alone: keys that fail and are never asked for again would keep
	// their places for good.
	idleNanos = int64(5 * time.Minute)
	// calmNanos is how long a sweep leaves a mark alone that was cleared and set
	// again: whoever floods a full group with new keys shall not make every
	// look-up of a hot key write.
	calmNanos = int64(time.Second)
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
		if m.mark.CompareAndSwap(word, word&^stateBits|referenced) {
			return true
		}
	}
}

// age is what a sweep does to a mark that it has read: it clears one that is set,
// and says how long one that is clear has been so. Not above 0 is no time, also
// where the clock went back.
func (m *member) age(word uint64, nowNanos int64) (restedNanos int64) {
	since := int64(word >> sinceBits)
	switch word & stateBits {
	case fresh, referenced:
		if since == 0 || nowNanos-since >= calmNanos {
			m.mark.CompareAndSwap(word, uint64(min(max(nowNanos, 1), 1<<61))<<sinceBits|idle)
		}
	case idle:
		return nowNanos - since
	}
	return 0
}

// equalsNew reports whether m's engine is what a new one would be, but for its
// counts and what an untroubled limiter has measured.
func (m *member) equalsNew() bool {
	return m.quota.Full() && (m.engine.limiter == nil || !m.engine.limiter.Enabled())
}
