package scenario

import (
	"fmt"

	"github.com/reprise-go/reprise/engine"
)

// ParseMode is [engine.ParseMode] with the words of the command.
func ParseMode(name string) (engine.Mode, error) {
	mode, err := engine.ParseMode(name)
	if err != nil {
		return 0, fmt.Errorf("unknown mode %q: want standard, adaptive or legacy", Shorten(name))
	}
	return mode, nil
}
