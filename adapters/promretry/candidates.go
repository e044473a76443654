package promretry

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/reprise-go/reprise/engine"
)

// candidate is a key without a name.
type candidate[K comparable] struct {
	key    K
	engine *engine.Engine
	row    row
	fresh  counts // what it has counted since the last scrape
}

// candidates are the keys that want a name most, the one that wants it least
// first.
type candidates[K comparable] []candidate[K]

// offer takes c in, if it is among the best so many, and returns the one that is
// not, if there are more.
func (cs *candidates[K]) offer(c candidate[K], limit int) (worse candidate[K], ok bool) {
	if len(*cs) < limit {
		heap.Push(cs, c)
		return worse, false
	}
	if c.fresh.troubles() <= (*cs)[0].fresh.troubles() {
		return c, true
	}
	worse, (*cs)[0] = (*cs)[0], c
	heap.Fix(cs, 0)
	return worse, true
}

// best returns them, those that want it most first.
func (cs candidates[K]) best() []candidate[K] {
	slices.SortFunc(cs, func(a, b candidate[K]) int { return cmp.Compare(b.fresh.troubles(), a.fresh.troubles()) })
	return cs
}

// Len, Less, Swap, Push and Pop are for container/heap.
func (cs candidates[K]) Len() int           { return len(cs) }
func (cs candidates[K]) Less(i, j int) bool { return cs[i].fresh.troubles() < cs[j].fresh.troubles() }
func (cs candidates[K]) Swap(i, j int)      { cs[i], cs[j] = cs[j], cs[i] }
func (cs *candidates[K]) Push(c any)        { *cs = append(*cs, c.(candidate[K])) }
func (cs *candidates[K]) Pop() any {
	old := *cs
	c := old[len(old)-1]
	*cs = old[:len(old)-1]
	return c
}
