package scenario

import (
	"fmt"
	"strings"

	"github.com/reprise-go/reprise/engine"
)

// ParseMode returns the mode that a file or a command line names, in whatever case
// (R1.3).
func ParseMode(name string) (engine.Mode, error) {
	text := strings.TrimSpace(name)
	for _, mode := range []engine.Mode{engine.Standard, engine.Adaptive, engine.Legacy} {
		want := mode.String()
		if len(text) == len(want) && strings.EqualFold(text, want) { // of one length only if it is ASCII: no long s
			return mode, nil
		}
	}
	return 0, fmt.Errorf("unknown mode %q: want standard, adaptive or legacy", Shorten(name))
}
