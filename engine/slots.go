package engine

import (
	"github.com/reprise-go/reprise/internal/atomic"
)

const (
	// chunkSlots is how many slots are allocated together: 4 KiB.
	chunkSlots = 512
	// maxLooks bounds what one search for a place looks at, whatever the limit.
	maxLooks = 64
	// strideSlots is how far the hand moves at once, so that those who search
	// together write its word less often than they look at slots.
	strideSlots = 8

	maxLimit = 1 << 26
)

// slots are the places of a [Group]'s engines: as many as the group may hold.
// Who owns a slot may put one engine into the map; so there are never more
// engines than slots, whoever races.
//
// A slot is owned by whoever took it until put, then by the member in it, and by
// whoever retires that member from then on. One that turns out not to be needed
// goes back with free.
type slots struct {
	// hand is where the next search for a place begins: slot hand mod limit.
	// Writers add strideSlots; it publishes nothing and wraps harmlessly.
	hand atomic.Uint64
	// used is how many slots have ever been taken, 0..limit: those above are
	// free. Writers CAS it up by one; a lost CAS means that another took one.
	used atomic.Int64
	// spares are the slots that were given back. Writers CAS one on or off; a
	// lost CAS means that another did. A node is never pushed twice, so a CAS
	// cannot mistake an old top for a new one.
	spares atomic.Pointer[spare]

	limit  int
	chunks []atomic.Pointer[chunk] // allocated when their first slot is put
}

type chunk [chunkSlots]atomic.Pointer[member]

type spare struct {
	slot int
	next *spare
}

func (s *slots) init(limit int) {
	s.limit = limit
	s.chunks = make([]atomic.Pointer[chunk], (limit+chunkSlots-1)/chunkSlots)
}

// take takes a slot that nobody owns, if there is one. Lock-free.
func (s *slots) take() (slot int, ok bool) {
	for top := s.spares.Load(); top != nil; top = s.spares.Load() {
		if s.spares.CompareAndSwap(top, top.next) {
			return top.slot, true
		}
	}
	for used := s.used.Load(); used < int64(s.limit); used = s.used.Load() {
		if s.used.CompareAndSwap(used, used+1) {
			return int(used), true
		}
	}
	return 0, false
}

// free gives an empty slot back. Lock-free.
func (s *slots) free(slot int) {
	node := &spare{slot: slot}
	for {
		node.next = s.spares.Load()
		if s.spares.CompareAndSwap(node.next, node) {
			return
		}
	}
}

// put puts a member into its slot, where searches find it. Wait-free.
func (s *slots) put(slot int, m *member) {
	c := &s.chunks[slot/chunkSlots]
	if c.Load() == nil {
		c.CompareAndSwap(nil, new(chunk))
	}
	c.Load()[slot%chunkSlots].Store(m)
}

func (s *slots) at(slot int) *member {
	if c := s.chunks[slot/chunkSlots].Load(); c != nil {
		return c[slot%chunkSlots].Load()
	}
	return nil
}

// retire looks for a member whose slot another key may have, and makes it gone:
// the first that equals a new one and has rested, else the first that it saw
// and that was idle for long. It looks at no more than maxLooks, and marks as
// idle what it finds referenced. Lock-free: a lost CAS means that another cared
// for that member, and the search goes on.
func (s *slots) retire(nowNanos int64) (m *member, slot int, equal bool) {
	var (
		stale     *member
		staleWord uint64
		staleSlot int
	)
	looks := min(maxLooks, s.limit)
	for looked := 0; looked < looks; looked += strideSlots {
		from := s.hand.Add(strideSlots) - strideSlots
		for i := range min(strideSlots, looks-looked) {
			slot := int((from + uint64(i)) % uint64(s.limit))
			m := s.at(slot)
			if m == nil {
				continue
			}
			word := m.mark.Load()
			rested := m.age(word, nowNanos)
			switch {
			case rested < restNanos:
			case m.equalsNew():
				if m.mark.CompareAndSwap(word, gone) {
					return m, slot, true
				}
			case rested >= idleNanos && stale == nil:
				stale, staleWord, staleSlot = m, word, slot
			}
		}
	}
	if stale != nil && stale.mark.CompareAndSwap(staleWord, gone) {
		return stale, staleSlot, false
	}
	return nil, 0, false
}
