package browser_test

import (
	"context"
	"flag"
	"fmt"
	"image"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var pictures = flag.String("pictures", "", "keep the screenshots in this folder")

// pages are those that the command writes, by the arguments that make it.
var pages = map[string][]string{
	"metastable": {"storm", "metastable"},
	"throttle":   {"storm", "throttle", "--policies", "standard,adaptive,coalescing"},
	"size":       {"storm", "--size", "--transient", "3%", "--throttling", "2%", "--deadline", "2s"},
	"drive":      {"drive", "--calls", "2000", "--seed", "1"},
	"long-poll":  {"storm", "long-poll", "--policies", "none,standard", "--max-attempts", "5"},
}

func TestPages(t *testing.T) {
	command := filepath.Join(t.TempDir(), "reprise")
	out, err := exec.Command("go", "build", "-C", "../../cmd/reprise", "-o", command, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	browser := browse(t)
	for i, name := range slices.Sorted(maps.Keys(pages)) {
		args, on := pages[name], screens
		if testing.Short() { // the race detector sees none of what is looked at
			on = screens[(i+1)%len(screens):][:1]
		}
		file := filepath.Join(t.TempDir(), name+".html")
		out, err := exec.Command(command, append(args, "-q", "--html", file)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		for _, s := range on {
			t.Run(name+"/"+s.name, func(t *testing.T) { look(t, browser, file, name, s) })
		}
	}
}

// figure is a chart, as the page lays it out.
type figure struct {
	ID                  string
	X, Y, Width, Height float64
	Text                float64 // the height of its smallest text
}

func (f *figure) bounds() image.Rectangle {
	return image.Rect(int(f.X), int(f.Y), int(f.X+f.Width), int(f.Y+f.Height))
}

// figuresScript finds the charts that can be seen.
const figuresScript = `[...document.querySelectorAll("figure svg.wide, figure svg.narrow")].filter(s => s.getBoundingClientRect().width > 0).map(s => {
	const r = s.getBoundingClientRect();
	const texts = [...s.querySelectorAll("text")].map(t => t.getBoundingClientRect().height);
	return {ID: s.closest("figure").id, X: r.x + scrollX, Y: r.y + scrollY, Width: r.width, Height: r.height, Text: Math.min(...texts)};
})`

// beyondScript names what is beyond a width, but for what scrolls by itself. innerWidth
// would not do: a phone zooms out until it sees all.
const beyondScript = `[...document.querySelectorAll("body *")].filter(e => !e.closest(".scroll") && !e.closest("svg") && e.getBoundingClientRect().right > %d.5)
	.map(e => e.tagName + " " + e.className)`

func look(t *testing.T, browser context.Context, file, name string, s screen) {
	b := open(browser, t, file, s)
	assert.LessOrEqual(t, eval[int](b, "document.documentElement.scrollWidth"), int(s.width), "nothing is wider than the screen")
	assert.Empty(t, eval[[]string](b, fmt.Sprintf(beyondScript, s.width)))
	figures := eval[[]figure](b, figuresScript)
	all := eval[int](b, `document.querySelectorAll("figure").length`)
	assert.Positive(t, len(figures))
	assert.Equal(t, all, len(figures)+eval[int](b, `[...document.querySelectorAll("figure")].filter(f => !f.querySelector("svg.wide")).length`),
		"a chart is seen once, in the size for the screen")

	picture := b.picture(name + "-" + s.name)
	for _, f := range figures {
		r := f.bounds()
		require.True(t, r.In(picture.Bounds()), "%s at %v of %v", f.ID, r, picture.Bounds())
		drawn := count(picture, r, ink)
		assert.Greater(t, drawn, int(f.Width), "the chart %s is blank", f.ID)
		assert.GreaterOrEqual(t, f.Text, 8.0, "the text of the chart %s can be read", f.ID)
	}
	if s.media == "print" {
		assert.Zero(t, eval[int](b, `[...document.querySelectorAll(":has(table)")].filter(e => getComputedStyle(e).overflowX !== "visible").length`),
			"paper does not scroll, and what scrolls is not broken over pages")
		pdf, err := chromedp.Run(b, chromedp.PrintToPDF(chromedp.PDFPaper(chromedp.PaperA4), chromedp.PDFPreferCSSPageSize()))
		require.NoError(t, err)
		assert.True(t, strings.HasPrefix(string(pdf), "%PDF-"))
		if *pictures != "" {
			require.NoError(t, os.WriteFile(filepath.Join(*pictures, name+".pdf"), pdf, 0o644))
		}
	}
	if eval[bool](b, `document.querySelector("#show-p1") !== null && !matchMedia("print").matches`) {
		hide(t, b, name+"-"+s.name, picture, figures)
	}
	assert.Empty(t, b.trouble(), "errors, or requests to elsewhere")
}

// The README's charts are files of their own.
func TestTheReadmesCharts(t *testing.T) {
	files, err := filepath.Glob("../../docs/storm/*.svg")
	require.NoError(t, err)
	require.Len(t, files, 2)
	browser := browse(t)
	for _, file := range files {
		path, err := filepath.Abs(file)
		require.NoError(t, err)
		b := open(browser, t, path, screens[1])
		picture := b.picture("readme-" + filepath.Base(file))
		assert.Greater(t, count(picture, picture.Bounds(), saturated), 2000, "%s has coloured lines", file)
		assert.Empty(t, b.trouble())
	}
}

// hide unticks every policy: of the charts, nothing but the axes is left.
func hide(t *testing.T, b *tab, name string, before *image.RGBA, figures []figure) {
	eval[int](b, `[...document.querySelectorAll("input[id^=show-]")].map(i => i.click()).length`)
	after := b.picture(name + "-hidden")
	for _, f := range figures {
		if f.ID == "offered" {
			continue // one line for all
		}
		r := f.bounds()
		assert.Less(t, count(after, r, saturated), count(before, r, saturated), "unticked policies are gone from %s", f.ID)
		assert.Less(t, count(after, r, saturated), 40, "and all of them from %s", f.ID)
	}
}

// count counts the pixels of a kind.
func count(img *image.RGBA, r image.Rectangle, is func(r, g, b uint8) bool) (n int) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		row := img.Pix[img.PixOffset(r.Min.X, y):img.PixOffset(r.Max.X, y)]
		for i := 0; i < len(row); i += 4 {
			if is(row[i], row[i+1], row[i+2]) {
				n++
			}
		}
	}
	return n
}

// ink is darker than the grid and the faults' shade.
func ink(r, g, b uint8) bool { return min(r, g, b) < 0xa0 }

// saturated is the colour of a policy's line.
func saturated(r, g, b uint8) bool { return max(r, g, b)-min(r, g, b) > 0x60 }
