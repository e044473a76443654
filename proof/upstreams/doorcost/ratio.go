package main

import (
	"math"
	"slices"
)

// block is two rounds of each gateway of a pair.
type block struct{ bare, door [2]round }

// figure is one number of a pair.
type figure struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	Bare   float64 `json:"bare"`  // median of the rounds
	Door   float64 `json:"door"`  // median of the rounds
	Added  float64 `json:"added"` // median over the blocks; percent, or of the unit if that is a count
	Low    float64 `json:"low"`   // of the interval that holds the true median
	High   float64 `json:"high"`
	Target float64 `json:"target,omitempty"` // Added is not to be above it
	Held   string  `json:"held,omitempty"`   // yes, no, or undecided: the interval is on both sides
}

// compare takes one number out of each round. added says what the door adds, of
// the means of a block.
func compare(name, unit string, all []block, of func(round) float64, added func(bare, door float64) float64) figure {
	f := figure{Name: name, Unit: unit}
	var bare, door, each []float64
	for _, b := range all {
		b0, b1, d0, d1 := of(b.bare[0]), of(b.bare[1]), of(b.door[0]), of(b.door[1])
		bare, door = append(bare, b0, b1), append(door, d0, d1)
		each = append(each, added((b0+b1)/2, (d0+d1)/2))
	}
	f.Bare, f.Door, f.Added = median(bare), median(door), median(each)
	f.Low, f.High = interval(each)
	return f
}

// Less throughput is what a door costs, and more of anything else.
func lost(bare, door float64) float64   { return 100 * (1 - door/bare) }
func gained(bare, door float64) float64 { return 100 * (door/bare - 1) }
func more(bare, door float64) float64   { return door - bare }

// against sets the target.
func (f figure) against(target float64) figure {
	f.Target = target
	switch {
	case f.High <= target:
		f.Held = "yes"
	case f.Low > target:
		f.Held = "no"
	default:
		f.Held = "undecided"
	}
	return f
}

func median(list []float64) float64 {
	if len(list) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(list))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// interval is the narrowest pair of equally distant order statistics that holds
// the true median with 95 %; of five or fewer numbers, the least and the greatest,
// which hold it with less.
func interval(list []float64) (low, high float64) {
	n := len(list)
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	sorted := slices.Sorted(slices.Values(list))
	// The true median lies below the k-th of n with the chance of at most k-1
	// heads in n throws.
	k, below, term := 0, 0.0, math.Pow(0.5, float64(n))
	for i := 0; i < n/2; i++ {
		if below += term; 2*below > 0.05 {
			break
		}
		k = i
		term *= float64(n-i) / float64(i+1)
	}
	return sorted[k], sorted[n-1-k]
}
