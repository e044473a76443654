package report

import (
	"fmt"
	"strings"

	"github.com/reprise-go/reprise/bench/internal/ratio"
)

// loss is a row that is faster than ours.
type loss struct {
	key    Key
	ratio  Interval // theirs over ours
	reason string
}

// goal is a goal and what came of it.
type goal struct {
	ratio  ratio.Ratio
	procs  int
	want   float64 // 0 if none was set
	got    Interval
	reason string // why it was missed, if it was
}

func (g goal) met() bool { return g.got.Median >= g.want }

// unexplained are the rows that lose and the goals that are missed without a
// reason: an error, so that none goes into a report unseen.
type unexplained []string

func (u unexplained) Error() string {
	return "reprise/bench: these lose, or miss their goal, and the file of reasons does not say why; it wants a line \"path impl procs: reason\" for each:\n  " +
		strings.Join(u, "\n  ")
}

// losses are the rivals' rows whose whole interval lies below 1.
func (d *Data) losses(reasons Reasons) (all []loss, missing unexplained) {
	for _, p := range d.present() {
		for _, procs := range d.Procs() {
			for _, s := range p.Sides {
				if s.Impl == p.Ours || s.Impl == p.Base || strings.HasPrefix(s.Impl, "reprise") {
					continue
				}
				r, ok := d.Ratio(p.Name, p.Ours, s.Impl, p.Base, procs)
				if !ok || r.High >= 1 {
					continue
				}
				l := loss{key: Key{p.Name, s.Impl, procs}, ratio: r}
				if l.reason, ok = reasons.of(p.Name, s.Impl, procs); !ok {
					missing = append(missing, fmt.Sprintf("%s %s %d: %.2f", p.Name, s.Impl, procs, r.Median))
				}
				all = append(all, l)
			}
		}
	}
	return all, missing
}

func (d *Data) goals(reasons Reasons) (all []goal, missing unexplained) {
	for _, r := range ratio.All {
		for _, procs := range []int{1, 2} {
			got, ok := d.Of(r, procs)
			if !ok {
				continue
			}
			g := goal{ratio: r, procs: procs, want: r.Goal(procs), got: got}
			if !g.met() {
				if g.reason, ok = reasons.of("goal", r.Name, procs); !ok {
					missing = append(missing, fmt.Sprintf("goal %s %d: %.1f of %g", r.Name, procs, got.Median, g.want))
				}
			}
			all = append(all, g)
		}
	}
	return all, missing
}

// Verdict reports losing rows and missed goals that have no reason.
func (d *Data) Verdict(reasons Reasons) error {
	_, rows := d.losses(reasons)
	_, goals := d.goals(reasons)
	if missing := append(rows, goals...); len(missing) > 0 {
		return missing
	}
	return nil
}
