package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"

	"github.com/reprise-go/reprise/bench/internal/path"
	"github.com/reprise-go/reprise/bench/internal/ratio"
)

// Key names a row.
type Key struct {
	Path, Impl string
	Procs      int
}

func (k Key) String() string {
	return fmt.Sprintf("path=%s/impl=%s/procs=%d", k.Path, k.Impl, k.Procs)
}

// Series are a row's passes, in their order: the n-th of one row and the n-th of
// another of the same path and processors are from the same pass.
type Series struct {
	Nanos, Allocs, Bytes []float64
}

// Data is a raw file: all rows and what the file says of machine and versions.
type Data struct {
	Config []benchfmt.Config
	Rows   map[Key]*Series
}

// Line is one pass of one row in Go's benchmark format.
func Line(k Key, n int, nanos, allocs, bytes float64) *benchfmt.Result {
	return &benchfmt.Result{
		Name: benchfmt.Name("Side/" + k.String()), Iters: n,
		Values: []benchfmt.Value{
			{Value: nanos * 1e-9, Unit: "sec/op", OrigValue: nanos, OrigUnit: "ns/op"},
			{Value: bytes, Unit: "B/op"}, {Value: allocs, Unit: "allocs/op"},
		},
	}
}

// Read reads a raw file.
func Read(r io.Reader, name string) (*Data, error) {
	d := &Data{Rows: make(map[Key]*Series)}
	reader := benchfmt.NewReader(r, name)
	for reader.Scan() {
		switch rec := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, fmt.Errorf("reprise/bench: %w", rec)
		case *benchfmt.Result:
			k, err := parseName(string(rec.Name))
			if err != nil {
				return nil, fmt.Errorf("reprise/bench: %s: %w", name, err)
			}
			if d.Config == nil {
				d.Config = slices.Clone(rec.Clone().Config)
			}
			row := d.row(k)
			seconds, _ := rec.Value("sec/op")
			bytes, _ := rec.Value("B/op")
			allocs, _ := rec.Value("allocs/op")
			row.Nanos, row.Bytes, row.Allocs = append(row.Nanos, seconds*1e9), append(row.Bytes, bytes), append(row.Allocs, allocs)
		}
	}
	if err := reader.Err(); err != nil {
		return nil, fmt.Errorf("reprise/bench: %s: %w", name, err)
	}
	if len(d.Rows) == 0 {
		return nil, fmt.Errorf("reprise/bench: %s has no results: want the raw file of a full run", name)
	}
	return d, nil
}

func (d *Data) row(k Key) *Series {
	if d.Rows[k] == nil {
		d.Rows[k] = new(Series)
	}
	return d.Rows[k]
}

// Add adds a pass of a row.
func (d *Data) Add(k Key, nanos, allocs, bytes float64) {
	row := d.row(k)
	row.Nanos, row.Allocs, row.Bytes = append(row.Nanos, nanos), append(row.Allocs, allocs), append(row.Bytes, bytes)
}

func parseName(name string) (k Key, err error) {
	for part := range strings.SplitSeq(name, "/") {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "path":
			k.Path = value
		case "impl":
			k.Impl = value
		case "procs":
			value, _, _ = strings.Cut(value, "-")
			if k.Procs, err = strconv.Atoi(value); err != nil {
				return k, fmt.Errorf("%q: procs: %w", name, err)
			}
		}
	}
	if k.Path == "" || k.Impl == "" || k.Procs < 1 {
		return k, fmt.Errorf("%q is no row: want path=NAME/impl=NAME/procs=N", name)
	}
	return k, nil
}

// Procs are the numbers of processors, in order.
func (d *Data) Procs() []int {
	var all []int
	for k := range d.Rows {
		if !slices.Contains(all, k.Procs) {
			all = append(all, k.Procs)
		}
	}
	slices.Sort(all)
	return all
}

// Interval is a median with the 95 % interval of order statistics around it: no
// distribution is assumed.
type Interval struct{ Median, Low, High float64 }

func summary(values []float64) Interval {
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds), 0.95)
	// Too few passes have no such interval; then it is all that was seen.
	return Interval{s.Center, max(s.Lo, slices.Min(values)), min(s.Hi, slices.Max(values))}
}

// least is what a side costs that is measured to cost less than its base: a part
// of a processor's cycle. It keeps a ratio finite.
const least = 0.1 // ns

// Ratio compares two rows pass by pass: (theirs - base) / (ours - base). base is
// "" for nothing. ok is false if a row is missing.
func (d *Data) Ratio(pathName, ours, theirs, base string, procs int) (i Interval, ok bool) {
	a, b := d.Rows[Key{pathName, ours, procs}], d.Rows[Key{pathName, theirs, procs}]
	if a == nil || b == nil {
		return i, false
	}
	var off []float64
	if base != "" {
		row := d.Rows[Key{pathName, base, procs}]
		if row == nil {
			return i, false
		}
		off = row.Nanos
	}
	n := min(len(a.Nanos), len(b.Nanos))
	if off != nil {
		n = min(n, len(off))
	}
	ratios := make([]float64, n)
	for pass := range n {
		var under float64
		if off != nil {
			under = off[pass]
		}
		ratios[pass] = max(b.Nanos[pass]-under, least) / max(a.Nanos[pass]-under, least)
	}
	return summary(ratios), n > 0
}

// Of is the ratio r on so many processors.
func (d *Data) Of(r ratio.Ratio, procs int) (Interval, bool) {
	return d.Ratio(r.Path, r.Ours, r.Peer, r.Base, procs)
}

// Median is a row's median and interval.
func (d *Data) Median(k Key) (Interval, bool) {
	row := d.Rows[k]
	if row == nil || len(row.Nanos) == 0 {
		return Interval{}, false
	}
	return summary(row.Nanos), true
}

// present are the paths that the data has rows of, in the order of the report.
func (d *Data) present() []path.Path {
	return slices.DeleteFunc(path.All(), func(p path.Path) bool {
		for k := range d.Rows {
			if k.Path == p.Name {
				return false
			}
		}
		return true
	})
}
