package loom

// ExploreFrozen stops each thread before each of its steps in turn, for ever, in
// every schedule of the others around it: they must end, within Options.OwnSteps
// of their own. The result is the sum.
func ExploreFrozen(o Options, start func() Trial) (sum Result, err error) {
	sum.Complete = true
	for t := range start().Threads {
		for step := 0; ; step++ {
			o.Freeze = &Freeze{Thread: t, Step: step}
			r, err := Explore(o, start)
			sum.Schedules += r.Schedules
			sum.Pruned += r.Pruned
			sum.Steps += r.Steps
			sum.OwnSteps = max(sum.OwnSteps, r.OwnSteps)
			sum.Complete = sum.Complete && r.Complete
			if err != nil {
				return sum, err
			}
			if !r.Frozen {
				break // it has no such step
			}
			sum.Frozen = true
		}
	}
	return sum, nil
}
