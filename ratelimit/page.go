package ratelimit

import (
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/internal/pad"
)

const (
	// records is how many snapshots a page holds: all that 4 bits can tell
	// apart, but for one, and 1,264 bytes with the header, a size class of 1,280.
	records = 15
	// lineBytes keeps the words off the line of the first record. Half of
	// pad.CacheLine: whoever reads the one reads the other as well.
	lineBytes = pad.CacheLine / 2
)

// page is a run of snapshots and the word that says which of them is the state.
// A page is filled once, never reused: the collector frees it when no reader
// holds it, which is why a CAS on its word cannot mistake an old state for a
// new one.
type page struct {
	// word is which snapshot counts and what was taken from it.
	//
	//	bits 63..60  index   record, 0..records-1
	//	bit  59      frozen  the page is used up; its successor begins here
	//	bits 58..0   used    ticks taken or spilled since the snapshot began
	// Invariant: used <= the snapshot's allowance at the latest now that an
	//            admitted caller gave; used never decreases while the index
	//            stays, and no index comes twice; frozen is final.
	// Writers:   an admission adds to used; a response publishes a record with
	//            used = 0; turn sets frozen; each by one CAS computed from one
	//            load. A lost CAS means that another of them succeeded.
	// Ordering:  publishing releases the record's plain fields; a load of the
	//            word acquires them.
	// Overflow:  used <= horizonTokens in ticks, 2^58: a line that has passed
	//            the horizon is re-based before anything is taken from it.
	word atomic.Uint64

	// claimed counts the records that were handed out to be written.
	//
	//	bits 31..0  records, from 1 (the first is written before publication)
	// Invariant: a record's owner alone writes it, and only until it is
	//            published; a claim at or above records owns nothing.
	// Writers:   claim, by one atomic add. Ordering: publishes nothing.
	// Overflow:  a failed claim freezes the page, and each caller fails once.
	claimed atomic.Uint32

	_ [lineBytes - 12]byte

	record [records]snapshot
}

const (
	indexShift = 60
	frozenBit  = uint64(1) << 59
	usedMask   = frozenBit - 1
)

func newPage(s *snapshot, used int64) *page {
	p := new(page)
	p.record[0] = *s
	p.word.Store(uint64(used))
	p.claimed.Store(1)
	return p
}

func usedOf(word uint64) int64 {
	return int64(word & usedMask)
}

// at returns the record that word says is the state.
func (p *page) at(word uint64) *snapshot {
	return &p.record[min(word>>indexShift, records-1)]
}

// claim hands out a record to write, and the word that publishes it; nil if the
// page is used up.
func (p *page) claim() (*snapshot, uint64) {
	i := p.claimed.Add(1) - 1
	if i >= records {
		return nil, 0
	}
	return &p.record[i], uint64(i) << indexShift
}

// state returns the page, its word and its snapshot as they were at one instant.
// It ends: a frozen page is followed by another, which was put there by someone
// who thereby made room for operations to succeed.
func (l *Limiter) state() (*page, uint64, *snapshot) {
	for {
		p := l.current.Load()
		word := p.word.Load()
		if word&frozenBit == 0 {
			return p, word, p.at(word)
		}
		l.turn(p)
	}
}

// turn replaces a page that is used up by one that begins with the same state.
// Whoever needs a new page does it alone: nobody waits for anybody. Freezing
// first makes sure that nothing is taken from the old page after its state was
// copied.
func (l *Limiter) turn(p *page) {
	word := p.word.Load()
	for word&frozenBit == 0 && !p.word.CompareAndSwap(word, word|frozenBit) {
		word = p.word.Load() // lost to an admission or a response
	}
	if l.current.Load() != p {
		return
	}
	next := newPage(p.at(word), usedOf(word))
	reach(beforeTurn)
	l.current.CompareAndSwap(p, next)
}
