package proxyconf_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/cmd/reprise/internal/proxyconf"
)

// Parsers need memory by the square of a file's depth: nothing but depth must
// not get that far.
func TestDeepFiles(t *testing.T) {
	const n = proxyconf.MaxFileBytes/2 - 10
	for name, text := range map[string]string{
		"a.yaml": "a: " + strings.Repeat("[", n),
		"b.yaml": "a: " + strings.Repeat("[\n", n),
		"c.yaml": strings.Repeat("- ", n),
		"d.yaml": "a: " + strings.Repeat("{a: ", n/2),
		"e.yaml": strings.Repeat("? ", n),
		"f.yaml": strings.Repeat("!a ", n/2),
		"g.toml": "a = " + strings.Repeat("[", n) + strings.Repeat("]", n),
		"h.toml": strings.Repeat("a.", n) + "a = 1",
	} {
		_, err := proxyconf.Parse(name, []byte(text))
		if strings.ContainsAny(text, "[{") {
			assert.ErrorContains(t, err, "64 brackets open: want fewer", name)
		} else {
			assert.ErrorContains(t, err, "1024 bytes in the line: want it in several", name)
		}
	}
	_, err := proxyconf.Parse("many.toml", []byte(strings.Repeat("[[upstreams]]\n", 10_001)))
	assert.ErrorContains(t, err, "upstreams are 10001: want up to 10000")
	_, err = proxyconf.Parse("escaped.toml", []byte("\n\"l\\u0069sten\" = 1\n'a.b' = 2\n"))
	assert.ErrorContains(t, err, "escaped.toml:2: listen is")
	assert.ErrorContains(t, err, "escaped.toml:3: a.b is")
}
