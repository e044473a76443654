package ratelimit

import (
	"math/bits"

	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/internal/invariant"
	"github.com/reprise-go/reprise/internal/pad"
)

// slots is how many snapshots a page holds: the one that counts, and room for
// fifteen responses that are about to replace it.
const slots = 16

// page is where the state lies: slots for snapshots, and the word that says
// which of them counts. Slots are used again and again. What a reader makes of a
// slot that is written meanwhile is nonsense, and the word will tell it so: it
// never comes back to a value that it had.
type page struct {
	// word is which snapshot counts and what was taken since the page began.
	//
	//	bits 63..60  index   slot, 0..slots-1
	//	bit  59      frozen  the page is used up; its successor begins here
	//	bits 58..0   used    ticks taken or spilled since the page began, and one
	//	                     for each snapshot
	// Invariant: used - base of the snapshot <= its allowance at the latest now
	//            that an admitted caller gave; used grows with every change, so
	//            no value comes twice; frozen is final.
	// Writers:   an admission adds to used; a response sets the index and adds
	//            one to used; turn sets frozen; each by one CAS computed from one
	//            load. A lost CAS means that another of them succeeded.
	// Ordering:  publishing releases the slot's words; a load of the word
	//            acquires them. A second load that finds the same value proves
	//            that what was read between was the state; see also is.
	// Overflow:  base <= baseTicks, else the page is turned; used exceeds base by
	//            no more than a line allows, horizonTokens + maxTokens.
	word atomic.Uint64

	// free is the slots that belong to nobody.
	//
	//	bits 15..0  slot, 1 = free
	// Invariant: a slot is free, or it is the state, or one response owns it and
	//            alone writes it. A response that replaces the state owns from
	//            then on what it has replaced.
	// Writers:   claim takes a bit by a CAS, a lost CAS means that another took
	//            or freed one; release adds its own bit back.
	// Ordering:  a claim acquires the slot from the release before it.
	// Overflow:  release adds a bit that is not set.
	free atomic.Uint32

	_ [pad.CacheLine - 12]byte

	slot [slots]slot
}

// slot is a snapshot in words that may be read while they are written.
type slot struct {
	// What an admission reads lies on one line: the numbers as whole ones.
	at, base, levelTicks, capacityTicks atomic.Int64
	rate, tags                          atomic.Uint64
	level                               atomic.Float64

	lastMax, window, measured    atomic.Float64
	lastThrottleNanos, uncounted atomic.Int64

	_ [pad.CacheLine - 96]byte
}

const (
	indexShift = 60
	frozenBit  = uint64(1) << 59
	usedMask   = frozenBit - 1
	baseTicks  = 1 << 26 * ticksPerToken
)

// tags is bucket, skip, enabled, flat and floor.
const (
	skipShift  = 32
	floorShift = 40
	openTag    = uint64(open) << floorShift
	enabledTag = uint64(1) << 48
	flatTag    = uint64(1) << 49
)

// newPage returns a page whose state is s, from which used ticks were taken.
func newPage(s snapshot, used int64) *page {
	p := new(page)
	s.base = 0
	p.slot[0].store(&s)
	p.word.Store(uint64(used))
	p.free.Store(1<<slots - 2)
	return p
}

// at returns the slot that word says holds the state.
func (p *page) at(word uint64) *slot {
	return &p.slot[word>>indexShift]
}

// publish makes next the state, from which used ticks were taken, if the word
// still is word. full says that it could not even try, for want of a slot or of
// numbers: turn the page.
func (p *page) publish(word uint64, next *snapshot, used int64) (ok, full bool) {
	taken := word&usedMask + 1
	next.base = int64(taken) - used
	if next.base > baseTicks {
		return false, true
	}
	i, ok := p.claim()
	if !ok {
		return false, true
	}
	p.slot[i].store(next)
	reach(beforePublication)
	if !p.word.CompareAndSwap(word, i<<indexShift|taken) {
		p.release(i)
		return false, false
	}
	p.release(word >> indexShift)
	return true, false
}

func (p *page) claim() (index uint64, ok bool) {
	for {
		free := p.free.Load()
		if free == 0 {
			return 0, false
		}
		if p.free.CompareAndSwap(free, free&(free-1)) {
			return uint64(bits.TrailingZeros32(free)), true
		}
	}
}

func (p *page) release(index uint64) {
	free := p.free.Add(1 << index)
	if invariant.Enabled {
		invariant.Check(free>>index&1 == 1, "ratelimit: a slot was freed twice")
	}
}

// is reports whether the snapshot that word tells of, and whose base is base,
// still is the state at this instant, and returns the word of this instant: what
// was taken meanwhile does not matter. The base tells a snapshot from a later one
// in the same slot. It is loaded before and stored after all else, so that what
// was read after it, and before this, is one snapshot if the answer is true.
func (p *page) is(word uint64, base int64) (wordNow uint64, same bool) {
	wordNow = p.word.Load()
	return wordNow, (wordNow^word)&^usedMask == 0 && p.at(word).base.Load() == base
}

// load returns what the slot holds; page.is tells whether that is one snapshot.
func (t *slot) load(s *snapshot) {
	base := t.base.Load()
	tags := t.tags.Load()
	*s = snapshot{
		atNanos:           t.at.Load(),
		base:              base,
		capacityTicks:     t.capacityTicks.Load(),
		level:             t.level.Load(),
		fillRate:          rate(t.rate.Load()).tokens(),
		lastMax:           t.lastMax.Load(),
		windowSeconds:     t.window.Load(),
		measured:          t.measured.Load(),
		lastThrottleNanos: t.lastThrottleNanos.Load(),
		uncounted:         uint64(t.uncounted.Load()),
		bucket:            uint32(tags),
		skip:              uint8(tags >> skipShift),
		floor:             floor(tags >> floorShift),
		enabled:           tags&enabledTag != 0,
		flat:              tags&flatTag != 0,
	}
}

// store writes what differs, because an atomic store costs as much as many
// loads, and the base last.
func (t *slot) store(s *snapshot) {
	tags := uint64(s.bucket) | uint64(s.skip)<<skipShift | uint64(s.floor)<<floorShift
	if s.enabled {
		tags |= enabledTag
	}
	if s.flat {
		tags |= flatTag
	}
	if t.tags.Load() != tags {
		t.tags.Store(tags)
	}
	storeInt(&t.at, s.atNanos)
	storeInt(&t.capacityTicks, s.capacityTicks)
	storeInt(&t.lastThrottleNanos, s.lastThrottleNanos)
	storeInt(&t.uncounted, int64(s.uncounted))
	storeFloat(&t.level, s.level)
	storeInt(&t.levelTicks, ticks(s.level))
	if r := uint64(rateOf(s.fillRate)); t.rate.Load() != r {
		t.rate.Store(r)
	}
	storeFloat(&t.lastMax, s.lastMax)
	storeFloat(&t.window, s.windowSeconds)
	storeFloat(&t.measured, s.measured)
	t.base.Store(s.base)
}

func storeInt(word *atomic.Int64, v int64) {
	if word.Load() != v {
		word.Store(v)
	}
}

func storeFloat(word *atomic.Float64, v float64) {
	if word.Load() != v {
		word.Store(v)
	}
}

// state sets s to the snapshot and returns the page and its word, all as they
// were at one instant.
// It ends: a state that was replaced means that an operation succeeded, and a
// frozen page is followed by another, which was put there by someone who thereby
// made room for operations to succeed.
func (l *Limiter) state(s *snapshot) (*page, uint64) {
	for {
		p := l.current.Load()
		word := p.word.Load()
		if word&frozenBit != 0 {
			l.turn(p)
			continue
		}
		p.at(word).load(s)
		if word, same := p.is(word, s.base); same {
			return p, word
		}
	}
}

// turn replaces a page that is used up by one that begins with the same state.
// Whoever needs a new page does it alone: nobody waits for anybody. Freezing
// first makes sure that nothing is taken from the old page after its state was
// copied, and that its slot is left alone.
func (l *Limiter) turn(p *page) {
	word := p.word.Load()
	for word&frozenBit == 0 && !p.word.CompareAndSwap(word, word|frozenBit) {
		word = p.word.Load() // lost to an admission or a response
	}
	if l.current.Load() != p {
		return
	}
	var s snapshot
	p.at(word).load(&s)
	next := newPage(s, s.used(word))
	reach(beforeTurn)
	l.current.CompareAndSwap(p, next)
}
