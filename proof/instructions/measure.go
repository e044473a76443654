package main

import (
	"errors"
	"runtime"
	"runtime/debug"

	"github.com/reprise-go/reprise/proof/internal/hot"
)

// plan is how a path is measured: the lengths of the two loops of a round, and how
// many rounds there are, each over fresh state. The difference of the two is what
// so many more operations cost, and nothing else: the start and the dump are in
// both.
type plan struct{ short, long, rounds int }

const warmLoops = 300

func planOf(path hot.Path) plan {
	if path.Rare {
		return plan{1, 2, 40}
	}
	return plan{1000, 3000, 5}
}

// What a program may ask of valgrind and of callgrind.
const (
	runningOnValgrind = 0x1001
	callgrind         = 'C'<<24 | 'T'<<16
	dumpCounts        = callgrind + 0
	zeroCounts        = callgrind + 1
)

// The first goroutine stays on the first thread, whose counts lie apart from those
// of the runtime's own threads.
func init() { runtime.LockOSThread() }

// measure walks the paths inside of valgrind: one dump for each loop, in the order
// of the paths, the rounds, and short before long.
//
// Nothing else may get in between: no collection, no signal that preempts
// (asyncpreemptoff), and two processors, because a counter for one is another
// path. What remains is that the runtime asks a goroutine to give way every 10 ms;
// the loops are shorter than that most of the time, and the least of all rounds
// counts.
func measure(only func(name string) bool) error {
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(2)
	if request(&[6]uint64{runningOnValgrind}) == 0 {
		return errors.New("not under valgrind: this is started by instructions itself")
	}
	for _, path := range hot.Paths() {
		if !only(path.Name) {
			continue
		}
		plan := planOf(path)
		for range plan.rounds {
			for _, n := range []int{plan.short, plan.long} {
				loop := path.Make()
				loop(warmLoops)
				request(&[6]uint64{zeroCounts})
				loop(n)
				request(&[6]uint64{dumpCounts})
			}
		}
	}
	return nil
}
