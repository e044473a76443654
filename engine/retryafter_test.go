package engine_test

import (
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/engine"
)

// R5, R5.1, R5.2; peer faults 106 and 107.
func TestParseRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"1500": 1500 * ms, "0": 0, "10000": 10 * time.Second, "10": 10 * ms, "007": 7 * ms,
		" 10": 10 * ms, "10\t ": 10 * ms, "10 20": 0,
		"": 0, " ": 0, "invalid": 0, "-100": 0, "-0": 0, "+5": 0, "1.5": 0, "1500.7": 0, "1e3": 0, "0x10": 0, "1_000": 0, "10ms": 0, "５": 0,
		"Wed, 21 Oct 2015 07:28:00 GMT": 0,
		"9223372036854":                 9223372036854 * ms,
		"9223372036855":                 math.MaxInt64,
		"8640000000000001":              math.MaxInt64,
		"9223372036854775807":           math.MaxInt64,
		"9223372036854775808":           math.MaxInt64,
		"18446744073709551616":          math.MaxInt64,
		strings.Repeat("9", 400):        math.MaxInt64,
		strings.Repeat("0", 400) + "7":  7 * ms,
	} {
		assert.Equal(t, want, engine.ParseRetryAfter(header), "%q", header)
	}
}

// FuzzParseRetryAfter holds the parser against big integers.
func FuzzParseRetryAfter(f *testing.F) {
	for _, header := range []string{"1500", "-1", "1.5", "", " 10 ", "9223372036854775808", "00", "1\x00"} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		got := engine.ParseRetryAfter(header)
		trimmed := strings.Trim(header, " \t")
		want := time.Duration(0)
		if trimmed != "" && strings.Trim(trimmed, "0123456789") == "" {
			millis, _ := new(big.Int).SetString(trimmed, 10)
			if nanos := millis.Mul(millis, big.NewInt(1_000_000)); nanos.IsInt64() {
				want = time.Duration(nanos.Int64())
			} else {
				want = math.MaxInt64
			}
		}
		if got != want {
			t.Fatalf("ParseRetryAfter(%q) = %d, want %d", header, got, want)
		}
	})
}
