package report

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/reprise-go/reprise/cmd/reprise/internal/record"
)

// tableWidth is what a small terminal has.
const tableWidth = 80

// noteWidth is what the longest note of our own needs; an error
// can be longer.
const noteWidth = 41

// Table returns the result as plain text for a terminal, 80 columns
// wide at the most for any but huge numbers; styled with bold titles, which are escape sequences.
func Table(res record.Result, styled bool) string {
	var b strings.Builder
	if res.Interrupted {
		b.WriteString("interrupted: the numbers cover the run so far\n")
	}
	for line := range strings.Lines(text.WrapSoft(setup(res), tableWidth)) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}

	t := newTable()
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 2, Align: text.AlignRight}})
	for i, g := range groups(res) {
		if i > 0 {
			t.AppendSeparator()
		}
		title := g.Title
		if styled {
			title = "\x1b[1m" + title + "\x1b[0m"
		}
		t.AppendRow(table.Row{title, title, title}, table.RowConfig{AutoMerge: true, AutoMergeAlign: text.AlignLeft})
		for _, r := range g.Rows {
			t.AppendRow(table.Row{"  " + r.Name, r.Value, text.WrapSoft(r.Note, noteWidth)})
		}
	}
	b.WriteString(t.Render() + "\n")

	if len(res.Phases) > 1 {
		p := newTable()
		p.AppendHeader(toRow(phaseHeader))
		var configs []table.ColumnConfig
		for i := range phaseHeader[1:] {
			configs = append(configs, table.ColumnConfig{Number: i + 2, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
		p.SetColumnConfigs(configs)
		for _, r := range phaseRows(res) {
			p.AppendRow(toRow(r))
		}
		b.WriteString(p.Render() + "\n")
	}
	return b.String()
}

func newTable() table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleRounded)
	t.Style().Format.Header = text.FormatDefault
	return t
}

func toRow(cells []string) table.Row {
	row := make(table.Row, len(cells))
	for i, cell := range cells {
		row[i] = cell
	}
	return row
}
