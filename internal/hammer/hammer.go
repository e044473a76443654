// Package hammer is for tests of code that takes no lock: many goroutines at once,
// on fewer processors than they are, as many, and more than the machine has.
package hammer

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// OnProcs runs f at GOMAXPROCS 1, 2 and 4, each a subtest, and restores it.
func OnProcs(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for _, procs := range []int{1, 2, 4} {
		runtime.GOMAXPROCS(procs)
		t.Run(fmt.Sprintf("procs=%d", procs), f)
	}
}

// Together lets f(0) to f(workers-1) go at one moment, each in a goroutine of its
// own, and waits for all.
func Together(workers int, f func(worker int)) {
	var start, done sync.WaitGroup
	start.Add(1)
	for worker := range workers {
		done.Go(func() {
			start.Wait()
			f(worker)
		})
	}
	start.Done()
	done.Wait()
}
