package ratelimit

import (
	"math/bits"
	"time"

	"github.com/reprise-go/reprise/internal/atomic"
)

// gate is what the two fast paths look at: whether anything was ever throttled,
// and which successes need not look at the clock before the next border.
type gate struct {
	// word is all of that.
	//
	//	bit  63      enabled  a throttle was seen, or is about to be published
	//	bits 62..32  bucket   low bits of the half second the mask is for
	//	bits 31..0   mask     a success looks at the clock if its number in its
	//	                      cell has none of these bits; 0 = every success
	// Invariant: enabled is final, and then nothing else is set; a mask other
	//            than 0 is there only while a timer will clear it at the border.
	// Writers:   enable stores; watch CASes a mask in; its timer CASes it out. A
	//            lost CAS means that the limiter was enabled or another bucket
	//            began: both want every success to look, and nobody retries.
	// Ordering:  enabled is set before the snapshot that says so is published:
	//            who does not see it comes before the first throttle.
	// Overflow:  bucket wraps after 34 years; it is only compared for equality
	//            with that of a timer at most half a second old.
	word atomic.Uint64
}

const (
	enabledBit   = uint64(1) << 63
	maskOf       = uint64(1)<<32 - 1
	maxSkipShare = 1024
)

func (g *gate) enabled() bool {
	return g.word.Load() >= enabledBit
}

// enable is idempotent and wait-free.
func (g *gate) enable() {
	g.word.Store(enabledBit)
}

// skips reports whether the nth success of a cell need not look at the clock.
func (g *gate) skips(n uint64) bool {
	return g.word.Load()&maskOf&n != 0
}

// skipBits returns the length of the mask for the half second after one in which
// count requests came: all cells together may miss a 1,024th of them. It is 0
// until that is two requests for each cell.
func skipBits(count uint64, cells int) uint8 {
	share := count / maxSkipShare / uint64(max(cells, 1))
	return uint8(min(max(bits.Len64(share), 1)-1, 31))
}

// watch lets successes skip the clock until the border that ends bucket, which
// is left nanoseconds away. The count alone could not: requests that come a
// thousand times slower would leave the border unseen a thousand times longer.
// So a timer withdraws the mask at the border, and without a timer there is no
// mask.
func (g *gate) watch(bucket, mask uint32, left int64) {
	old := g.word.Load()
	if old >= enabledBit {
		return
	}
	watched := uint64(bucket)&(1<<31-1)<<32 | uint64(mask)
	if old == watched {
		return
	}
	var fired atomic.Bool // set once by the timer; says that the mask came too late
	timer := time.AfterFunc(time.Duration(left), func() {
		fired.Store(true)
		g.word.CompareAndSwap(watched, 0)
	})
	if !g.word.CompareAndSwap(old, watched) {
		timer.Stop()
	} else if fired.Load() {
		g.word.CompareAndSwap(watched, 0)
	}
}
