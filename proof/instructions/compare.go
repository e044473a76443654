package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/reprise-go/reprise/proof/internal/hot"
)

// compare writes a line for each path and returns what is wrong.
func compare(out io.Writer, paths []hot.Path, b baseline, now counts) (faults []string) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "path\tbaseline\tnow\tchange\trounds alike\t")
	for _, path := range paths {
		reading, counted := now[path.Name]
		if !counted {
			continue
		}
		n, alike := reading.net, fmt.Sprintf("%d/%d", reading.alike, reading.loops)
		old, known := b.find(path.Name)
		switch {
		case !known:
			fmt.Fprintf(table, "%s\t-\t%s\tnew\t%s\t\n", path.Name, number(rounded(n)), alike)
			faults = append(faults, fmt.Sprintf("%s has no row in the baseline: give it one with -update", path.Name))
			continue
		case old.count == 0:
			fmt.Fprintf(table, "%s\t0\t%s\t\t%s\t\n", path.Name, number(rounded(n)), alike)
			if rounded(n) > 0 {
				faults = append(faults, fmt.Sprintf("%s cost nothing and costs %s instructions now", path.Name, number(rounded(n))))
			}
		default:
			change := n/old.count - 1
			fmt.Fprintf(table, "%s\t%s\t%s\t%+.1f %%\t%s\t\n", path.Name, number(old.count), number(rounded(n)), 100*change, alike)
			if change > growth+1e-9 {
				faults = append(faults, fmt.Sprintf("%s has grown by %.1f %%, from %s instructions to %s; the baseline's reason was %q",
					path.Name, 100*change, number(old.count), number(rounded(n)), old.reason))
			}
		}
		if limit, ok := now[path.Like]; ok && rounded(n) > rounded(limit.net) {
			faults = append(faults, fmt.Sprintf("%s costs %s instructions and must not cost more than %s, which costs %s",
				path.Name, number(rounded(n)), path.Like, number(rounded(limit.net))))
		}
	}
	table.Flush()
	for _, r := range b.rows {
		gone := true
		for _, path := range paths {
			gone = gone && path.Name != r.path
		}
		if gone {
			faults = append(faults, fmt.Sprintf("%s has a row in the baseline and is no path any more: -update drops it", r.path))
		}
	}
	return faults
}
