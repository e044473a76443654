package fastbackoff

import (
	"math/rand/v2"
	"sync"

	"github.com/valyala/fastrand"

	"github.com/reprise-go/reprise/internal/pad"
)

// Shards is the default [Source]: a generator for each processor (a P of the
// Go runtime), so that draws on different cores share nothing. The zero Shards
// is ready. A Shards must not be copied after its first use.
type Shards struct {
	// pool holds the generators that no draw is using. Get takes one out, so
	// that a draw owns its generator and needs no atomic; Put returns it to the
	// processor it then runs on. Generators that the collector drops, and those
	// that a grown GOMAXPROCS needs, are made and seeded afresh.
	pool sync.Pool
}

// shard is one generator, alone on its cache line.
type shard struct {
	rng fastrand.RNG
	_   [pad.CacheLine - 4]byte
}

// Uint64 returns a draw whose high 32 bits are uniform and whose low ones are
// zero: a 4.3-billionth of a ceiling is as fine as a delay needs to be, and a
// second draw would cost as much as the first. Wait-free but for the first draw on a
// processor, which allocates and seeds its generator. Reads no clock.
func (s *Shards) Uint64() uint64 {
	own, _ := s.pool.Get().(*shard)
	if own == nil {
		own = newShard()
	}
	draw := uint64(own.rng.Uint32()) << 32
	s.pool.Put(own)
	return draw
}

// newShard seeds from the runtime's secure generator, which cannot fail. Never
// from the clock: processes that start together would then retry together. Zero
// is the one seed that fastrand takes for "seed me from the clock".
func newShard() *shard {
	own := new(shard)
	own.rng.Seed(max(rand.Uint32(), 1))
	return own
}
