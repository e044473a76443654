//go:build reprise_loom

package main

import "slices"

// access is an operation on the line at an address, in lines.
type access struct {
	line  uintptr
	write bool
}

// sharedBy tells what of one processor's accesses another, which walks the same
// path, meets.
func sharedBy(path string, own, other []access) touches {
	t := touches{path: path}
	writes := make(map[uintptr]int)
	for _, a := range own {
		shared := slices.ContainsFunc(other, func(b access) bool { return b.line == a.line })
		switch {
		case shared && a.write:
			t.sharedWrites++
			writes[a.line]++
			t.hottest = max(t.hottest, writes[a.line])
		case shared:
			t.sharedReads++
		case a.write:
			t.ownWrites++
		}
	}
	return t
}
