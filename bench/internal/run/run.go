// Package run takes a path's sides through their passes.
package run

import (
	"time"

	"github.com/reprise-go/reprise/bench/internal/measure"
	"github.com/reprise-go/reprise/bench/internal/path"
)

// Plan is how long and how often.
type Plan struct {
	Passes int
	Turns  int // slices of each side in a pass
	Slice  time.Duration
}

// Pass is one pass: a slice of each side of a path, in their order.
type Pass []measure.Slice

// Path runs p on that many processors, each pass given to done as it is over.
// Fresh sides run in processes of their own, as often, and on one processor alone:
// on more Path does nothing.
func Path(p path.Path, procs int, plan Plan, done func(Pass)) (err error) {
	if IsFresh(p) {
		if procs == 1 {
			return fresh(p, plan, done)
		}
		return nil
	}
	measure.WithProcs(procs, func() {
		var all []measure.Contestant
		for _, s := range p.Sides {
			i := s.New(procs)
			all = append(all, measure.Contestant{Name: s.Impl, Loops: i.Loops})
		}
		measure.Prepare(all, plan.Slice)
		for range plan.Passes {
			done(measure.Pass(all, plan.Turns))
		}
	})
	return nil
}

// IsFresh reports whether a path's sides need processes of their own.
func IsFresh(p path.Path) bool { return len(p.Sides) > 0 && p.Sides[0].Fresh != nil }

func fresh(p path.Path, plan Plan, done func(Pass)) error {
	for range plan.Passes {
		var pass Pass
		for _, s := range p.Sides {
			n, elapsed, err := p.RunFresh(s)
			if err != nil {
				return err
			}
			pass = append(pass, measure.Slice{N: n, Elapsed: elapsed})
		}
		done(pass)
	}
	return nil
}
