//go:build race || reprise_invariants

package invariant

// Enabled says whether invariants are checked in this build.
const Enabled = true
