package engine

import "fmt"

// Mode is how an engine retries (R1). The zero Mode is Standard.
type Mode uint8

// The modes.
const (
	// Standard retries by error class under a quota and never delays a first
	// attempt.
	Standard Mode = iota
	// Adaptive is Standard behind a limiter that measures what the server can
	// take and may delay any attempt, the first included (R8).
	Adaptive
	// Legacy retries without a quota, with one backoff for every class (R1.4).
	Legacy

	modeCount
)

// String returns the mode as settings spell it: "standard", "adaptive" or
// "legacy".
func (m Mode) String() string {
	switch m {
	case Standard:
		return "standard"
	case Adaptive:
		return "adaptive"
	case Legacy:
		return "legacy"
	default:
		return fmt.Sprintf("Mode(%d)", uint8(m))
	}
}
