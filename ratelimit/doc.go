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
//   - Every method is lock-free. But for a place in the line nothing allocates,
//     save for a fresh page after every 67 million tokens, or when fifteen
//     responses are in the middle of a change and there comes one more, and for
//     the timer of a half second in which [Limiter.Update] reads the clock for a
//     sample.
//
// # State
//
// All of R8's state but what was taken is a snapshot that stays as it is once it
// is published: the allowance line level + fillRate*(now - at), the cubic's
// parameters, the measured rate. It lies in a slot of a page, and the page's one
// word holds the number of the slot that counts and the tokens taken. An
// admission is one CAS that adds to the second, a response that changes a rate is
// one CAS that replaces the first: who computed from an old snapshot cannot
// succeed. So the order of the CASes on that word is the order of the R8 steps. A
// word that admissions shared across snapshots would not do: an admission
// computed from the line before a cut could still land after it.
//
// A response that changes a rate takes a slot that is free, writes it, publishes
// it, and sets free the one that it replaced: sixteen slots serve for ever, and
// nothing is allocated. What makes that safe:
//
//   - A slot has one writer: free, or owned by one response, or the state, which
//     nobody writes. A writer that is stopped keeps its slot to itself.
//   - The taken tokens only ever grow, by a tick at least with each snapshot, so
//     the word never comes back to a value that it had: no ABA. A reader that was
//     stopped while its slot was written again finds that out at its CAS, or, if
//     it only answers, when it looks at the word and the slot's version again. It
//     retries only because others succeeded, never because one was stopped.
//   - Every word of a slot is atomic, so that reading one that is being written
//     is no data race.
//
// Before the taken tokens outgrow the word, or when no slot is free, the page is
// frozen, so that nothing is taken from it any more, and whoever finds it frozen
// makes its own change in a fresh one; nobody waits for anybody.
//
// Tokens are counted in ticks, quarters of a nanotoken. An admission follows the
// line in whole numbers from its start, exactly; the level from which the next
// line starts is a float64, so errors do not add up along either. A
// response that leaves the rate as it was leaves the line as it was. A level is
// within a few ticks, 1e-9 tokens, of what R8 in float64 makes of it: calls whose
// instants were not chosen to meet a token within a nanosecond are admitted
// alike, and whoever waits exactly as long as told is admitted. A capacity above
// 2^24 tokens acts like that.
//
// # What it costs
//
// Each admission needs the word as the one before it left it, so the load of the
// word and the CAS cannot be had for less. The line it need not wait for: which
// slot counts is found by branches, which a processor guesses before it has the
// word, and what an admission needs of the line was worked out when it was
// published. So all that comes between the load and the CAS is a subtraction and
// a comparison, and an admission costs twice what the load and the CAS alone do. A
// mutex that nobody contends for adds two such writes to the same arithmetic. More
// is gained in the answers, where one that changes nothing is a count, and in that
// nobody can be stopped while holding a lock. BenchmarkEnabled has both sides'
// floors beside them.
//
// A success at twice the measured rate changes nothing until the half second ends.
// It learns so from a word that nobody writes but who enters or leaves such a state,
// so that admissions and answers on different processors do not wait for each other,
// and counts itself in its processor's cell.
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
// back a growth that it then cuts as well. Cuts that coalesce are few, and none
// of this is theirs.
//
// # One cut for a burst
//
// When a service begins to throttle, every attempt that is on its way will be
// throttled too, and each answer cuts by 30 %: after ten the rate is 3 % of what it
// was. Where a round trip is long for the rate, that is R8's every wave. And a
// bucket that was full keeps a second's worth of tokens through the cut, so that
// the burst goes on out of these, however short the round trip. [Limiter.ThrottleAt]
// with a window is ours, not the page's, and off by default:
//
//   - one cut for the throttles of attempts that were admitted before it, as TCP
//     reacts once to a loss event (RFC 6582);
//   - a cut empties the bucket, unless the rate is at its minimum;
//   - it takes 15 % and not 30, as TCP does where it is told of congestion (RFC
//     8511): a service whose own bucket is small idles through the wave of the
//     cubic, a thirteenth of the rate at 30 %, a twenty-seventh at 15 %;
//   - the first cut waits, once, until a whole half second is measured since New or
//     since the last pause, a half second without a response. A client that starts at
//     full load before a service that throttles at once, or was idle until then, would
//     cut to the minimum and grow from there for (2.5 x rate)^(1/3) seconds.
//
// How much of the service is used and what share of the requests is throttled, by
// R8 and with a window of a minute, at 1.5 times the load that the service takes:
//
//	requests/s  clients  round trip  R8               ours
//	        50        1      200 ms   42.5 %  10 %      100.0 %   0.58 %
//	       500        1      200 ms   37.7 %  3.4 %     100.0 %   0.12 %
//	       500      100      200 ms  100.0 %  9.3 %     100.0 %  11 %
//	      5000        1        1 ms   76.4 %  0.0021 %   99.9 %   0.0017 %
//	      5000      100        1 ms  100.0 %  0.64 %    100.0 %   0.86 %
//	      5000      100      200 ms   45.1 %  9.3 %     100.0 %   0.96 %
//	     50000        1        1 ms   41.2 %  0.002 %   100.0 %   0.00027 %
//	     50000        1      200 ms   41.6 %  0.4 %     100.0 %   0.042 %
//
// In each of 112 such cells, of 1.2 to 4 times the load, it is 98 % or more (R8:
// down to 23 %), the throttled share is 1.5 times R8's at most, and clients are
// treated alike: Jain's index is 0.96 or more over a minute and a half. Within
// seconds they differ, by either, since their waves do. Fleets of less than some 5
// requests/s for each client are throttled often by either: the minimum rate, and
// the cubic, which is back within two seconds, are coarse for them. The price is
// at a start under full load, or at one after a pause: half a second to a second of
// throttles. make adaptive-table makes these numbers and more: proof/adaptive/TABLE.md.
//
// In its first minute a client that was idle uses 96 % of a service of 5,000
// requests/s that throttles at once; by R8 it is 66 %. But a burst that comes out of
// slow traffic, without a pause before it, is measured as slow until its half second
// ends. If the service throttles before that, the cut is to the slow rate: the client
// then uses 64 % in the first minute (R8: 64 %) where it had sent a hundredth of the
// load before, and 78 % (R8: 65 %) where it had sent half of it.
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
// wait until they have caught up. Who asks without a place in line ([Limiter.Acquire],
// and [Limiter.TryAdmit] for several tokens), however often, can starve beside a line
// that does not end.
package ratelimit
