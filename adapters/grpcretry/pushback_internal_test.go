package grpcretry

import (
	"math"
	"math/big"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"google.golang.org/grpc/metadata"
)

// Peer faults 107 and 113: whatever a server writes, the pushback is its number of
// milliseconds, or the longest delay there is, or a refusal.
func FuzzPushback(f *testing.F) {
	for _, value := range []string{"0", "-1", "x", "1500", "+5", "9223372036854775807", "9223372036854775808", "-9223372036854775809", " 1", "1_0", "0x1", "-0"} {
		f.Add(value)
	}
	number := regexp.MustCompile(`\A[+-]?[0-9]+\z`)
	f.Fuzz(func(t *testing.T, value string) {
		delay, refused := pushbackOf(metadata.MD{pushbackKey: {value}})
		if !number.MatchString(value) {
			assert.Error(t, refused)
			assert.Zero(t, delay)
			return
		}
		ms, _ := new(big.Int).SetString(value, 10)
		if ms.Sign() < 0 {
			assert.Error(t, refused)
			assert.Zero(t, delay)
			return
		}
		assert.NoError(t, refused)
		nanos := ms.Mul(ms, big.NewInt(int64(time.Millisecond)))
		if most := big.NewInt(math.MaxInt64); nanos.Cmp(most) > 0 {
			assert.Equal(t, time.Duration(math.MaxInt64), delay)
		} else {
			assert.Equal(t, time.Duration(nanos.Int64()), delay)
		}
	})
}

// Found by the fuzzer: a number beyond 64 bits with something else behind it.
func TestPushbackTooLargeAndThenNoNumber(t *testing.T) {
	for _, value := range []string{"20000000000000000000A", "20000000000000000000 ", "+20000000000000000000_0"} {
		delay, refused := pushbackOf(metadata.MD{pushbackKey: {value}})
		assert.Error(t, refused, value)
		assert.Zero(t, delay, value)
	}
	delay, refused := pushbackOf(metadata.MD{pushbackKey: {"+20000000000000000000"}})
	assert.NoError(t, refused)
	assert.Equal(t, time.Duration(math.MaxInt64), delay)
}
