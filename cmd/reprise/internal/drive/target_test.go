package drive

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// FuzzParseTarget reads any text: what is taken is a URL with a host and without a
// user, and reads the same once more.
func FuzzParseTarget(f *testing.F) {
	for _, text := range []string{"http://127.0.0.1:8080/path", "https://[::1]/", "http://user:word@host/", "ftp://host", "http://", "://", "http://host:port", "http://a b/"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := ParseTarget(text)
		if err != nil {
			assert.ErrorContains(t, err, "--target")
			assert.True(t, utf8.ValidString(err.Error()) || !utf8.ValidString(text))
			return
		}
		assert.Contains(t, []string{"http", "https"}, u.Scheme)
		assert.NotEmpty(t, u.Hostname())
		assert.Nil(t, u.User)
		again, err := ParseTarget(u.String())
		require.NoError(t, err)
		assert.Equal(t, u.String(), again.String())
		_ = checkTarget(u, false)
	})
}
