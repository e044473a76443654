package ratelimit_test

import (
	"fmt"
	"hash/maphash"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The protocol of page.go, small enough to run in every order: a step is one
// load, store or CAS, as there and in that order. A snapshot is its base and its
// number, which must agree with what was admitted and published. Its slot has fewer
// words than the real one, and the page fewer slots: two words can be torn, and two
// slots run out.
type protocol struct {
	ops   []string // of each thread: a admission, p publication, r read
	slots int
	wrong wrong
	seen  map[uint64]bool
	seed  maphash.Seed
	fault string
}

// wrong is a protocol that the search must find wrong.
type wrong int

const (
	right            wrong = iota
	baseForVersion         // a read is proved by a word of the snapshot
	versionFirst           // the version is written before the rest
	versionOnce            // it is not looked at again
	wordOnce               // the word is not looked at again
	wordLast               // the version is looked at again before the word
	earlyRelease           // a slot is set free before it is replaced
	noTick                 // a publication adds nothing to the word
	frozenIsProof          // a frozen page passes for the state
	splitAdmission         // a load and a store for a CAS
	neverFrozen            // a page is replaced that admissions still come to
	copiedPage             // a successor holds no change
	admissionOnFroze       // an admission does not look whether the page is frozen
	wrongs
)

type (
	mSlot struct{ version, base, number uint8 }
	mWord struct {
		index, used uint8
		frozen      bool
	}
	mPage struct {
		word mWord
		free uint8
		slot [3]mSlot
	}
	mThread struct {
		op, pc, page, claimed uint8
		word                  mWord
		read                  mSlot
		number, taken         uint8 // the state when it looked
		progress              uint8 // when it began
	}
	mState struct {
		current uint8
		pages   [6]mPage
		threads [4]mThread

		number, taken   uint8 // what the state is: publications, and admissions since the last
		done, progress  uint8 // operations that ended; these and freezes
		frozen, created uint8
	}
)

func (p *protocol) run(s mState) {
	key := maphash.Comparable(p.seed, s)
	if p.fault != "" || p.seen[key] {
		return
	}
	p.seen[key] = true
	for i := range p.ops {
		if int(s.threads[i].op) < len(p.ops[i]) {
			next := s
			p.step(&next, &next.threads[i], p.ops[i][s.threads[i].op])
			p.run(next)
		}
	}
}

func (p *protocol) check(ok bool, what string) {
	if !ok && p.fault == "" {
		p.fault = what
	}
}

// The steps of a thread.
const (
	loadCurrent uint8 = iota
	loadWord
	loadVersion
	loadBase
	loadNumber
	lookAtWord
	lookAtVersion
	change
	storeFirst
	storeNumber
	storeBase
	storeLast
	casWord
	giveBack
	giveOld
	succeed
)

func (p *protocol) step(s *mState, t *mThread, op byte) {
	page := &s.pages[t.page]
	pc := t.pc
	t.pc++
	switch pc {
	case loadCurrent:
		t.page, t.progress = s.current, s.progress
	case loadWord:
		t.word = page.word
	case loadVersion:
		t.read.version = page.slot[t.word.index].version
		if p.wrong == baseForVersion {
			t.read.version = page.slot[t.word.index].base
		}
	case loadBase:
		t.read.base = page.slot[t.word.index].base
	case loadNumber:
		t.read.number = page.slot[t.word.index].number
	case lookAtWord:
		t.number, t.taken = s.number, s.taken
		switch {
		case t.word.frozen && p.wrong == frozenIsProof:
			p.looked(s, t, op)
		case t.word.frozen && s.current != t.page:
			p.again(s, t)
		case t.word.frozen:
			p.looked(s, t, op)
		case p.wrong == wordOnce:
		case page.word.index != t.word.index || page.word.frozen:
			p.again(s, t)
		default:
			t.word = page.word
			if p.wrong == wordLast {
				p.looked(s, t, op)
			}
		}
		if p.wrong == wordLast && t.pc == lookAtVersion {
			t.pc = change
		}
	case lookAtVersion:
		version := page.slot[t.word.index].version
		if p.wrong == baseForVersion {
			version = page.slot[t.word.index].base
		}
		if version != t.read.version && p.wrong != versionOnce {
			p.again(s, t)
			return
		}
		p.looked(s, t, op)
	case change:
		switch {
		case t.word.frozen:
			t.pc = succeed
		case op == 'a':
			if p.wrong == splitAdmission && page.word.used >= t.word.used {
				page.word.used = t.word.used
			} else if page.word != t.word && !(p.wrong == admissionOnFroze && page.word.index == t.word.index && page.word.used == t.word.used) {
				p.again(s, t)
				return
			}
			page.word.used += 2
			p.admitted(s, t)
		case page.free == 0:
			if p.wrong != neverFrozen {
				if page.word != t.word {
					p.again(s, t)
					return
				}
				page.word.frozen = true
				t.word.frozen = true
				s.frozen++
				s.progress++
				p.check(s.frozen <= s.done+1, "a page is frozen and no operation has ended since the last")
			}
			t.pc = succeed
		default:
			for page.free>>t.claimed&1 == 0 || t.claimed > 2 {
				t.claimed = (t.claimed + 1) % 3
			}
			page.free &^= 1 << t.claimed
			if p.wrong != versionFirst {
				t.pc = storeNumber
			}
			p.check(page.word.index != t.claimed, "the state's slot was claimed")
		}
	case storeFirst:
		page.slot[t.claimed].version++
	case storeNumber:
		page.slot[t.claimed].number = t.read.number + 1
	case storeBase:
		page.slot[t.claimed].base = t.word.used + 1
		if p.wrong == noTick {
			page.slot[t.claimed].base--
		}
	case storeLast:
		if p.wrong != versionFirst {
			page.slot[t.claimed].version++
		}
		if p.wrong == earlyRelease {
			page.free |= 1 << t.word.index
		}
	case casWord:
		if page.word != t.word {
			return // to giveBack
		}
		page.word.index = t.claimed
		if p.wrong != noTick {
			page.word.used++
		}
		p.published(s, t)
		t.pc = giveOld
	case giveBack:
		page.free |= 1 << t.claimed
		p.again(s, t)
	case giveOld:
		page.free |= 1 << t.word.index
		p.ended(t)
	case succeed:
		if s.current != t.page {
			p.again(s, t)
			return
		}
		s.created++
		if p.check(int(s.created) < len(s.pages), "more pages than operations"); p.fault != "" {
			return
		}
		next := &s.pages[s.created]
		next.free = 1<<p.slots - 2
		next.slot[0] = mSlot{number: t.read.number}
		next.word.used = t.word.used - t.read.base
		s.current = s.created
		switch {
		case p.wrong == copiedPage:
			t.pc = loadCurrent
		case op == 'a':
			next.word.used += 2
			p.admitted(s, t)
		default:
			next.slot[0].number++
			next.word.used = 0
			p.published(s, t)
			p.ended(t)
		}
	}
}

// again is a change that failed: never but for another's success.
func (p *protocol) again(s *mState, t *mThread) {
	p.check(s.progress != t.progress, "a retry that nobody's success explains")
	p.restart(t)
}

func (p *protocol) restart(t *mThread) {
	*t = mThread{op: t.op}
}

func (p *protocol) ended(t *mThread) {
	t.op++
	p.restart(t)
}

// looked is a read that was proved.
func (p *protocol) looked(s *mState, t *mThread, op byte) {
	t.pc = change
	if op == 'r' {
		p.check(t.read.number == t.number && t.word.used-t.read.base == 2*t.taken, "a read that was never the state")
		s.done++
		s.progress++
		p.ended(t)
		return
	}
	t.read.version, t.number, t.taken = 0, 0, 0 // or the same state would count as several
}

func (p *protocol) changed(s *mState, t *mThread) {
	p.check(t.read.number == s.number, "a change to what is not the state")
	p.check(t.word.used-t.read.base == 2*s.taken, "an admission was lost")
	s.done++
	s.progress++
}

func (p *protocol) admitted(s *mState, t *mThread) {
	p.changed(s, t)
	s.taken++
	p.ended(t)
}

func (p *protocol) published(s *mState, t *mThread) {
	p.changed(s, t)
	s.number++
	s.taken = 0
}

func search(w wrong, slots int, ops ...string) *protocol {
	p := &protocol{ops: ops, slots: slots, wrong: w, seen: map[uint64]bool{}, seed: maphash.MakeSeed()}
	var s mState
	s.pages[0].free = 1<<slots - 2
	p.run(s)
	return p
}

var scenes = []struct {
	slots int
	ops   []string
}{
	{2, []string{"p", "p", "r"}},
	{2, []string{"p", "p", "a"}},
	{2, []string{"aa", "p", "p"}},
	{3, []string{"a", "ppp", "a"}},
	{3, []string{"r", "p", "pppp"}},
	{3, []string{"r", "pp", "pp"}},
}

// In every order of the steps of up to three threads: each change is made to what
// is the state then, a read that is proved was the state, and nobody tries again
// but for another's success.
func TestProtocolInEveryOrder(t *testing.T) {
	for _, c := range scenes {
		t.Run(fmt.Sprint(c.ops, " slots=", c.slots), func(t *testing.T) {
			if last := &c.ops[len(c.ops)-1]; testing.Short() && len(*last) > 1 {
				c.ops = append(slices.Clone(c.ops[:2]), (*last)[1:])
			}
			p := search(right, c.slots, c.ops...)
			assert.Empty(t, p.fault)
			t.Log(len(p.seen), "states")
		})
	}
}

// The search finds what it is there for.
func TestProtocolFaultsAreFound(t *testing.T) {
	for w := right + 1; w < wrongs; w++ {
		t.Run(fmt.Sprint("wrong=", int(w)), func(t *testing.T) {
			for _, c := range scenes {
				if p := search(w, c.slots, c.ops...); p.fault != "" {
					t.Log(c.ops, p.fault)
					return
				}
			}
			require.Fail(t, "not found")
		})
	}
}
