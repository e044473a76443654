package size

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// percent writes a share with up to 4 digits of what matters: near 1 that is how much
// is missing.
func percent(share float64) string {
	digits := 2
	if missing := 1 - share; share > 0.9 && missing > 1e-9 {
		digits = max(2, int(-math.Floor(math.Log10(missing)))-1)
	}
	text := strconv.FormatFloat(100*share, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text + "%"
}

// percentDown is percent, never more than there is.
func percentDown(share float64) string { return percent(math.Floor(share*1e6) / 1e6) }

func number(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }

func span(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
