package engine

import (
	"github.com/reprise-go/reprise/internal/atomic"
	"github.com/reprise-go/reprise/internal/invariant"
)

// GroupStats is a group's state and what it has counted since it was made.
// Look-ups that find an engine are not counted: they write nothing.
type GroupStats struct {
	Engines int // now, 0 to Limit
	Limit   int // as given

	Made    uint64 // engines made: Engines + Dropped + Expired
	Dropped uint64 // of those, gone to make room: they equalled new ones
	Expired uint64 // likewise: their quotas were not full, or they had been throttled, but nobody had asked for them for long

	Overflowed uint64 // look-ups that found no room
	Unkeyed    uint64 // look-ups of keys that no map can hold: NaN, a slice in an interface
	Panics     uint64 // of the template func
}

// groupCounts are the counts behind GroupStats. They are written where an engine
// is made, goes, or is missing, never by a look-up that finds one.
type groupCounts struct {
	// Each word counts events since the group was made; 64 bits do not wrap in its
	// lifetime. Ordering: publishes nothing.
	made       atomic.Uint64
	dropped    atomic.Uint64
	expired    atomic.Uint64
	overflowed atomic.Uint64
	unkeyed    atomic.Uint64
	panics     atomic.Uint64
	// engines is how many are in the map, 0..limit: it is counted down before the
	// slot of one that goes is given on, and up after a slot was got.
	engines atomic.Int64
}

// enter counts an engine that was put into the map.
func (c *groupCounts) enter(limit int) {
	engines := c.engines.Inc()
	if invariant.Enabled {
		invariant.Check(engines <= int64(limit), "engine: more engines in a group than its limit")
	}
	c.made.Inc()
}

// leave counts one that was taken out.
func (c *groupCounts) leave(equal bool) {
	c.engines.Dec()
	if equal {
		c.dropped.Inc()
	} else {
		c.expired.Inc()
	}
}

// Stats returns the group's present state and counts. Wait-free.
func (g *Group[K]) Stats() GroupStats {
	return GroupStats{
		Engines:    g.Len(),
		Limit:      g.slots.limit,
		Made:       g.counts.made.Load(),
		Dropped:    g.counts.dropped.Load(),
		Expired:    g.counts.expired.Load(),
		Overflowed: g.counts.overflowed.Load(),
		Unkeyed:    g.counts.unkeyed.Load(),
		Panics:     g.counts.panics.Load(),
	}
}
