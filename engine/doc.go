// Package engine decides whether, when and at what cost a failed call is sent
// again, as AWS's "Retry Behavior 2.1" says, and nothing else: it classifies
// through classify, keeps the retry quota in an atomicbucket, draws delays from
// fastbackoff, and is the only part that sleeps. Numbers such as R4.2 are clauses
// of RETRY.md, in the root of the repository.
//
// # Three ways in
//
//   - [Do] and [Run] make the call, wait and retry.
//   - [Call] with [Call.AdmitWait] and [Call.FailWait] is the loop for whoever
//     must look at each attempt, such as an http.RoundTripper.
//   - [Call] with [Call.Fail] is the decision alone, without a wait, a context
//     or a goroutine, for event loops and simulations.
//
// A client of many upstreams, tenants or operations keeps an engine for each in a
// [Group], which bounds them.
//
// A loop that belongs to somebody else and asks in pieces has [Engine.Resume],
// [Engine.Backoff] and [Call.Pause].
//
// # The call as a state machine
//
//	            Begin
//	              │ Admit (only adaptive mode may make it wait, or, where the
//	              │       wait does not fit, end it)         [deadline]
//	              ▼   Succeed               +1 token (first attempt), or what
//	┌────────▶ sending ───────────▶ ended     the retry took      [success]
//	│             │
//	│             │ Fail
//	│             ├── class not retryable ────────────▶ ended     [non_retryable]
//	│             ├── attempts used up ───────────────▶ ended     [max_attempts]
//	│             ├── request not replayable ─────────▶ ended     [not_replayable]
//	│             ├── quota refuses (a long poll waits) ▶ ended   [quota]
//	│             ├── delay ends after the deadline ──▶ ended     [deadline]
//	│             │
//	│             ▼ cost is taken                                 [retry]
//	│          granted, waits its delay
//	│   Admit     │
//	└─────────────┤
//	              │ Abandon
//	              └── the cost comes back ────────────▶ ended     [cancelled]
//
// While one attempt is under way, [Call.Hedge] may grant another beside it, which
// takes its cost at once; [Call.Adopt] says that it is the one that counts, and
// the call then stands as if it had been a retry. From sending, Abandon ends the
// call too, and a retry keeps its cost. In the state ended every method is
// without effect, so no token moves twice.
//
// # Promises
//
//   - Out of adaptive mode a success at the first attempt reads one shared word,
//     writes none, reads no clock and allocates nothing while the quota is full.
//   - A decision allocates nothing, a refusal neither; a refusal takes nothing.
//   - Adaptive mode adds to these what its limiter does: it counts responses,
//     looks at the clock, and keeps a change of the rate in memory of its own.
//   - Each token that a retry takes ends in exactly one of given back (it
//     succeeded, or was never sent) or spent (R6, R6.3, R6.4), also on panic,
//     cancellation and deadline.
//   - No sleep ends after the caller's deadline.
//   - In a [Group] no key takes another's retries, however many keys there are; to
//     find the engine of a key in use allocates nothing and writes nothing.
//   - The operation's own error is always found by errors.Is and errors.As.
//
// # What is ours
//
// The page is silent on these, so they are documented as ours: the refund of a
// retry that was never sent (R6.3), the deadline rule, hedges, the reasons
// [ReasonNotReplayable] and [ReasonDeadline], [WithPacing],
// [WithThrottleCoalescing], [Engine.Derive], [Engine.Reconfigure], [Group], and
// all of [Legacy] (R1.4).
//
// # Not promised
//
// Fairness among calls that compete for the last tokens; an exact instant at
// which all numbers of [Stats] held together.
package engine
