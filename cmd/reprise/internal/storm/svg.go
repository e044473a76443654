package storm

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/reprise-go/reprise/cmd/reprise/internal/figure"
)

// Picture is a chart as a file of its own.
type Picture struct {
	Name string // of the file
	Text []byte
}

// PictureNames are the files that there may be.
func PictureNames() (names []string) {
	for _, c := range courses {
		names = append(names, pictureName(c.id))
	}
	return names
}

func pictureName(id string) string { return id + ".svg" }

const (
	pictureMargin = 12
	pictureHead   = 58 // title, text, and the first line of the legend
	keyHeight     = 22
	keyWidth      = 118
)

// SVG returns the result's charts as SVG files, each with its title and its legend;
// charts without a line are left out.
func SVG(s Setup, r Result) (pictures []Picture, err error) {
	charts, err := s.charts(r)
	if err != nil {
		return nil, err
	}
	for _, c := range charts {
		if c.Wide != "" {
			pictures = append(pictures, Picture{pictureName(c.ID), c.file()})
		}
	}
	return pictures, nil
}

// file puts the chart into a file.
func (c *chart) file() []byte {
	width, height := float64(figure.Wide.Width), float64(figure.Wide.Height)*4/3
	perLine := int(width / keyWidth)
	lines := (len(c.Legend) + perLine - 1) / perLine
	top := pictureHead + float64(lines)*keyHeight
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="system-ui, Segoe UI, Liberation Sans, Arial, sans-serif" fill="#222b36">`,
		width+2*pictureMargin, top+height+2*pictureMargin)
	fmt.Fprintf(&b, "\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n")
	fmt.Fprintf(&b, `<text x="%d" y="28" font-size="17" font-weight="600">%s</text>`+"\n", pictureMargin, template.HTMLEscapeString(c.Title))
	fmt.Fprintf(&b, `<text x="%d" y="49" font-size="13" fill="#4a5664">%s</text>`+"\n", pictureMargin, template.HTMLEscapeString(c.Text))
	for i, e := range c.Legend {
		x, y := pictureMargin+float64(i%perLine)*keyWidth, float64(pictureHead+i/perLine*keyHeight+keyHeight/2)
		if e.Mark != "" {
			fmt.Fprintf(&b, `<circle cx="%g" cy="%g" r="8" fill="none" stroke="#222b36" stroke-width="1.2"/><text x="%g" y="%g" font-size="10.5" text-anchor="middle">%s</text>`,
				x+9, y, x+9, y+3.7, e.Mark)
		}
		sample := strings.Replace(string(e.Sample), "<svg ", fmt.Sprintf(`<svg x="%g" y="%g" width="34" height="10" `, x+22, y-5), 1)
		fmt.Fprintf(&b, "%s<text x=\"%g\" y=\"%g\" font-size=\"12.5\">%s</text>\n", sample, x+61, y+4, template.HTMLEscapeString(e.Name))
	}
	inside := strings.Replace(string(c.Wide), "<svg ", fmt.Sprintf(`<svg x="%d" y="%g" width="%g" height="%g" `, pictureMargin, top+pictureMargin, width, height), 1)
	b.WriteString(inside + "\n</svg>\n")
	return []byte(b.String())
}
