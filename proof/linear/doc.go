// Package linear holds histories that really ran in parallel against plain models.
// It exports nothing.
//
// # What is checked
//
// Goroutines run short random scripts on one object and note when each operation
// began and ended and what it answered. [Porcupine] then looks for an order of the
// operations that keeps what came before what, and in which the model gives these
// answers. If there is none, the history is the proof of a fault. internal/loom
// tries every order of a few operations; here the orders are those that the
// machine makes, of as many operations as one likes.
//
//   - atomicbucket.Bucket, exactly: every operation is the model's, at one instant.
//   - The retry quota through engine.Call, exactly: a granted retry takes its cost, a
//     refused one nothing, a success or an unsent retry gives back what it took, and
//     Reconfigure, one at a time, sets the capacity, each at one instant. (Two at once
//     may be seen to change the capacity more than twice: each makes sure that what
//     stands in the end is what was said last.)
//   - ratelimit.Limiter against R8, relaxed as below. Waiters, Update without a time and
//     coalesced throttles are not in these histories: a line promises rough order only,
//     the second samples, and the third is a window on what R8 does.
//
// # Stale instants
//
// Callers read their clock and then call, so that one may come with an instant that
// is older than what the limiter has seen. That is no relaxation but a rule, since it
// is the same for one goroutine: an instant before the latest change of the rate counts
// as that change; between it and the latest admission the level is followed backward
// along its line, so that it is what then was there less what was taken since; and a
// response counts as no earlier than the last throttle.
//
// # The relaxed limiter
//
// A concurrent history may show two things that no sequential one does, and no other:
//
//   - The count. The first response of a half second takes in the count of the one before.
//     A success that changes no rate is an add to a striped counter, which is read cell by
//     cell. So a response that overlaps that first one, or that was under way while it
//     was being counted, may be in either half second, whatever the order of the two.
//     Each response is counted once. (A count of the very instant would need one word that
//     every success writes, which is the line that striping is there to spare.)
//   - The last throttle at the floor. At the minimum rate a throttle first marks its instant
//     and then looks whether the state is still the one it has seen; if not, it cuts as
//     anywhere else. So a response, or a look, that overlaps a throttle at the floor may
//     know its instant before the throttle has taken effect, and a rate that grows
//     just then may do so from that instant and be cut by it as well.
//
// The first moves a measured rate by what overlaps one instant, never a token; the second
// can only hold a rate back. What is admitted, refused and told to wait is exact under
// the rates of the order that is found, and a cut is never lost. The rows of
// TestRelaxation say both ways what that means: what is relaxed the strict model refuses,
// and what goes one step further the relaxed one refuses too. Nearly every history that is
// recorded is one of the strict model; the test says how many were not.
//
// # Controls
//
// A check that nothing fails is none. So each model is also given objects that are wrong,
// in the ways that lock-free code is (a store instead of a compare-and-swap, two words for
// one invariant, an add that is undone, an admission that lands after the cut, ...): each
// must be found, and a limiter that is one pointer and a compare-and-swap must pass.
//
// # State machines
//
// The same models, and those of engine.Call, engine.Group and Reconfigure, are held
// against random sequences of operations by [Rapid], which shrinks what fails.
//
// [Porcupine]: https://pkg.go.dev/github.com/anishathalye/porcupine
// [Rapid]: https://pkg.go.dev/pgregory.net/rapid
package linear
