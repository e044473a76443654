package caddyretry_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func read(t *testing.T, name string) string {
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

// readmeCaddyfile is what a reader copies.
func readmeCaddyfile(t *testing.T) string {
	blocks := regexp.MustCompile("(?ms)^```caddyfile\n(.*?)^```$").FindAllStringSubmatch(read(t, "README.md"), -1)
	require.Len(t, blocks, 1)
	return blocks[0][1]
}

// The README's Caddyfile is the example's, is formatted as Caddy formats, and has
// the settings that it shows; cmd/caddy runs it.
func TestReadme(t *testing.T) {
	text := readmeCaddyfile(t)
	assert.Equal(t, read(t, "../../examples/caddy/Caddyfile"), text)
	assert.Equal(t, string(caddyfile.Format([]byte(text))), text)
	config, err := adapt(text)
	require.NoError(t, err)
	tr, _ := transportOf(t, config)
	assert.Equal(t, "api", tr.Name)
	assert.Equal(t, 3, *tr.MaxAttempts)
	assert.Equal(t, []string{"1.1"}, tr.Versions)
}

// The table of settings has every one, and main is what cmd/caddy is.
func TestReadmeNamesAllSettings(t *testing.T) {
	text := read(t, "README.md")
	for _, key := range regexp.MustCompile(`(?m)^\t\t"([a-z_]+)": +[a-zA-Z.]+`).FindAllStringSubmatch(read(t, "caddyfile.go"), -1) {
		assert.Contains(t, text, key[1])
	}
	program := read(t, "cmd/caddy/main.go")
	assert.Contains(t, text, program[strings.Index(program, "import ("):])
}
