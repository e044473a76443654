package report

import (
	"bytes"
	_ "embed"
	"html/template"

	"github.com/reprise-go/reprise/cmd/reprise/internal/record"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// HTML returns the result as one page that refers to nothing outside itself.
func HTML(res record.Result) ([]byte, error) {
	drawn, err := charts(res)
	if err != nil {
		return nil, err
	}
	data := struct {
		Result record.Result
		Setup  string
		// Headline are the numbers to see first.
		Headline    []row
		Groups      []group
		Charts      []chart
		PhaseHeader []string
		Phases      [][]string
	}{
		Result:   res,
		Setup:    setup(res),
		Headline: headline(res),
		Groups:   groups(res),
		Charts:   drawn,
	}
	if len(res.Phases) > 1 {
		data.PhaseHeader, data.Phases = phaseHeader, phaseRows(res)
	}
	var b bytes.Buffer
	if err := page.Execute(&b, data); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func headline(res record.Result) []row {
	rows := []row{
		{"calls", count(res.Calls), ""},
		{"succeeded", percent(res.SuccessRate), ""},
		{"retries", count(res.Retries.Total), ""},
		{"added, p99", duration(res.Added.P99), ""},
	}
	if res.Capacity != nil {
		rows = append(rows, row{"capacity used", percent(res.Capacity.ShareUsed), ""})
	}
	if res.Quota.Enabled {
		rows = append(rows, row{"lowest quota", count(uint64(max(res.Quota.Lowest, 0))), ""})
	}
	return rows
}
