package report

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"

	"github.com/reprise-go/reprise/bench/internal/path"
	"github.com/reprise-go/reprise/bench/internal/ratio"
)

// made is a raw file with every row, twelve passes each: bare costs 1 ns, ours 2
// and all others 11, but for the costs given by "path impl".
func made(t *testing.T, costs map[string]float64) string {
	t.Helper()
	var raw bytes.Buffer
	w := benchfmt.NewWriter(&raw)
	config := Environment()
	for _, p := range path.All() {
		for _, procs := range []int{1, 2, 4} {
			for pass := range 12 {
				for _, s := range p.Sides {
					cost, ok := costs[p.Name+" "+s.Impl]
					switch {
					case ok:
					case s.Impl == "bare":
						cost = 1
					case strings.HasPrefix(s.Impl, "reprise"):
						cost = 2
					default:
						cost = 11
					}
					// The machine is slower by a half in every other pass, for all alike.
					line := Line(Key{p.Name, s.Impl, procs}, 1000, cost*(1+0.5*float64(pass%2)), 3, 48)
					line.Config = config
					require.NoError(t, w.Write(line))
				}
			}
		}
	}
	return raw.String()
}

func read(t *testing.T, raw string) *Data {
	t.Helper()
	d, err := Read(strings.NewReader(raw), "made.txt")
	require.NoError(t, err)
	return d
}

// Both sides of a ratio come from the same pass, so that what befalls all of a
// pass is not in it.
func TestRatioIsWithinAPass(t *testing.T) {
	d := read(t, made(t, nil))
	r, ok := d.Ratio("success", "reprise", "avast", "bare", 1)
	require.True(t, ok)
	assert.InDelta(t, 10, r.Median, 1e-6, "(11 - 1) / (2 - 1)")
	assert.InDelta(t, 10, r.Low, 1e-6)
	assert.InDelta(t, 10, r.High, 1e-6)
	r, ok = d.Ratio("success", "reprise", "avast", "", 1)
	require.True(t, ok)
	assert.InDelta(t, 5.5, r.Median, 1e-6, "11 / 2")
	m, ok := d.Median(Key{"success", "reprise", 1})
	require.True(t, ok)
	assert.InDelta(t, 2.5, m.Median, 1e-6, "half of the passes took 2 ns, half 3")
	for _, missing := range []Key{{"success", "nobody", 1}, {"nowhere", "avast", 1}, {"success", "avast", 3}} {
		_, ok = d.Ratio(missing.Path, "reprise", missing.Impl, "bare", missing.Procs)
		assert.False(t, ok, "%v", missing)
	}
}

// A side that costs no more than its base is not infinitely fast.
func TestRatioStaysFinite(t *testing.T) {
	d := read(t, made(t, map[string]float64{"success reprise": 0.5}))
	r, _ := d.Ratio("success", "reprise", "avast", "bare", 1)
	assert.InDelta(t, 125, r.Median, 26, "10 or 15 over a tenth of a nanosecond")
}

func TestReadNamesWhatIsWrong(t *testing.T) {
	for raw, want := range map[string]string{
		"": "no results",
		"BenchmarkSide/path=x/impl=y 1 2 ns/op\n":            "no row",
		"BenchmarkSide/path=x/impl=y/procs=two 1 2 ns/op\n":  "procs",
		"BenchmarkSide/path=x/impl=y/procs=1 1 broken ns/op": "made.txt:1",
	} {
		_, err := Read(strings.NewReader(raw), "made.txt")
		require.Error(t, err, raw)
		assert.Contains(t, err.Error(), want)
		assert.True(t, strings.HasPrefix(err.Error(), "reprise/bench: "), err.Error())
	}
	// A suffix that go test adds for the processors is not ours.
	d := read(t, "BenchmarkSide/path=x/impl=y/procs=1-2 1 2 ns/op\n")
	assert.Contains(t, d.Rows, Key{"x", "y", 1})
}

// A losing row or a missed goal without a reason is an error that names it.
func TestVerdict(t *testing.T) {
	d := read(t, made(t, map[string]float64{"bucket-moving mutex": 1}))
	err := d.Verdict(Reasons{})
	require.Error(t, err)
	assert.Contains(t, err.Error(), "bucket-moving mutex 1: 0.50")
	assert.Contains(t, err.Error(), "bucket-moving mutex 4: 0.50")
	assert.Contains(t, err.Error(), "goal do-vs-aws-middleware 1: 10.0 of 225")
	assert.NotContains(t, err.Error(), "bucket-full mutex")

	reasons := Reasons{"bucket-moving mutex *": "because"}
	for _, r := range ratio.All {
		reasons["goal "+r.Name+" *"] = "since"
	}
	require.NoError(t, d.Verdict(reasons))
	delete(reasons, "bucket-moving mutex *")
	reasons["bucket-moving mutex 1"] = "because"
	err = d.Verdict(reasons)
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "mutex 1:")
	assert.Contains(t, err.Error(), "mutex 2:")
}

func TestReadReasons(t *testing.T) {
	r, err := ReadReasons(strings.NewReader("# c\n\n success  avast 1 : it: is\ngoal x *: so\n"), "reasons.txt")
	require.NoError(t, err)
	reason, ok := r.of("success", "avast", 1)
	assert.True(t, ok)
	assert.Equal(t, "it: is", reason)
	_, ok = r.of("success", "avast", 2)
	assert.False(t, ok)
	reason, ok = r.of("goal", "x", 2)
	assert.True(t, ok)
	assert.Equal(t, "so", reason)
	for _, bad := range []string{"success avast 1", "success avast: x", "success avast one: x", "success avast 1:"} {
		_, err := ReadReasons(strings.NewReader("\n"+bad), "reasons.txt")
		assert.ErrorContains(t, err, "reasons.txt:2", bad)
	}
}

// The committed reasons are of rows and goals that are.
func TestReasonsAreOfWhatIs(t *testing.T) {
	r, err := ReadReasons(strings.NewReader(reasonsFile(t)), "reasons.txt")
	require.NoError(t, err)
	for key := range r {
		fields := strings.Fields(key)
		if fields[0] == "goal" {
			found := false
			for _, r := range ratio.All {
				found = found || r.Name == fields[1]
			}
			assert.True(t, found, key)
			continue
		}
		p, ok := path.Find(fields[0])
		require.True(t, ok, key)
		_, ok = p.Side(fields[1])
		assert.True(t, ok, key)
	}
}

func TestMarkdown(t *testing.T) {
	d := read(t, made(t, map[string]float64{"bucket-moving mutex": 1}))
	reasons := Reasons{"bucket-moving mutex *": "one word, written by all", "goal jitter *": "the pool"}
	var b strings.Builder
	require.NoError(t, d.Markdown(&b, reasons))
	text := b.String()
	assert.Contains(t, text, "| do-vs-failsafe | 1 | 10.0 | 10.0 to 10.0 | 89 | **missed**")
	assert.Contains(t, text, "| jitter | 1 | 5.5 | 5.5 to 5.5 | 10.0 | **missed**: the pool |")
	assert.Contains(t, text, "| path=bucket-moving/impl=mutex/procs=4 | 0.50 | 0.50 to 0.50 | one word, written by all |")
	assert.Contains(t, text, "| avast | 13.8 | 10.0 (10.0 to 10.0) | 13.8 |")
	for _, p := range path.All() {
		assert.Contains(t, text, "\n### "+p.Name+"\n")
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "|") {
			assert.True(t, strings.HasSuffix(line, "|\n"), line)
		}
	}
}

// The page stands alone: it refers to nothing outside itself, and has a chart of
// each path in both sizes.
func TestHTML(t *testing.T) {
	d := read(t, made(t, map[string]float64{"bucket-moving mutex": 1}))
	var b strings.Builder
	require.NoError(t, d.HTML(&b, Reasons{"bucket-moving mutex *": "<one> word"}))
	page := b.String()
	assert.NotRegexp(t, regexp.MustCompile(`(?i)(src|href)\s*=|url\(|@import|<script|<link`), page)
	assert.Contains(t, page, "&lt;one&gt; word")
	assert.Equal(t, strings.Count(page, `<svg class="wide"`), strings.Count(page, `<svg class="narrow"`))
	assert.Equal(t, strings.Count(page, "<svg "), strings.Count(page, "</svg>"))
	for _, p := range path.All() {
		assert.Contains(t, page, fmt.Sprintf("<h3>%s</h3>", p.Name))
	}
	assert.NotContains(t, page, "NaN")
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0.274: "0.27", 9.99: "9.99", 12.34: "12.3", 123.4: "123", 45678: "45678"} {
		assert.Equal(t, want, nanos(v))
	}
	for v, want := range map[float64]string{0.5: "0.50", 2.994: "2.99", 3.44: "3.4", 19.96: "20.0", 20.4: "20", 1500: "1500"} {
		assert.Equal(t, want, times(v))
	}
	for v, want := range map[float64]string{0.1: "0.1", 1: "1", 1500: "1.5k", 2e6: "2M"} {
		assert.Equal(t, want, shortNumber(v))
	}
}
