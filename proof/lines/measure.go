package main

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"go.uber.org/atomic"
)

// measured is a path with what it costs one core, and two.
type measured struct {
	name            string
	writesOnOneLine int
	costNanos       float64
	pairNanos       float64 // of a call on each of two cores at once, divided by two; 0: the machine was too busy to tell
}

// repeats are many and short: the machine may have other things to do.
const repeats = 40

// timing is the least time of many repeats, in nanoseconds.
func timing(run func()) float64 {
	least := math.Inf(1)
	for range repeats {
		begin := time.Now()
		run()
		least = min(least, float64(time.Since(begin)))
	}
	return least
}

// together runs a loop on each of two cores at once, n times each, and returns the
// nanoseconds of one: the median of the repeats in which they were at once, for the
// least would be of those in which they were not. 0 if there are none: the machine
// is busy, or has one core.
func together(n int, loop func(n int)) float64 {
	var all []float64
	for range repeats {
		var begin, end [2]time.Time
		var begun, done sync.WaitGroup
		begun.Add(2)
		for i := range 2 {
			done.Go(func() {
				begun.Done()
				begun.Wait()
				begin[i] = time.Now()
				loop(n)
				end[i] = time.Now()
			})
		}
		done.Wait()
		begins, ends := sorted(begin), sorted(end)
		both, whole := ends[0].Sub(begins[1]), ends[1].Sub(begins[0])
		if both > whole*8/10 {
			all = append(all, float64(whole)/float64(2*n))
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func sorted(t [2]time.Time) [2]time.Time {
	if t[1].Before(t[0]) {
		t[0], t[1] = t[1], t[0]
	}
	return t
}

// transferOf measures how a line goes from one core to the other and back: a word
// that two threads count up in turn. It needs two processors.
func transferOf(n int) (nanos float64, err error) {
	if runtime.GOMAXPROCS(0) < 2 {
		return 0, errors.New("one processor has nobody to pass a line to: give -transfer and -streak")
	}
	var word atomic.Uint64
	count := func(odd uint64) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for range n {
			for word.Load()&1 != odd {
				// The other thread is about to write.
			}
			word.Inc()
		}
	}
	return timing(func() {
		word.Store(0)
		var done sync.WaitGroup
		done.Go(func() { count(0) })
		done.Go(func() { count(1) })
		done.Wait()
	}) / float64(2*n), nil
}

// streakOf measures one write to a line that both cores write all the time.
func streakOf(n int) float64 {
	var word atomic.Uint64
	return together(n, func(n int) {
		for range n {
			word.Inc()
		}
	})
}

// measure times a loop on one core and on two.
func measure(name string, writesOnOneLine, n int, loop func(n int)) measured {
	loop(n / 10)
	return measured{
		name: name, writesOnOneLine: writesOnOneLine,
		costNanos: timing(func() { loop(n) }) / float64(n),
		pairNanos: together(n, loop),
	}
}
