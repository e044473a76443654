package engine

import (
	"fmt"
	"strings"
)

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

// ParseMode returns the mode that a name says, in whatever case and with blanks
// around it (R1.3). Any other name is an error that says which there are.
func ParseMode(name string) (Mode, error) {
	text := strings.TrimSpace(name)
	for mode := range modeCount {
		want := mode.String()
		if len(text) == len(want) && strings.EqualFold(text, want) { // of one length only if it is ASCII: no long s
			return mode, nil
		}
	}
	return 0, fmt.Errorf("reprise/engine: unknown mode %.40q: want standard, adaptive or legacy", name)
}
