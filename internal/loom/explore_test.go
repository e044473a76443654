package loom_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/internal/loom"
)

// word is a word with steps; the threads take turns, so it may be a plain one.
type word struct{ n int }

func (w *word) load() int {
	loom.Step(w, false)
	return w.n
}

func (w *word) store(n int) {
	loom.Step(w, true)
	w.n = n
}

func (w *word) swap(old, next int) bool {
	loom.Step(w, true)
	if w.n != old {
		return false
	}
	w.n = next
	return true
}

// explore collects the outcomes of a trial over two words.
func explore(t *testing.T, o loom.Options, threads ...func(a, b *word) int) (loom.Result, map[string]int) {
	outcomes := make(map[string]int)
	r, err := loom.Explore(o, func() loom.Trial {
		var a, b word
		results := make([]int, len(threads))
		var trial loom.Trial
		for i, body := range threads {
			trial.Threads = append(trial.Threads, func() { results[i] = body(&a, &b) })
		}
		trial.Check = func() error {
			outcomes[fmt.Sprint(results, a.n, b.n)]++
			return nil
		}
		return trial
	})
	require.NoError(t, err)
	return r, outcomes
}

func increment(a, _ *word) int {
	a.store(a.load() + 1)
	return 0
}

// Classes of schedules that can be counted by hand.
func TestOneScheduleForEachClass(t *testing.T) {
	writeA := func(a, _ *word) int { a.store(1); return 0 }
	writeB := func(_, b *word) int { b.store(1); return 0 }
	readA := func(a, _ *word) int { return a.load() }
	type body = func(a, b *word) int
	for _, row := range []struct {
		name      string
		threads   []body
		schedules int
	}{
		{"one thread", []body{increment}, 1},
		{"two words", []body{writeA, writeB}, 1},
		{"one word", []body{writeA, writeA}, 2},
		{"one word, three threads", []body{writeA, writeA, writeA}, 6},
		{"readers", []body{readA, readA, readA}, 1},
		{"a writer and two readers", []body{writeA, readA, readA}, 4},
		{"two increments", []body{increment, increment}, 4},
	} {
		r, _ := explore(t, loom.Options{}, row.threads...)
		assert.Equal(t, row.schedules, r.Schedules, row.name)
		assert.True(t, r.Complete, row.name)
	}
}

// What the reduction finds is what all schedules show, in programs where it may
// go wrong: which words a thread uses depends on what it has read.
func TestReductionMissesNoOutcome(t *testing.T) {
	dependent := func(a, b *word) int {
		if a.load() == 1 {
			b.store(2)
		}
		return b.load()
	}
	writer := func(a, b *word) int {
		a.store(1)
		b.store(b.load() + 1)
		return 0
	}
	swapper := func(a, b *word) int {
		for {
			old := b.load()
			if b.swap(old, old*2+a.load()) {
				return old
			}
		}
	}
	everything := loom.Options{Bounded: true, Preemptions: 1000}
	for _, threads := range [][]func(a, b *word) int{
		{dependent, writer},
		{dependent, writer, increment},
		{dependent, writer, swapper},
		{swapper, increment, dependent},
		{swapper, writer, swapper},
	} {
		reduced, got := explore(t, loom.Options{}, threads...)
		all, want := explore(t, everything, threads...)
		assert.ElementsMatch(t, keys(want), keys(got))
		assert.Less(t, reduced.Schedules, all.Schedules)
		assert.True(t, reduced.Complete && all.Complete)
	}
}

func keys(m map[string]int) (k []string) {
	for key := range m {
		k = append(k, key)
	}
	return k
}

// The bound counts what was taken from a thread that could go on.
func TestPreemptionBound(t *testing.T) {
	for preemptions, want := range []int{2, 4, 6} {
		r, outcomes := explore(t, loom.Options{Bounded: true, Preemptions: preemptions}, increment, increment)
		assert.Equal(t, want, r.Schedules)
		assert.Equal(t, preemptions > 0, outcomes["[0 0] 1 0"] > 0, "a lost update needs one preemption")
	}
	r, err := loom.Explore(loom.Options{Bounded: true, Preemptions: 9, Schedules: 3}, func() loom.Trial {
		var a word
		return loom.Trial{Threads: []func(){func() { increment(&a, nil) }, func() { increment(&a, nil) }}}
	})
	require.NoError(t, err)
	assert.Equal(t, 3, r.Schedules)
	assert.False(t, r.Complete)
}

func TestFailuresAreTold(t *testing.T) {
	broken := errors.New("broken")
	for name, trial := range map[string]func(a *word) loom.Trial{
		"check": func(a *word) loom.Trial {
			return loom.Trial{Check: func() error {
				if a.n != 2 {
					return broken
				}
				return nil
			}}
		},
		"always": func(a *word) loom.Trial {
			return loom.Trial{Always: func() error {
				if a.n == 2 {
					return broken
				}
				return nil
			}}
		},
	} {
		_, err := loom.Explore(loom.Options{}, func() loom.Trial {
			var a word
			result := trial(&a)
			result.Threads = []func(){func() { increment(&a, nil) }, func() { increment(&a, nil) }}
			return result
		})
		var f *loom.Failure
		require.ErrorAs(t, err, &f, name)
		assert.ErrorIs(t, err, broken)
		assert.NotEmpty(t, f.Schedule)
	}
	_, err := loom.Explore(loom.Options{}, func() loom.Trial {
		var a word
		return loom.Trial{Threads: []func(){func() { a.store(1) }, func() {
			if a.load() == 1 {
				panic("one")
			}
		}}}
	})
	assert.ErrorContains(t, err, "thread 1 panics: one")
}

// A lock stops whoever wants it when its holder is frozen; a loop of swaps does
// not.
func TestFreeze(t *testing.T) {
	locked := func(a *word) {
		for !a.swap(0, 1) {
		}
		a.store(0)
	}
	free := func(a *word) {
		for old := a.load(); !a.swap(old, old+1); old = a.load() {
		}
	}
	try := func(body func(*word)) error {
		_, err := loom.ExploreFrozen(loom.Options{OwnSteps: 50}, func() loom.Trial {
			var a word
			return loom.Trial{Threads: []func(){func() { body(&a) }, func() { body(&a) }}}
		})
		return err
	}
	assert.ErrorContains(t, try(locked), "took more than 50 steps")
	assert.NoError(t, try(free))
}

func TestSerial(t *testing.T) {
	register := func(add func(a *word) int) loom.History[*word] {
		return loom.History[*word]{
			New:     func() *word { return new(word) },
			Threads: [][]func(*word) any{{func(a *word) any { return add(a) }}, {func(a *word) any { return add(a) }}},
			Final:   func(a *word) any { return a.n },
		}
	}
	_, err := register(func(a *word) int {
		old := a.load()
		a.store(old + 1)
		return old
	}).Explore(loom.Options{})
	assert.ErrorContains(t, err, "no serial order")
	r, err := register(func(a *word) int {
		for {
			if old := a.load(); a.swap(old, old+1) {
				return old
			}
		}
	}).Explore(loom.Options{})
	assert.NoError(t, err)
	assert.True(t, r.Complete)
}
