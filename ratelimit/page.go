package ratelimit

import (
	"math/bits"
	"time"

	"github.com/reprise-go/reprise/internal/atomic"
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
	//            one to used, or finds that it cannot and sets frozen; each by one
	//            CAS computed from one load. A lost CAS means that another of them
	//            succeeded, or has frozen the page.
	// Ordering:  publishing releases the slot's words; a load of the word
	//            acquires them. A second load that finds the same value proves
	//            that what was read between was the state; see also is.
	// Overflow:  base <= baseTicks, else the page is frozen; used exceeds base by
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
	// What an admission reads lies on one line, worked out: topTicks is what the
	// page's used may be when the line begins, and span for how many nanoseconds
	// the line may be followed, 0 if nobody is limited.
	at, topTicks, capacityTicks atomic.Int64
	rate, span, tags            atomic.Uint64

	// version is how often the slot was written, whether it then became the state
	// or not. The base would not do: two responses that start from one word write
	// the same, and the second may do so long after the first was the state.
	//
	// Invariant: grows with every write, last of all words.
	// Writers:   who owns the slot.
	// Ordering:  publishes the other words.
	// Overflow:  2^64 writes take 500 years at one a nanosecond.
	version atomic.Uint64

	level, lastMax, window, measured   atomic.Float64
	base, lastThrottleNanos, uncounted atomic.Int64

	_ [pad.CacheLine - 112]byte
}

const (
	indexShift = 60
	frozenBit  = uint64(1) << 59
	usedMask   = frozenBit - 1
	baseTicks  = 1 << 26 * ticksPerToken
)

// tags is bucket, skip, floor, enabled, flat, gentle and run.
const (
	skipShift  = 32
	floorShift = 40
	openTag    = uint64(open) << floorShift
	enabledTag = uint64(1) << 48
	flatTag    = uint64(1) << 49
	gentleTag  = uint64(1) << 50
	runShift   = 56
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

// guessed is at by branches: a processor that guesses them right reads the slot,
// and multiplies, before it has the word, which another processor may have taken
// away. With two who publish the state lies in one of the first three slots.
func (p *page) guessed(word uint64) *slot {
	switch word >> indexShift {
	case 0:
		return &p.slot[0]
	case 1:
		return &p.slot[1]
	case 2:
		return &p.slot[2]
	}
	return p.at(word)
}

// publish makes next the state, from which used ticks were taken, if the word
// still is word. For want of a slot or of numbers it does so on a fresh page.
func (l *Limiter) publish(p *page, word uint64, next *snapshot, used int64) (ok bool) {
	if word&frozenBit != 0 {
		return l.succeed(p, next, used)
	}
	taken := word&usedMask + 1
	next.base = int64(taken) - used
	reach(beforeClaim)
	i, ok := uint64(0), false
	if next.base <= baseTicks {
		i, ok = p.claim()
	}
	if !ok {
		// Nothing is taken from a frozen page, so that its state stays.
		return p.word.CompareAndSwap(word, word|frozenBit) && l.succeed(p, next, used)
	}
	p.slot[i].store(next)
	reach(beforePublication)
	if !p.word.CompareAndSwap(word, i<<indexShift|taken) {
		p.release(i)
		return false
	}
	p.release(word >> indexShift)
	return true
}

// succeed makes next the state, from which used ticks were taken, in a page that
// takes the place of p, which is frozen, if none has. Whoever finds p frozen puts
// his own operation into its successor, and waits for nobody: so also where more
// run than there are slots, each successor is an operation that has succeeded.
func (l *Limiter) succeed(p *page, next *snapshot, used int64) (ok bool) {
	successor := newPage(*next, used)
	reach(beforeTurn)
	return l.current.CompareAndSwap(p, successor)
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

// is reports whether the snapshot that word tells of, and that is its slot's
// version, still is the state at this instant, and returns the word of this
// instant: what was taken meanwhile does not matter.
//
// What was read after the version, and before this, is that one snapshot if the
// answer is true: at the load of the word the slot is the state's, so nobody is
// writing it, and a version that is the same before and after is the one it has
// then. A frozen page is no proof: its successor may be anywhere.
func (p *page) is(word, version uint64) (wordNow uint64, same bool) {
	wordNow = p.word.Load()
	reach(betweenLooks)
	return wordNow, wordNow&^usedMask == word&^(usedMask|frozenBit) && p.at(word).version.Load() == version
}

// wait returns the time until there is a token, if the word still is word.
//
//go:noinline
func (p *page) wait(word uint64, nowNanos int64) (wait time.Duration, ok bool) {
	t := p.at(word)
	line := snapshot{atNanos: t.at.Load(), level: t.level.Load(), fillRate: rate(t.rate.Load()).tokens(), base: t.base.Load()}
	if p.word.Load() != word {
		return 0, false
	}
	return line.wait(max(nowNanos, 0), line.used(word)+ticksPerToken), true
}

// load returns what the slot holds; page.is tells whether that is one snapshot.
func (t *slot) load(s *snapshot) {
	version := t.version.Load()
	reach(betweenLoads)
	tags := t.tags.Load()
	*s = snapshot{
		version:           version,
		atNanos:           t.at.Load(),
		base:              t.base.Load(),
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
		gentle:            tags&gentleTag != 0,
		run:               run(tags >> runShift),
	}
}

// store writes what differs, because an atomic store costs as much as many
// loads, and the version last.
func (t *slot) store(s *snapshot) {
	tags := uint64(s.bucket) | uint64(s.skip)<<skipShift | uint64(s.floor)<<floorShift | uint64(s.run)<<runShift
	if s.enabled {
		tags |= enabledTag
	}
	if s.flat {
		tags |= flatTag
	}
	if s.gentle {
		tags |= gentleTag
	}
	if t.tags.Load() != tags {
		t.tags.Store(tags)
	}
	storeInt(&t.at, s.atNanos)
	storeInt(&t.capacityTicks, s.capacityTicks)
	storeInt(&t.lastThrottleNanos, s.lastThrottleNanos)
	storeInt(&t.uncounted, int64(s.uncounted))
	storeFloat(&t.level, s.level)
	storeInt(&t.topTicks, ticks(s.level)+s.base)
	r, span := rateOf(s.fillRate), uint64(0)
	if s.enabled {
		span = r.span()
	}
	if t.rate.Load() != uint64(r) {
		t.rate.Store(uint64(r))
	}
	if t.span.Load() != span {
		t.span.Store(span)
	}
	storeFloat(&t.lastMax, s.lastMax)
	storeFloat(&t.window, s.windowSeconds)
	storeFloat(&t.measured, s.measured)
	storeInt(&t.base, s.base)
	t.version.Inc()
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
// were at one instant. The word may be frozen, and then is final.
// It ends: a state or a page that was replaced means that an operation succeeded,
// and a page is frozen once.
func (l *Limiter) state(s *snapshot) (*page, uint64) {
	for {
		p := l.current.Load()
		word := p.word.Load()
		p.at(word).load(s)
		if word&frozenBit != 0 {
			if l.current.Load() == p {
				return p, word
			}
		} else if word, same := p.is(word, s.version); same {
			return p, word
		}
	}
}
