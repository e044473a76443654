package explain

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// JSON is the answer for machines: one indented document.
func (a *Answer) JSON() ([]byte, error) {
	text, err := json.Marshal(a, jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true))
	return append(text, '\n'), err
}
