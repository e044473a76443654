package proxyconf

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A number of bytes that is read is from 0 to 2 GiB and is read again from what it
// is written as.
func FuzzParseBytes(f *testing.F) {
	for _, text := range []string{"0", "65536", "64KiB", " 1 MiB ", "2GiB", "2147483647", "2147483648", "-1", "1_000", "0x10", "1B", "1kib", "KiB", "9223372036854775808KiB", "1.5MiB"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseBytes(text)
		if err != nil {
			assert.Zero(t, n)
			return
		}
		require.True(t, n >= 0 && int64(n) < 1<<31, "%q: %d", text, n)
		again, err := ParseBytes(n.String())
		require.NoError(t, err, "%q is written %q", text, n)
		assert.Equal(t, n, again)
	})
}
