package fastbackoff

import (
	"math"
	"math/rand/v2"
)

// Source draws the random numbers of the jitter: uniform over uint64 in its high
// 32 bits at least, safe for use by many goroutines, and unable to fail. Every
// math/rand/v2.Source has the method, but most are safe for one goroutine only.
type Source interface {
	Uint64() uint64
}

// Rand is the [Source] that asks math/rand/v2, whose generator belongs to the
// running thread and is seeded by the runtime from the system's secure source.
// Wait-free.
type Rand struct{}

// Uint64 returns a uniform draw.
func (Rand) Uint64() uint64 { return rand.Uint64() }

// Fixed returns a [Source] for tests that always draws share, a number from 0
// to 1, of the ceiling: Fixed(0) is no delay, Fixed(0.5) half of it, and
// Fixed(1), as near as a draw can come, the ceiling less one nanosecond.
// A share outside [0, 1] counts as the nearer end, NaN as 0. Wait-free.
func Fixed(share float64) Source {
	switch {
	case share >= 1:
		return fixed(math.MaxUint64)
	case share > 0:
		return fixed(math.Ldexp(share, 64))
	default:
		return fixed(0)
	}
}

type fixed uint64

func (f fixed) Uint64() uint64 { return uint64(f) }
