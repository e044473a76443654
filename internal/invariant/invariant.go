// Package invariant turns on checks that are too dear for production: they run
// under the race detector and with the build tag reprise_invariants. A check
// never changes the path taken; it panics or it does nothing.
package invariant

// Check panics with what when ok is false. Call it behind [Enabled], so that
// an ordinary build holds neither the call nor the computation of ok.
func Check(ok bool, what string) {
	if !ok {
		panic("reprise: invariant broken: " + what)
	}
}
