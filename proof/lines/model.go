package main

// machine is what the model is fed with, in nanoseconds.
type machine struct {
	// transfer is how long a line takes from one core to another.
	transfer float64
	// streak is how much of that a write costs when many cores write one line and
	// the one that has it writes more than once before it loses it.
	streak float64
}

// speed is calls per nanosecond, at the worst and at the best.
type speed struct{ worst, best float64 }

// speedOf is the whole model: cores that do not meet add up, and those that write
// one line wait for it in turn, so that all together are no faster than the line.
func (m machine) speedOf(costNanos float64, writesOnOneLine, cores int) speed {
	free := float64(cores) / costNanos
	if writesOnOneLine == 0 || cores == 1 {
		return speed{free, free}
	}
	line := func(nanos float64) float64 { return min(free, 1/(float64(writesOnOneLine)*nanos)) }
	return speed{worst: line(m.transfer), best: line(m.streak)}
}
