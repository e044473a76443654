package awsretry

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// R9: whatever the SDK's header says, it comes out with the attempt's number
// first and once, and the rest in its order.
func FuzzNumbered(f *testing.F) {
	for _, header := range []string{"", "attempt=1", "attempt=1; max=3", "attempt=1; max=3; ttl=20000101T001100Z", ";;max=;attempt", "ttl=1;attempt=9"} {
		f.Add(header, 2, 4)
	}
	f.Fuzz(func(t *testing.T, header string, attempt, most int) {
		value := numbered(header, attempt, most)
		assert.True(t, strings.HasPrefix(value, "attempt="))
		assert.Equal(t, value, numbered(value, attempt, most))
		assert.LessOrEqual(t, len(value), len("attempt=; max=")+40+2*len(header)+2)
		if rest := strings.Split(value, "; ")[2:]; len(rest) > 0 {
			assert.False(t, strings.HasPrefix(strings.TrimSpace(rest[0]), "max="))
		}
	})
}

func TestNumbered(t *testing.T) {
	for header, want := range map[string]string{
		"":                                       "attempt=2; max=4",
		"attempt=1; max=3":                       "attempt=2; max=4",
		"attempt=1; max=3; ttl=20000101T001100Z": "attempt=2; max=4; ttl=20000101T001100Z",
		"ttl=1;attempt=9":                        "attempt=2; max=4; ttl=1",
	} {
		assert.Equal(t, want, numbered(header, 2, 4))
	}
}

// A copy of a config file says all that the file does but retry_mode = legacy,
// line by line.
func FuzzWithoutLegacy(f *testing.F) {
	for _, text := range []string{
		"", "[default]\nretry_mode = legacy\n", "retry_mode=LEGACY ; x\r\nregion = x", "retry_mode = legacyish\n", "# retry_mode = legacy",
		"retry_mode == legacy", "x = retry_mode = legacy", "\tretry_mode\t=\tlegacy\t# as ever",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		readable, changed := withoutLegacy(bytes.Clone(text))
		before, after := bytes.Split(text, []byte("\n")), bytes.Split(readable, []byte("\n"))
		require.Len(t, after, len(before))
		for i := range before {
			if !bytes.Equal(before[i], after[i]) {
				assert.True(t, saysLegacy(string(before[i])))
				assert.Equal(t, "# "+string(before[i]), string(after[i]))
				assert.True(t, changed)
			}
			assert.False(t, saysLegacy(string(after[i])))
		}
		_, again := withoutLegacy(readable)
		assert.False(t, again)
	})
}
