package scenario

import (
	"fmt"

	"github.com/reprise-go/reprise/engine"
)

// ParseMode returns the mode that a file or a command line names. It is stricter
// than settings are: the name has to be spelt as documented.
func ParseMode(name string) (engine.Mode, error) {
	for _, mode := range []engine.Mode{engine.Standard, engine.Adaptive, engine.Legacy} {
		if mode.String() == name {
			return mode, nil
		}
	}
	return 0, fmt.Errorf("unknown mode %q: want standard, adaptive or legacy", Shorten(name))
}
