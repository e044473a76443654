package figure

import (
	_ "embed"
	"fmt"
	"html/template"
	"strings"
)

//go:embed page.css
var pageStyle string

// PageStyle is what pages with charts look like: on a screen, on a phone, on paper.
var PageStyle = template.CSS(pageStyle)

// Sample is a short piece of a line, for legends.
func Sample(style Style) template.HTML {
	var dashes []string
	for _, d := range style.Dashes {
		dashes = append(dashes, fmt.Sprintf("%g", float64(d)))
	}
	c := style.Color
	return template.HTML(fmt.Sprintf(`<svg class="sample" viewBox="0 0 34 10" aria-hidden="true"><path d="M0,5H34" stroke="#%02x%02x%02x" stroke-width="%g" stroke-dasharray="%s"/></svg>`,
		c.R, c.G, c.B, float64(style.Width), strings.Join(dashes, ","))) // made here, from numbers
}
