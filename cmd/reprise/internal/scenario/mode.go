package scenario

import (
	"fmt"
	"strings"

	"github.com/reprise-go/reprise/engine"
)

// ParseMode returns the mode that a file or a command line names, in whatever case
// (R1.3).
func ParseMode(name string) (engine.Mode, error) {
	for _, mode := range []engine.Mode{engine.Standard, engine.Adaptive, engine.Legacy} {
		if strings.EqualFold(mode.String(), strings.TrimSpace(name)) {
			return mode, nil
		}
	}
	return 0, fmt.Errorf("unknown mode %q: want standard, adaptive or legacy", Shorten(name))
}
