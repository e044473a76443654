package loom

import (
	"fmt"
	"math/bits"
)

// Trial is what is run by every schedule: threads over fresh state.
type Trial struct {
	// Threads are at most 4. They may share what internal/atomic makes.
	Threads []func()
	// Always must hold between any two steps; nil for nothing.
	Always func() error
	// Check must hold when all threads have ended; nil for nothing.
	Check func() error
}

// Options bound an exploration. The zero Options are exhaustive.
type Options struct {
	// Schedules is how many are run at the most; 0 is no bound.
	Schedules int
	// Preemptions, if Bounded, is how often a schedule may take control from a
	// thread that could go on.
	Preemptions int
	Bounded     bool
	// OwnSteps is how many steps one thread may take; 0 means 10,000. More are a
	// failure: a thread that others can stop, or that never ends.
	OwnSteps int
	// Freeze, if not nil, stops one thread for ever. The Check is not made.
	Freeze *Freeze
	// Fault, if not nil, is planted in the words: see [Fault].
	Fault *Fault
}

// Freeze says which thread stops for ever, and before which of its steps, from 0.
type Freeze struct{ Thread, Step int }

// Result is what an exploration has done.
type Result struct {
	Schedules int  // run to their end
	Pruned    int  // broken off: equal to one that was run
	Steps     int  // all that were taken
	OwnSteps  int  // the most of one thread
	Frozen    bool // the thread was there to freeze, in some schedule
	Complete  bool // no schedule within the bounds was left out
}

func (r Result) String() string {
	how := "all within the bounds"
	if !r.Complete {
		how = "not all"
	}
	return fmt.Sprintf("%d schedules (%s), %d pruned, %d steps, at most %d own steps", r.Schedules, how, r.Pruned, r.Steps, r.OwnSteps)
}

// Failure is a schedule that broke the trial.
type Failure struct {
	Schedule []int // the thread that took each step
	Err      error
}

func (f *Failure) Error() string {
	return fmt.Sprintf("reprise/loom: schedule %v: %v", f.Schedule, f.Err)
}

func (f *Failure) Unwrap() error { return f.Err }

// set is a set of threads.
type set uint8

func (s set) has(t int) bool { return s>>t&1 != 0 }
func (s set) first() int     { return bits.TrailingZeros8(uint8(s)) }

// node is the state before a step, on the path that is being run.
type node struct {
	chosen    int
	backtrack set // must be tried
	done      set // were tried
	sleep     set // need not be tried
	// For the bound: who had control, whether it could go on, and how often
	// control was taken before.
	last        int
	preemptions int
}

type explorer struct {
	options Options
	result  Result
	nodes   []node
	fresh   int // the first node whose choice is new in this run
	races   races
}

// Explore runs the trials that start makes, each by another schedule, until all
// schedules within the bounds were run or one has failed, which is a *[Failure].
func Explore(o Options, start func() Trial) (Result, error) {
	if o.OwnSteps == 0 {
		o.OwnSteps = 10_000
	}
	x := explorer{options: o}
	warm(start()) // what is made once for all trials is made now
	planted.Store(o.Fault)
	defer planted.Store(nil)
	for {
		if err := x.run(start()); err != nil {
			f := &Failure{Err: err}
			for _, e := range x.races.events {
				f.Schedule = append(f.Schedule, e.thread)
			}
			return x.result, f
		}
		if !x.advance() {
			x.result.Complete = true
			return x.result, nil
		}
		if o.Schedules > 0 && x.result.Schedules >= o.Schedules {
			return x.result, nil
		}
	}
}

// warm runs the threads of a trial one after the other.
func warm(trial Trial) {
	for i, body := range trial.Threads {
		t := start(i, body)
		for steps := 0; !t.done && steps < 10_000; steps++ {
			t.resume()
		}
		if !t.done {
			t.abandon()
		}
	}
}

// run runs one trial: by the choices of the nodes as far as there are any, then
// by new ones.
func (x *explorer) run(trial Trial) error {
	if len(trial.Threads) > MaxThreads {
		return fmt.Errorf("%d threads: want at most %d", len(trial.Threads), MaxThreads)
	}
	threads := make([]*thread, len(trial.Threads))
	x.races.reset()
	defer func() {
		for _, t := range threads {
			if t != nil && !t.done {
				t.abandon()
			}
		}
	}()
	for i, body := range trial.Threads {
		threads[i] = start(i, body)
		if err := threads[i].err; err != nil {
			return err
		}
	}
	last, sleep := -1, set(0)
	for depth := 0; ; depth++ {
		able := x.able(threads)
		if able == 0 {
			break
		}
		if depth == len(x.nodes) && !x.push(able, sleep, last) {
			x.result.Pruned++
			return nil
		}
		n := &x.nodes[depth]
		if !able.has(n.chosen) {
			return fmt.Errorf("the trial is not the same each time: thread %d had a step %d and has none now", n.chosen, depth)
		}
		t := threads[n.chosen]
		sleep = 0
		for i, other := range threads {
			if (n.sleep | n.done).has(i) && i != t.index && other.pending.commutes(t.pending) {
				sleep |= 1 << i
			}
		}
		x.races.add(t.index, t.pending)
		if depth >= x.fresh && !x.options.Bounded {
			x.races.reverse(x.nodes)
		}
		t.resume()
		t.own++
		x.result.Steps++
		x.result.OwnSteps = max(x.result.OwnSteps, t.own)
		switch {
		case t.err != nil:
			return t.err
		case t.own > x.options.OwnSteps:
			return fmt.Errorf("thread %d took more than %d steps", t.index, x.options.OwnSteps)
		}
		if trial.Always != nil {
			if err := trial.Always(); err != nil {
				return err
			}
		}
		last = t.index
	}
	x.result.Schedules++
	if trial.Check != nil && x.options.Freeze == nil {
		return trial.Check()
	}
	return nil
}

// able is the threads that can take a step.
func (x *explorer) able(threads []*thread) (able set) {
	for i, t := range threads {
		if t.done {
			continue
		}
		if f := x.options.Freeze; f != nil && f.Thread == i && t.own >= f.Step {
			x.result.Frozen = true
			continue
		}
		able |= 1 << i
	}
	return able
}

// push makes the node for a state that is new; false if all that can go on sleep.
func (x *explorer) push(able, sleep set, last int) bool {
	n := node{last: -1}
	if len(x.nodes) > 0 {
		before := &x.nodes[len(x.nodes)-1]
		n.preemptions = before.preemptions
		if before.last >= 0 && before.last != before.chosen {
			n.preemptions++
		}
	}
	if last >= 0 && able.has(last) {
		n.last = last
	}
	if x.options.Bounded {
		n.chosen = n.last
		if n.last < 0 {
			n.chosen = able.first()
		}
		n.backtrack = 1 << n.chosen
		if n.last < 0 || n.preemptions < x.options.Preemptions {
			n.backtrack = able
		}
		x.nodes = append(x.nodes, n)
		return true
	}
	n.sleep = sleep
	awake := able &^ sleep
	if awake == 0 {
		return false
	}
	n.chosen = awake.first()
	if n.last >= 0 && awake.has(n.last) {
		n.chosen = n.last
	}
	n.backtrack = 1 << n.chosen
	x.nodes = append(x.nodes, n)
	return true
}

// advance goes back to the last state in which something is left to try; false
// if there is none.
func (x *explorer) advance() bool {
	for len(x.nodes) > 0 {
		x.fresh = len(x.nodes) - 1
		n := &x.nodes[x.fresh]
		n.done |= 1 << n.chosen
		if rest := n.backtrack &^ (n.done | n.sleep); rest != 0 {
			n.chosen = rest.first()
			return true
		}
		x.nodes = x.nodes[:x.fresh]
	}
	return false
}
