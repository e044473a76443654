package sim

import "github.com/reprise-go/reprise/engine"

// standing is where a call stands.
type standing uint8

const (
	nowhere standing = iota // the flight is free
	inLine                  // waits for the limiter
	sent                    // waits for an answer
	backing                 // waits its backoff
	pausing                 // is refused and waits before it returns (R7)
	lost                    // is over, but still stands in a limiter's line
)

// flight is one call under way, of any layer: what each of its events looks at, in
// one cache line.
type flight struct {
	call  engine.Call // unless the caller decides for itself
	began int64       // nanoseconds since the beginning

	// gen grows with each attempt, with each answer and with each call that the
	// flight is used for, so that an event which comes too late can be told by it.
	// It would have to be overtaken 2^32 times to be mistaken.
	gen   uint32
	birth uint32 // gen as the call began

	caller   uint32 // in its layer
	layer    uint8
	standing standing
	looped   bool   // its caller's loop goes on when it ends
	class    result // of the latest failure
}

// attempts is how many were sent: each of them made gen grow by one, and the
// answers to all but one that is under way did.
func (f *flight) attempts() int { return int(f.gen-f.birth+1) / 2 }

// cargo is what few flights have, and lies apart from them: those of gateways and
// those that may stand in a limiter's line.
type cargo struct {
	from request // of the layer above, which this call answers; of a client, only the shard
	next uint32  // in the line, as flight+1
}

// mostUnderWay bounds the flights: they would come to some 10 GB, of each policy that
// is simulated at a time.
const mostUnderWay = 1 << 25

// hangar holds the flights.
type hangar struct {
	flights slab[flight]
	cargoes slab[cargo]
	free    []uint32 // flights; the last one freed is used first, while it is in the cache
	live    int
	most    uint32 // of them
	over    bool   // there were more
	fetched uint32 // by fetch: a sum of no meaning
}

func (h *hangar) at(i uint32) *flight { return h.flights.at(i) }

func (h *hangar) cargo(i uint32) *cargo { return h.cargoes.at(i) }

// take returns a flight that nobody uses.
func (h *hangar) take() (uint32, *flight) {
	h.live++
	if last := len(h.free) - 1; last >= 0 {
		i := h.free[last]
		h.free = h.free[:last]
		return i, h.at(i)
	}
	h.cargoes.add()
	i := h.flights.add()
	h.over = i >= h.most
	return i, h.at(i)
}

// put frees a flight; what is yet to come of its call is void.
func (h *hangar) put(i uint32, f *flight) {
	h.live--
	f.gen++
	f.standing = nowhere
	h.free = append(h.free, i)
}

// fetch reads a word of each event's flight, so that the waits for the memory
// overlap: when the events happen, there would be one after the other.
func (h *hangar) fetch(events []event) {
	sum := uint32(0)
	for i := range events {
		if slot := events[i].slot; slot < h.flights.made {
			sum += h.at(slot).gen
		}
	}
	h.fetched = sum // or the compiler would read nothing
}
