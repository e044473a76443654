// Package ratelimit is the adaptive mode's send limiter (R8): it measures how
// fast responses come, cuts the send rate when one says that it was throttled,
// and lets it grow again along a cubic. It never sleeps and holds no lock: it
// answers "send now" or "ask again after", and the engine waits.
//
// # Promises
//
//   - Rates, levels and admissions are those of a plain single-threaded R8, step
//     for step, for any sequence of calls that give their own now.
//   - Under concurrency each call takes effect at one instant, as one R8 step
//     (Storms has the one exception): no cut is lost, no token admits two.
//   - The level is never below 0 nor above the capacity. Nothing is taken while
//     anyone waits; a refusal stores nothing.
//   - Time never runs backward: an instant before one that the state has seen
//     counts as that one. Nothing mints tokens but time that has passed, and a
//     jump ahead no more than a full bucket.
//   - Every method is lock-free. The hot ones allocate nothing but a page for
//     fifteen changes of the rate.
//
// # State
//
// All of R8's state but what was taken is an immutable snapshot: the allowance
// line level + fillRate*(now - at), the cubic's parameters, the measured rate.
// A snapshot is a record of a page, and the page's one word holds the number of
// the record that counts and the tokens taken since it began. An admission is
// one CAS that adds to the second, a response that changes a rate is one CAS
// that replaces the first: who computed from an old snapshot cannot succeed. So
// the order of the CASes on that word is the order of the R8 steps. A word that
// admissions shared across snapshots would not do: an admission computed from
// the line before a cut could still land after it.
//
// A page is used up after fifteen changes. It is then frozen, so that nothing is
// taken from it any more, and whoever finds it frozen copies its state to a
// fresh one; nobody waits for anybody. Records are never reused, which is what
// rules ABA out, and the collector frees pages.
//
// Tokens are counted in ticks of 2^-32. A line is evaluated in float64 from its
// own start and rounded to a tick, so errors do not add up along admissions; a
// response that leaves the rate as it was leaves the line as it was. A level is
// within a few ticks, 1e-9 tokens, of what R8 in float64 makes of it: calls whose
// instants were not chosen to meet a token within a nanosecond are admitted
// alike, and whoever waits exactly as long as told is admitted. A capacity above
// 2^24 tokens acts like that.
//
// # Never throttled
//
// Until the first throttle an acquire is one load. A success adds to a cell of a
// striped counter and, once the cubic has reached twice the measured rate, which
// is (5 x rate)^(1/3) seconds after the start, does nothing else until the next
// half second begins. Before that every success changes the rate, as R8 says,
// and is published like in any other growth.
//
// A clock read costs several times all of this, so [Limiter.Update] reads it for
// a sample of the successes, but only while a timer watches the border of the
// half second; its comment says how right that is. [Limiter.UpdateAt] is R8.
//
// # Storms
//
// When every response is a throttle the rate is at its minimum after a few
// dozen, and each further cut changes only the time of the last throttle. Such a
// throttle marks its time in its own cell and checks that the snapshot still is
// the state. What depends on the last throttle first publishes that the floor is
// closed and then reads the marks: of a mark and a closing, one sees the other.
// A throttle that finds the floor closed after its mark publishes as usual; if
// it was delayed there for the better part of a second, its mark may have held
// back a growth that it then cuts as well.
//
// # Waiting
//
// R8.1 has everybody wait for the same token, and all but one wake in vain. A
// [Waiter] is a place in a line: what it is told counts those in front, newcomers
// leave their tokens to the line, and each place that is served or given up calls
// the next. So a waiter wakes when it is its turn and when its token is there,
// plus once for each cut meanwhile. The line promises rough order, no more: when
// the bucket is full, any place may take a token, so that one that does not wake
// up holds up nobody for long. Where nobody waits, this is R8.
//
// # Not promised
//
// Clocks that differ between callers are taken as they come: a caller that is
// behind sees fewer tokens than there are, and one far ahead makes the others
// wait until they have caught up. Requests of several tokens ([Limiter.TryAdmitAt])
// do not stand in line and can starve beside one.
package ratelimit
