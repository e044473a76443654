package scenario

import (
	"fmt"
	"math"
)

// CheckAttempts returns an error if an engine cannot make n attempts. It says so
// in the words of the command line (R1.3).
func CheckAttempts(n int) error {
	if n < 1 || int64(n) > math.MaxInt32 {
		return fmt.Errorf("--max-attempts is %d: want 1 to %d, the first attempt included; 1 is no retries", n, math.MaxInt32)
	}
	return nil
}
