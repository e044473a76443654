// Package peer holds the retry libraries that are measured, each behind the same
// small interface, [Doer], and each as its own documentation would have it where
// speed matters: what can be built once is built once, there is no logger and no
// listener, and the time between two attempts is next to nothing, so that what is
// left is the library's own work. Why a setting is the best is said beside it.
//
// The interface is there for the tests, which hold every Doer to the same work,
// and never on the measured path: [Doer.Loop] is a loop of the library's own
// calls.
package peer
