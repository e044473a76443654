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

// flight is one call under way, of any layer.
type flight struct {
	call  engine.Call // unless the caller decides for itself
	began int64       // nanoseconds since the beginning

	// gen grows with every step of the call and with every call that the flight is
	// used for, so that an event which comes too late can be told by it. It would
	// have to be overtaken 2^32 times to be mistaken.
	gen   uint32
	birth uint32 // gen as the call began

	from     request // of the layer above, which this call answers
	next     uint32  // in a limiter's line or in the list of free flights, as flight+1
	caller   uint32  // in its layer
	shard    uint32
	attempts uint32 // sent
	layer    uint8
	standing standing
	looped   bool          // its caller's loop goes on when it ends
	class    result        // of the latest failure
	reason   engine.Reason // with pausing
}

const (
	blockBits = 12
	blockSize = 1 << blockBits
)

// hangar holds the flights, in blocks so that a call never moves.
type hangar struct {
	blocks []*[blockSize]flight
	free   uint32 // list, as flight+1
	made   uint32
	live   int
}

func (h *hangar) at(i uint32) *flight { return &h.blocks[i>>blockBits][i%blockSize] }

// take returns a flight that nobody uses.
func (h *hangar) take() (uint32, *flight) {
	h.live++
	if h.free != 0 {
		i := h.free - 1
		f := h.at(i)
		h.free = f.next
		return i, f
	}
	i := h.made
	if i>>blockBits == uint32(len(h.blocks)) {
		h.blocks = append(h.blocks, new([blockSize]flight))
	}
	h.made++
	return i, h.at(i)
}

// put frees a flight; what is yet to come of its call is void.
func (h *hangar) put(i uint32, f *flight) {
	h.live--
	f.gen++
	f.standing = nowhere
	f.next = h.free
	h.free = i + 1
}
