//go:build !gc || tinygo || reprise_loom || reprise_portable

package processor

import "github.com/reprise-go/reprise/internal/atomic"

// handle is the number that a processor has been given.
type handle struct {
	id int
}

var (
	// handles holds those that nobody is asking. A collection that empties it
	// costs new numbers, which is slower and not wrong.
	handles atomic.Pool
	// made is how many handles there have been, the next one's number. Written by
	// newHandle alone, publishes nothing, wraps harmlessly.
	made atomic.Uint32
)

// ID returns a number, 0 or more, that was seldom told to a goroutine running on
// another processor. It is a hint: it says where to write, never that nobody else
// does. Wait-free but for the first call on a processor, which allocates; reads no
// clock.
func ID() int {
	h, _ := handles.Get().(*handle)
	if h == nil {
		h = newHandle()
	}
	id := h.id
	handles.Put(h)
	return id
}

func newHandle() *handle {
	return &handle{id: int(made.Inc()-1) & (1<<31 - 1)}
}
