// Package differential holds a test that runs the retryers of aws-sdk-go-v2 and
// the engine side by side, on random scripts, and compares them at every step. It
// exports nothing.
//
//	make differential-long            # 10^8 steps
//	go test -run TestDifferential -v  # the million of make ci, with its report
//
// # What runs
//
// On the one side the SDK's own loop, retry.Attempt, with retry.Standard or
// retry.AdaptiveMode, its own backoff and its own token bucket, in the virtual
// time of testing/synctest. On the other an engine.Call, sans-IO, that is told the
// same instants and the same errors. A step is an attempt. The draws of the SDK's
// jitter come from crypto/rand; testing/cryptotest makes them a known stream, and
// the engine's Source is the same one. The limiter of AdaptiveMode is unexported:
// reflection reads its fields, and changes none.
//
// # What is compared
//
//   - of each attempt: when the send limiter lets it go;
//   - of each failure: whether it is retried or why not, and the delay, to the
//     nanosecond and one more, which is where the SDK's arithmetic in seconds ends;
//   - after each attempt and each call: the level of the quota, and in adaptive mode
//     whether the limiter is on, its fill rate, measured rate, capacity and level, to
//     1e-9.
//
// # Differences
//
// The table in difference_test.go names what is different on purpose, and why. A
// step may differ in what an entry says, for the cause that it says. Both sides
// are then made equal again, with the SDK's public AddTokens or an attempt of the
// engine's, and the script goes on. Anything else fails, and so does an entry that
// never occurs. What fails is cut down by delta debugging to the fewest calls and
// attempts, and written to a file that `go test -run TestScript -args -script FILE`
// runs again, and beside it, where the format can say it, one for `reprise replay`.
//
// # What is not compared
//
// The instants of waits are compared to a few nanoseconds: the SDK cuts a wait to
// whole nanoseconds and then asks again until one has gone by. Calls follow each
// other: attempts in flight side by side have no order that two implementations
// could be held to; package ratelimit compares interleaved histories with a model.
// An answer in the last nanoseconds of a half second counts in the next one for the
// SDK, which has its clock in a float64; no script has one, and TestBorder shows it.
// Waiting in line (Call.AdmitWait) is ours alone. The kept skew of a client is the
// AWS door's and is compared in adapters/awsretry/proof, with real clients.
package differential
