package sim

import "math"

// kind is what happens at an event.
type kind uint8

const (
	callArrives     kind = iota // of the open loop; the next one is drawn then
	burstArrives                // aux: how many calls
	callBegins                  // of a closed loop; aux: the caller
	requestArrives              // aux: the layer that it arrives at
	serviceEnds                 // aux: 1 if the cache did not help
	answerArrives               // aux: the result
	attemptTimesOut             //
	deadlinePasses              // gen: the call's birth
	backoffEnds                 //
	pauseEnds                   // after which a refused call returns (R7)
	limiterMayAdmit             // slot: the layer; aux: the caller
	faultChanges                //
	sampleDue                   //
	endPasses                   // nothing; or what comes next, void or not, would happen yet
)

// result is what an answer says.
type result uint8

const (
	failed    result = iota // not retryable
	transient               // as classify has it, so that a class is a conversion away
	throttled
	succeeded
)

// event is something that will happen: a value, so that queues hold no pointers
// and the collector has nothing to look for.
type event struct {
	moment
	request
	aux uint32
}

// moment is an event's place in the order of all: by time, then as they were
// scheduled. No two are equal, so the order does not depend on the queue.
type moment struct {
	at int64 // nanoseconds since the beginning
	// key tells events of one instant apart.
	//
	//	bits 63..8  order in which they were scheduled, from 1
	//	bits  7..0  kind
	key uint64
}

func (m *moment) kind() kind { return kind(m.key) }

func (m *moment) before(o moment) bool {
	return m.at < o.at || m.at == o.at && m.key < o.key
}

// request is an attempt of a flight, as whoever has to do with it knows it: the
// flight itself is seldom in the cache.
type request struct {
	slot  uint32 // of the flight
	gen   uint32 // of the flight at that time: another one by now means that this is void
	shard uint32 // that it is for
}

// never is later than every event.
const never = math.MaxInt64

// lane is a queue of events that come in the order of their time, such as the
// ends of a time that is the same for all: half of a simulation's events need no
// sorting.
type lane struct {
	ring []event // a power of two of them
	head uint64  // next out
	tail uint64  // next in
	cold bool    // its events wait for long: their flights are in no cache by then
}

// push appends an event that is not before the last one.
func (l *lane) push(e event) {
	if l.tail-l.head == uint64(len(l.ring)) {
		l.grow()
	}
	l.ring[l.tail&uint64(len(l.ring)-1)] = e
	l.tail++
}

func (l *lane) grow() {
	ring := make([]event, max(2*len(l.ring), fetchAhead))
	for i := l.head; i != l.tail; i++ {
		ring[i&uint64(len(ring)-1)] = l.ring[i&uint64(len(l.ring)-1)]
	}
	l.ring = ring
}

func (l *lane) empty() bool { return l.head == l.tail }

func (l *lane) peek() *event { return &l.ring[l.head&uint64(len(l.ring)-1)] }

func (l *lane) pop() event {
	e := l.ring[l.head&uint64(len(l.ring)-1)]
	l.head++
	return e
}

// fetchAhead is how many events of a lane have their flights fetched together.
const fetchAhead = 16

// ahead returns the next fetchAhead events, once in so many; else none. Behind the
// last one there are old ones, whose flights it is of no use and no harm to fetch.
func (l *lane) ahead() []event {
	if !l.cold || l.head%fetchAhead != 0 {
		return nil
	}
	i := l.head & uint64(len(l.ring)-1)
	return l.ring[i : i+fetchAhead]
}
