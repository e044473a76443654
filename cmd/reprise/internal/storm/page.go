package storm

import (
	"bytes"
	_ "embed"
	"html/template"
	"strings"

	"github.com/reprise-go/reprise/cmd/reprise/internal/figure"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// policyEntry is a policy of the page.
type policyEntry struct {
	entry
	Words string
}

// totals is a table of the page: a row for each policy.
type totals struct {
	Title   string
	Heading []string
	Rows    [][]string
}

// HTML returns the result of s as one page that refers to nothing outside itself
// and has no script.
func HTML(s Setup, r Result) ([]byte, error) {
	charts, err := s.charts(r)
	if err != nil {
		return nil, err
	}
	data := struct {
		Result   Result
		Span     string
		Calls    string
		Facts    []fact
		Policies []policyEntry
		Tables   []totals
		Legend   string
		Charts   []chart
		Style    template.CSS
	}{
		Style:  figure.PageStyle,
		Result: r, Span: span(r.DurationMS), Calls: figure.Count(r.most()), Facts: words(s.Scenario), Charts: charts,
		Tables: []totals{
			{"What became of the calls", heads(mainHeads), mainRows(r)},
			{"What was given up, and what it cost", heads(lossHeads), lossRows(r)},
		},
		Legend: Legend,
	}
	for i, p := range r.Policies {
		words := policyWords[p.Policy]
		if p.Policy == OwnName && s.own != "" {
			words = s.own
		}
		data.Policies = append(data.Policies, policyEntry{entry{className(i), mark(i), p.Policy, figure.Sample(look(p.Policy))}, words})
	}
	var b bytes.Buffer
	if err := page.Execute(&b, data); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// heads are headings without the mark of columns of numbers.
func heads(of []string) (heads []string) {
	for _, h := range of {
		heads = append(heads, strings.TrimPrefix(h, ">"))
	}
	return heads
}
