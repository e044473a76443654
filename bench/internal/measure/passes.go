package measure

import (
	"slices"
	"time"
)

// Contestant is a side of a path, set up.
type Contestant struct {
	Name  string
	Loops []Loop

	n int // operations of a goroutine in a slice
}

// Prepare calibrates the contestants' slices, which also warms them up.
func Prepare(all []Contestant, slice time.Duration) {
	for i := range all {
		c := &all[i]
		Calibrate(c.Loops, slice/4)
		c.n = Calibrate(c.Loops, slice)
	}
}

// Pass takes turns: a slice of each, so many times over. What a contestant's pass
// gives is the median of its slices, as one in which the machine did something
// else says nothing about it. The order is turned around from turn to turn, so
// that nobody always comes after the same other one.
func Pass(all []Contestant, turns int) []Slice {
	taken := make([][]Slice, len(all))
	for turn := range turns {
		for i := range all {
			if turn%2 == 1 {
				i = len(all) - 1 - i
			}
			c := &all[i]
			taken[i] = append(taken[i], Run(c.Loops, c.n))
		}
	}
	out := make([]Slice, len(all))
	for i, t := range taken {
		slices.SortFunc(t, func(a, b Slice) int {
			switch {
			case a.Nanos() < b.Nanos():
				return -1
			case a.Nanos() > b.Nanos():
				return 1
			}
			return 0
		})
		out[i] = t[(len(t)-1)/2]
	}
	return out
}
