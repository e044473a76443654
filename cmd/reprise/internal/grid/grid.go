// Package grid makes the tables of the commands look alike.
package grid

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// New returns an empty table with these headings. A heading that begins with
// ">" is of a column of numbers, which is aligned to the right.
func New(headings ...string) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleRounded)
	t.Style().Format.Header = text.FormatDefault
	header := make(table.Row, len(headings))
	var columns []table.ColumnConfig
	for i, heading := range headings {
		name, right := strings.CutPrefix(heading, ">")
		if right {
			columns = append(columns, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
		header[i] = name
	}
	t.AppendHeader(header)
	t.SetColumnConfigs(columns)
	return t
}

// Render lays out a table of these headings and rows. Where it would be wider than so
// many columns, which a terminal would break, it goes without the blanks beside the
// lines; 0 is any number of columns.
func Render(columns int, headings []string, rows [][]string) string {
	t := New(headings...)
	for _, row := range rows {
		cells := make(table.Row, len(row))
		for i, cell := range row {
			cells[i] = cell
		}
		t.AppendRow(cells)
	}
	out := t.Render()
	if columns > 0 && text.LongestLineLen(out) > columns {
		t.Style().Box.PaddingLeft, t.Style().Box.PaddingRight = "", ""
		out = t.Render()
	}
	return out + "\n"
}

// Within is a width on a terminal of so many columns.
func Within(width, columns int) int {
	if columns > 0 {
		width = min(width, columns)
	}
	return width
}
