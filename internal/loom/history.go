package loom

import "fmt"

// History is threads of operations on one S. Whatever the schedule, results and
// end must be those of the operations done one after the other in some order, in
// which those of one thread keep theirs, and what had ended before another began
// comes first. The orders are run on the same code, so this does not tell whether
// it is right when nobody disturbs it.
type History[S any] struct {
	New     func() S
	Threads [][]func(S) any
	Final   func(S) any
	Always  func(S) error // nil for nothing
}

// span is when an operation began and ended, in steps of its schedule.
type span struct{ from, to int }

// Explore explores the history.
func (h History[S]) Explore(o Options) (Result, error) {
	serial := h.serial()
	return Explore(o, func() Trial {
		s, now := h.New(), 0
		results, spans := h.blank()
		trial := Trial{Always: func() error {
			now++
			if h.Always == nil {
				return nil
			}
			return h.Always(s)
		}}
		for t, ops := range h.Threads {
			trial.Threads = append(trial.Threads, func() {
				for i, do := range ops {
					spans[t][i].from = now
					results[t][i] = do(s)
					spans[t][i].to = now
				}
			})
		}
		trial.Check = func() error {
			outcome := fmt.Sprint(results, h.Final(s))
			for _, order := range serial[outcome] {
				if keeps(order, spans) {
					return nil
				}
			}
			return fmt.Errorf("no serial order of the operations has the outcome %s; there are %d outcomes: %v", outcome, len(serial), serial)
		}
		return trial
	})
}

// ExploreFrozen is [ExploreFrozen] of the history's operations.
func (h History[S]) ExploreFrozen(o Options) (Result, error) {
	return ExploreFrozen(o, func() Trial {
		s := h.New()
		var trial Trial
		for _, ops := range h.Threads {
			trial.Threads = append(trial.Threads, func() {
				for _, do := range ops {
					do(s)
				}
			})
		}
		return trial
	})
}

func (h History[S]) blank() (results [][]any, spans [][]span) {
	for _, ops := range h.Threads {
		results = append(results, make([]any, len(ops)))
		spans = append(spans, make([]span, len(ops)))
	}
	return results, spans
}

// serial runs all serial orders: by outcome, the orders, as the threads in turn.
func (h History[S]) serial() map[string][][]int {
	outcomes := make(map[string][][]int)
	var extend func(order []int, next []int)
	extend = func(order []int, next []int) {
		ended := true
		for t, ops := range h.Threads {
			if next[t] < len(ops) {
				ended = false
				next[t]++
				extend(append(order, t), next)
				next[t]--
			}
		}
		if !ended {
			return
		}
		s := h.New()
		results, _ := h.blank()
		at := make([]int, len(h.Threads))
		for _, t := range order {
			results[t][at[t]] = h.Threads[t][at[t]](s)
			at[t]++
		}
		outcome := fmt.Sprint(results, h.Final(s))
		outcomes[outcome] = append(outcomes[outcome], append([]int(nil), order...))
	}
	extend(nil, make([]int, len(h.Threads)))
	return outcomes
}

// keeps reports whether what had ended before another began comes first in order.
func keeps(order []int, spans [][]span) bool {
	at := make([]int, len(spans))
	latest := -1 // the latest beginning so far
	for _, t := range order {
		s := spans[t][at[t]]
		at[t]++
		if s.to < latest {
			return false
		}
		latest = max(latest, s.from)
	}
	return true
}
