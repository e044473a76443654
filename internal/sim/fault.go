package sim

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// buildFaults schedules the changes.
func (w *world) buildFaults() {
	var at []int64
	for _, f := range w.Faults {
		at = append(at, int64(f.Start), int64(f.Start+f.Length))
	}
	slices.Sort(at)
	for _, at := range slices.Compact(at) {
		w.later(at, faultChanges, request{}, 0)
	}
}

// on reports whether a fault is there at an instant.
func (f *Fault) on(at int64) bool { return int64(f.Start) <= at && at < int64(f.Start+f.Length) }

// befalls is how many shards it befalls.
func (f *Fault) befalls(shards int) int {
	if f.Shards == 0 {
		return shards
	}
	return max(1, int(math.Round(f.Shards*float64(shards))))
}

// applyFaults makes the world as the faults of this instant have it.
func (w *world) applyFaults() {
	w.crowd = 1
	var was []bool
	for i := range w.shards {
		s := &w.shards[i]
		was = append(was, s.down)
		if w.now > 0 {
			w.fillThrottle(s)
		} else {
			s.tokens = w.Server.Throttle.Burst
		}
		s.weather = weather{slow: 1, tight: 1}
	}
	for i := range w.Faults {
		f := &w.Faults[i]
		if !f.on(w.now) {
			continue
		}
		if f.Kind == Crowd {
			w.crowd *= f.Amount
			continue
		}
		for i := range f.befalls(len(w.shards)) {
			w.shards[i].befall(f)
		}
	}
	for i := range w.shards {
		if s := &w.shards[i]; was[i] && !s.down {
			s.cold = 1
		}
	}
}

// mostTimes bounds what factors come to together: infinite times nothing is no number.
const mostTimes = 1e100

func (s *weather) befall(f *Fault) {
	switch f.Kind {
	case Down:
		s.down = true
	case Silent:
		s.silent = true
	case Failing:
		s.fails = 1 - (1-s.fails)*(1-f.Amount)
	case Throttled:
		s.throttles = 1 - (1-s.throttles)*(1-f.Amount)
	case Slow:
		s.slow = min(s.slow*f.Amount, mostTimes)
	case Tight:
		s.tight = min(s.tight*f.Amount, mostTimes)
	}
}

// Trouble is when the first fault begins and the last one ends; false if there
// are none.
func (s *Scenario) Trouble() (from, until time.Duration, ok bool) {
	if len(s.Faults) == 0 {
		return 0, 0, false
	}
	first := slices.MinFunc(s.Faults, func(a, b Fault) int { return cmp.Compare(a.Start, b.Start) })
	last := slices.MaxFunc(s.Faults, func(a, b Fault) int { return cmp.Compare(a.Start+a.Length, b.Start+b.Length) })
	return first.Start, last.Start + last.Length, true
}
