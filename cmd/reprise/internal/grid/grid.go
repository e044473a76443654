// Package grid makes the tables of the replay and explain commands look alike.
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
