package report

import (
	"encoding/json"

	"github.com/reprise-go/reprise/cmd/reprise/internal/record"
)

// JSON returns the result as one indented JSON object and a newline.
func JSON(res record.Result) ([]byte, error) {
	text, err := json.MarshalIndent(res, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}
