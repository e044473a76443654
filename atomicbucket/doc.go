// Package atomicbucket is the retry quota: a bucket of tokens in one atomic
// word.
//
// # Problem
//
// Every call of a client touches the quota: a retry takes tokens, a success
// gives some back (R6). In health the bucket is full and successes are all
// there is, so the credit to a full bucket is the path that a hundred thousand
// calls a second take, on every core at once. It must not write.
//
// # Design
//
// One 64-bit word holds the capacity and what is missing from it, as a balance
// that is 0 or below. A credit to a full bucket is one load and a look at the
// sign. Everything else is one compare-and-swap computed from one load, so that
// no reader ever sees a level above the capacity or below 0, not even in passing:
// an add that is undone when it overshoots would show both.
//
// # Invariants
//
//   - 0 <= level <= capacity at every instant.
//   - Tokens are conserved: start + given - taken - dropped = level, where
//     dropped is what did not fit on a [Bucket.Give] or after a
//     [Bucket.SetCapacity].
//   - A refusal and a credit to a full bucket store nothing.
//
// # Not promised
//
// Order among callers: two that compete for the last tokens get them in any
// order. No operation waits, so there is no fairness to speak of. Tokens carry
// no identity: whoever gives back more than it took raises the level for all,
// up to the capacity; [engine.Call] is what keeps that straight.
//
// [engine.Call]: https://pkg.go.dev/github.com/reprise-go/reprise/engine#Call
package atomicbucket
