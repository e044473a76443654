// Package size is the calculator of `reprise storm --size`: given what calls meet
// ([Question]), the smallest attempts, quota and backoff ([Plan]) that let as many of
// them succeed as is wanted, with no more requests than are allowed.
//
// # The model
//
// Attempts fail independently, with shares t (transient) and h (throttling),
// p = t + h. Three closed forms carry most of it:
//
//   - without a quota 1 - p^n of the calls succeed with n attempts, and whatever the
//     policy, success = requests per call x (1 - p), since each request that is
//     answered well ends a call;
//   - the quota's level drifts by 1 - p - c (p^2 + ... + p^n) tokens a call (R6.5),
//     c the mean cost; below zero it drains, and then about (1 - p)/(c p) retries
//     a call are all that can be paid for, however many attempts are allowed;
//   - in an outage a full quota pays for capacity/cost retries of each client, and
//     nothing comes back.
//
// The level is a Markov chain that rises by one token at the most, so its
// distribution comes of one pass from the top ([Estimate]); it is exact for calls
// that follow each other, and close for those that overlap. The delays are sums of
// uniform ones (full jitter, R4), whose distribution is convolved on a grid and held
// against the deadline: an attempt is sent if its delay ends before it, and counts if
// its answer comes before it too.
//
// What [Find] finds is then simulated, with the engine itself ([Simulate]).
package size
