package path

import (
	"fmt"
	"time"

	"github.com/reprise-go/reprise/bench/internal/measure"
)

// Path is one piece of work and those that do it.
type Path struct {
	Name  string // as in path=NAME
	What  string // a sentence for the report
	Ours  string // the side that the others are compared with
	Base  string // the side that is taken off all others, "" for none
	Sides []Side
}

// Side is one implementation of a path.
type Side struct {
	Impl string // as in impl=NAME
	// New makes what the goroutines of one measurement share, for that many of
	// them.
	New func(procs int) Instance
	// Fresh, in the place of New, is for what can be done once in the life of a
	// process. It runs in one made for it.
	Fresh func() (n int, elapsed time.Duration)
}

// Instance is a side that is set up.
type Instance struct {
	Loops []measure.Loop // one a goroutine
}

// Benchmark is a side's name among the benchmarks.
func (p Path) Benchmark(side Side, procs int) string {
	return fmt.Sprintf("path=%s/impl=%s/procs=%d", p.Name, side.Impl, procs)
}

// Side finds a side by its name.
func (p Path) Side(impl string) (Side, bool) {
	for _, s := range p.Sides {
		if s.Impl == impl {
			return s, true
		}
	}
	return Side{}, false
}

// All are the paths, in the order of the report.
func All() []Path {
	var all []Path
	for _, group := range [][]Path{calls(), decisions(), classes(), draws(), buckets(), limiters(), lookups(), trips()} {
		all = append(all, group...)
	}
	for i := range all {
		all[i].Ours, all[i].Base = ours(all[i]), base(all[i])
	}
	return all
}

// ours is engine.Do where a path has it, else the nearest to it.
func ours(p Path) string {
	if _, ok := p.Side("reprise"); ok {
		return "reprise"
	}
	return "reprise-call"
}

func base(p Path) string {
	if _, ok := p.Side("bare"); ok {
		return "bare"
	}
	return ""
}

// Find finds a path by its name.
func Find(name string) (Path, bool) {
	for _, p := range All() {
		if p.Name == name {
			return p, true
		}
	}
	return Path{}, false
}

// each makes the loop of each goroutine.
func each(procs int, make func() measure.Loop) []measure.Loop {
	var loops []measure.Loop
	for range procs {
		loops = append(loops, make())
	}
	return loops
}

// side is a side whose goroutines need nothing of their own.
func side(impl string, setup func() measure.Loop) Side {
	return Side{Impl: impl, New: func(procs int) Instance {
		loop := setup()
		return Instance{Loops: each(procs, func() measure.Loop { return loop })}
	}}
}
