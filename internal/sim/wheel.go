package sim

import "math/bits"

const (
	tickShift = 16 // a tick is 65.5 us: at a million events a second some sixty share one
	slotBits  = 10
	slotCount = 1 << slotBits
	levels    = 5 // ticks of 2^50, more than 64 bits of nanoseconds have
)

// wheel is the queue of events in no order: a hierarchical timing wheel before a
// heap of those that are due within one tick. The wheel makes it cost the same with
// a thousand and with ten million events, the heap makes the order exact.
type wheel struct {
	near []event // 4-ary heap: all events of the ticks up to tick
	tick int64

	// quiet is a tick before which nothing but near has events: while other events
	// come first, the wheel need not be asked again.
	quiet int64

	// first holds the lists of the events after tick, as bundle+1: level n has those
	// whose tick differs from it in digit n and in none above.
	first    [levels][slotCount]uint32
	occupied [levels][slotCount / 64]uint64 // a bit for each list that is not empty
	bundles  slab[bundle]
	free     uint32 // list of bundles, as bundle+1
}

// bundle is some events of one list: with millions of them, to follow a link for
// each would be a wait for the memory for each.
type bundle struct {
	events [15]event
	count  uint32
	next   uint32    // bundle+1
	_      [24]uint8 // so that no event lies in two cache lines
}

func (w *wheel) push(e event) {
	tick := e.at >> tickShift
	if tick <= w.tick {
		w.pushNear(e)
		return
	}
	w.quiet = min(w.quiet, tick)
	level := (bits.Len64(uint64(tick^w.tick)) - 1) / slotBits
	slot := tick >> (level * slotBits) & (slotCount - 1)
	n := w.first[level][slot]
	if n == 0 || w.bundles.at(n-1).count == uint32(len(bundle{}.events)) {
		n = w.take(n)
		w.first[level][slot] = n
		w.occupied[level][slot/64] |= 1 << (slot % 64)
	}
	b := w.bundles.at(n - 1)
	b.events[b.count] = e
	b.count++
}

// take returns an empty bundle before another one of its list.
func (w *wheel) take(next uint32) uint32 {
	n := w.free
	if n == 0 {
		n = w.bundles.add() + 1
	}
	b := w.bundles.at(n - 1)
	w.free = b.next // 0 in a new one, when there is none free
	b.count, b.next = 0, next
	return n
}

// peek returns the first event, or nil if there is none up to limit. It does not
// turn the wheel beyond: what is scheduled by then would all go to the heap.
func (w *wheel) peek(limit int64) *event {
	if len(w.near) == 0 && (limit>>tickShift < w.quiet || !w.turn(limit)) {
		return nil
	}
	return &w.near[0]
}

// turn takes the wheel to the next tick that has events, and them into the heap,
// which is empty.
func (w *wheel) turn(limit int64) bool {
	for level := 0; level < levels; level++ {
		shift := level * slotBits
		here := w.tick >> shift
		slot, ok := w.nextOccupied(level, int(here&(slotCount-1))+1)
		if !ok {
			continue
		}
		tick := (here&^(slotCount-1) | int64(slot)) << shift
		if tick > limit>>tickShift {
			w.quiet = tick
			return false
		}
		w.tick = tick
		n := w.first[level][slot]
		w.first[level][slot] = 0
		w.occupied[level][slot/64] &^= 1 << (slot % 64)
		for n != 0 {
			b := w.bundles.at(n - 1)
			for i := range b.events[:b.count] {
				w.push(b.events[i])
			}
			n, b.next, w.free = b.next, w.free, n
		}
		if len(w.near) > 0 {
			return true
		}
		level = -1 // they are on the levels below now
	}
	w.quiet = never
	return false
}

func (w *wheel) nextOccupied(level, from int) (slot int, ok bool) {
	if from == slotCount {
		return 0, false
	}
	words := &w.occupied[level]
	i := from / 64
	word := words[i] &^ (1<<(from%64) - 1)
	for word == 0 {
		if i++; i == len(words) {
			return 0, false
		}
		word = words[i]
	}
	return i*64 + bits.TrailingZeros64(word), true
}

func (w *wheel) pushNear(e event) {
	w.near = append(w.near, e)
	heap, i := w.near, len(w.near)-1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(heap[parent].moment) {
			break
		}
		heap[i] = heap[parent]
		i = parent
	}
	heap[i] = e
}

// pop takes the event that peek has returned.
func (w *wheel) pop() event {
	heap := w.near
	top := heap[0]
	last := heap[len(heap)-1]
	heap = heap[:len(heap)-1]
	w.near = heap
	if len(heap) == 0 {
		return top
	}
	i := 0
	for {
		child := 4*i + 1
		if child >= len(heap) {
			break
		}
		least := child
		for c := child + 1; c < min(child+4, len(heap)); c++ {
			if heap[c].before(heap[least].moment) {
				least = c
			}
		}
		if !heap[least].before(last.moment) {
			break
		}
		heap[i] = heap[least]
		i = least
	}
	heap[i] = last
	return top
}
