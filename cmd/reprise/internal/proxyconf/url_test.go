package proxyconf_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/cmd/reprise/internal/proxyconf"
)

// FuzzParseURL reads any text: what is taken is a URL that can be sent to as it
// is, and reads the same once more; what is not says so in a line.
func FuzzParseURL(f *testing.F) {
	for _, text := range []string{"http://127.0.0.1:9000", " https://[::1]:1/a%2Fb ", "http://host:0", "http://host:65536", "http://u:p@host", "http://host?q", "http://host#f", "unix:/a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := proxyconf.ParseURL(text)
		if err != nil {
			assert.Less(t, len(err.Error()), 1000)
			assert.NotContains(t, err.Error(), "\n")
			return
		}
		assert.Contains(t, []string{"http", "https"}, u.Scheme)
		assert.NotEmpty(t, u.Hostname())
		assert.Nil(t, u.User)
		assert.Empty(t, u.RawQuery+u.Fragment)
		again, err := proxyconf.ParseURL(u.String())
		require.NoError(t, err)
		assert.Equal(t, u.String(), again.String())
	})
}
