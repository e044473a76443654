package scenario

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"":                "",
		"run 1.json: ü":   "run 1.json: ü",
		"a\x1b[31m\nb":    `a\x1b[31m\nb`,
		"\u202ereversed":  `\u202ereversed`,
		"no\xffutf8":      "no\ufffdutf8",
		`a "quoted" \x1b`: `a "quoted" \x1b`,
	} {
		assert.Equal(t, want, Printable(text))
	}
}
