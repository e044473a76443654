// Package fastbackoff computes how long a retry waits: full jitter under an
// exponential ceiling that depends on the class of the failure (R4).
//
// # Problem
//
// Clients that failed together must not come back together. Full jitter spreads
// them over the whole of [0, ceiling), but only if the draw is uniform, the cap
// comes before the jitter (a cap behind it is a point where everybody meets),
// and no two processes draw the same numbers.
//
// # Design
//
// A [Schedule] is a pure function from class, retry index and draw to a delay,
// in integers, so that no index overflows and a test can name the nanosecond.
// Where draws come from is a [Source]: [Shards] (one fast generator a
// processor, each seeded from the runtime's secure generator), [Rand]
// (math/rand/v2) or, for tests, [Fixed].
//
// # Not promised
//
// Draws are no secrets: whoever sees a few of them can compute the next.
package fastbackoff
