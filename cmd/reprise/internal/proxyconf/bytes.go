package proxyconf

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
)

// Bytes is a number of bytes that may be written with a unit: 65536, 64KiB,
// 1MiB.
type Bytes int

var byteUnits = []struct {
	name  string
	shift int
}{{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"B", 0}}

// ParseBytes reads a number of bytes.
func ParseBytes(text string) (Bytes, error) {
	number, shift := strings.TrimSpace(text), 0
	for _, unit := range byteUnits {
		if short, ok := strings.CutSuffix(number, unit.name); ok {
			number, shift = strings.TrimSpace(short), unit.shift
			break
		}
	}
	n, err := strconv.ParseUint(number, 10, 31)
	if err != nil || n > (1<<31-1)>>shift {
		return 0, fmt.Errorf("want a number of bytes below 2 GiB, such as 65536, 64KiB or 1MiB, got %q", scenario.Shorten(text))
	}
	return Bytes(n << shift), nil
}

// UnmarshalText is ParseBytes, for flags.
func (b *Bytes) UnmarshalText(text []byte) (err error) {
	*b, err = ParseBytes(string(text))
	return err
}

// String is the number with the largest unit that divides it.
func (b Bytes) String() string {
	for _, unit := range []int{2, 1, 0} {
		if u := byteUnits[unit]; b != 0 && b%(1<<u.shift) == 0 {
			return fmt.Sprintf("%d%s", b>>u.shift, u.name)
		}
	}
	return fmt.Sprintf("%dB", int(b))
}
