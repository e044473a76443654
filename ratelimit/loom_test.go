//go:build reprise_loom

package ratelimit

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/internal/loom"
)

type limiterOp = func(l *Limiter) any

const loomMillisecond = int64(time.Millisecond)

func acquireAt(ms int64) limiterOp {
	return func(l *Limiter) any { return l.AcquireNanos(ms * loomMillisecond) }
}

func updateAt(ms int64, throttled bool) limiterOp {
	return func(l *Limiter) any { l.UpdateNanos(ms*loomMillisecond, throttled); return nil }
}

func coalesceAt(ms, admitted int64) limiterOp {
	return func(l *Limiter) any {
		return l.ThrottleNanos(ms*loomMillisecond, admitted*loomMillisecond, time.Second)
	}
}

// lookAt is the limiter as others see it.
func lookAt(ms int64) limiterOp {
	return func(l *Limiter) any { return l.SnapshotAt(time.Unix(0, ms*loomMillisecond)) }
}

// fresh has seen nothing.
func fresh() *Limiter { return New(time.Unix(0, 0)) }

// calm has measured a rate and was never throttled.
func calm(n int) func() *Limiter {
	return func() *Limiter {
		l := fresh()
		for range n {
			l.UpdateNanos(0, false)
		}
		l.UpdateNanos(500*loomMillisecond, false)
		return l
	}
}

// rested is calm(n), a pause, and the response that ended it, at 3,100 ms.
func rested(n int) func() *Limiter {
	return func() *Limiter {
		l := calm(n)()
		l.UpdateNanos(3100*loomMillisecond, false)
		return l
	}
}

// cut was throttled at 500 ms, after n+1 responses.
func cut(n int) func() *Limiter {
	return func() *Limiter {
		l := calm(n)()
		l.UpdateNanos(500*loomMillisecond, true)
		return l
	}
}

// floored stands at the minimum rate and the floor is open, at 500 ms.
func floored() *Limiter {
	l := calm(200)()
	for range 60 {
		l.UpdateNanos(500*loomMillisecond, true)
	}
	return l
}

// gentlyFloored stands there after cuts that coalesce.
func gentlyFloored() *Limiter {
	l := calm(200)()
	for range 60 {
		l.ThrottleNanos(500*loomMillisecond, 500*loomMillisecond, time.Second)
	}
	return l
}

// level is flat from 3,000 ms on: the rate is at twice the measured one, and a
// success changes nothing.
func level() *Limiter {
	l := calm(2)()
	l.UpdateNanos(3000*loomMillisecond, false)
	return l
}

// countedAt is a look after one more half second has been measured.
func countedAt(ms int64) limiterOp {
	return func(l *Limiter) any {
		l.UpdateNanos(ms*loomMillisecond, false)
		return lookAt(ms)(l)
	}
}

// worn is cut(n) with a page that has no slot left.
func worn(n int) func() *Limiter {
	return func() *Limiter {
		l := cut(n)()
		ClaimSlots(l)
		return l
	}
}

// wornLevel is level with a page that has no slot left.
func wornLevel() *Limiter {
	l := level()
	ClaimSlots(l)
	return l
}

func limiterHistory(start func() *Limiter, final limiterOp, threads ...[]limiterOp) loom.History[*Limiter] {
	h := loom.History[*Limiter]{New: start, Final: func(l *Limiter) any {
		return fmt.Sprintf("%+v, %d slots free", final(l), FreeSlots(l)) // in the end none may be lost
	}}
	h.Threads = append(h.Threads, threads...)
	return h
}

type ops = []limiterOp

// throttledAt is the limiter as its next throttle finds it, which may coalesce.
func throttledAt(ms int64) limiterOp {
	return func(l *Limiter) any {
		return fmt.Sprint(coalesceAt(ms, ms)(l), lookAt(ms)(l))
	}
}

// limiterHistories are what is run.
var limiterHistories = map[string]loom.History[*Limiter]{
	"the last token":            limiterHistory(cut(1), lookAt(2000), ops{acquireAt(1400)}, ops{acquireAt(1400)}, ops{acquireAt(1400)}),
	"a cut and an admission":    limiterHistory(cut(8), lookAt(900), ops{acquireAt(900)}, ops{updateAt(900, true)}),
	"two cuts":                  limiterHistory(cut(8), lookAt(900), ops{updateAt(900, true)}, ops{updateAt(901, true)}),
	"a cut and a success":       limiterHistory(cut(8), lookAt(1100), ops{updateAt(900, true)}, ops{updateAt(901, false)}),
	"a cut at a border":         limiterHistory(cut(8), lookAt(1100), ops{updateAt(1001, true)}, ops{updateAt(1002, false)}),
	"two at a border":           limiterHistory(cut(8), lookAt(1100), ops{updateAt(1001, false)}, ops{updateAt(1002, false)}),
	"a slot that is used again": limiterHistory(cut(8), lookAt(1500), ops{updateAt(900, true), updateAt(901, true)}, ops{acquireAt(901)}),
	"a slot and a success":      limiterHistory(cut(8), lookAt(1500), ops{updateAt(900, true), updateAt(901, true)}, ops{updateAt(902, false)}),
	"the first throttle":        limiterHistory(calm(8), lookAt(1100), ops{updateAt(600, true)}, ops{updateAt(700, false)}),
	"two first throttles":       limiterHistory(calm(8), lookAt(1100), ops{updateAt(600, true)}, ops{updateAt(601, true)}),
	"the first of all":          limiterHistory(fresh, lookAt(1100), ops{updateAt(600, false)}, ops{updateAt(601, true)}),
	"marks at the floor":        limiterHistory(floored, lookAt(1100), ops{updateAt(600, true)}, ops{updateAt(601, true)}, ops{acquireAt(600)}),
	"a mark and a border":       limiterHistory(floored, lookAt(1700), ops{updateAt(999, true)}, ops{updateAt(1001, false)}),
	"a mark and a rise":         limiterHistory(floored, lookAt(9000), ops{updateAt(8000, true)}, ops{updateAt(8001, false)}),
	"a look at the floor":       limiterHistory(floored, lookAt(1100), ops{lookAt(1003)}, ops{updateAt(1001, true), updateAt(1002, true)}),
	"coalesced":                 limiterHistory(cut(8), lookAt(900), ops{coalesceAt(800, 499)}, ops{coalesceAt(801, 700)}),
	"gently, and an admission":  limiterHistory(cut(8), lookAt(900), ops{acquireAt(900)}, ops{coalesceAt(900, 700)}),
	"gently, and a cut":         limiterHistory(cut(8), lookAt(900), ops{updateAt(900, true)}, ops{coalesceAt(901, 900)}),
	"gently at the floor":       limiterHistory(gentlyFloored, lookAt(1100), ops{coalesceAt(600, 550)}, ops{coalesceAt(601, 590)}, ops{acquireAt(600)}),
	"a mark, and gently":        limiterHistory(floored, lookAt(9000), ops{updateAt(600, true)}, ops{coalesceAt(601, 550)}),
	"a mark after gentle ones":  limiterHistory(gentlyFloored, lookAt(9000), ops{updateAt(600, true)}, ops{coalesceAt(601, 550)}),
	"flat, and a cut":           limiterHistory(level, lookAt(3401), ops{updateAt(3100, true), updateAt(3400, false)}, ops{updateAt(3050, false)}),
	"flat, and a cut is seen":   limiterHistory(level, lookAt(3401), ops{updateAt(3100, true)}, ops{lookAt(3101), updateAt(3400, false)}),
	"flat at a border":          limiterHistory(level, countedAt(4001), ops{updateAt(3501, false)}, ops{updateAt(3502, true), updateAt(3900, false)}),
	"flat, and at its end":      limiterHistory(level, countedAt(4001), ops{updateAt(3400, false)}, ops{updateAt(3501, false), updateAt(3502, true)}),
	"flat, a worn page, a cut":  limiterHistory(wornLevel, countedAt(3501), ops{updateAt(3100, true), updateAt(3400, false)}, ops{updateAt(3050, false)}),
	"flat, a worn page, a look": limiterHistory(wornLevel, countedAt(4001), ops{updateAt(3501, false), updateAt(3600, false)}, ops{updateAt(3400, false)}),
	"a wait, and a border":      limiterHistory(rested(8), throttledAt(4100), ops{coalesceAt(3200, 3150)}, ops{updateAt(3600, false)}),
	"a wait, and a pause":       limiterHistory(rested(8), throttledAt(4600), ops{coalesceAt(3200, 3150)}, ops{updateAt(4500, false)}),
	"two throttles wait":        limiterHistory(rested(8), throttledAt(4600), ops{coalesceAt(3200, 3150)}, ops{coalesceAt(3201, 3160)}, ops{acquireAt(3210)}),
	"a wait ends":               limiterHistory(rested(8), lookAt(4600), ops{coalesceAt(3999, 3990), updateAt(3999, false)}, ops{coalesceAt(4001, 3991)}),
	"a wait, and R8's":          limiterHistory(rested(8), lookAt(4600), ops{coalesceAt(3200, 3150)}, ops{updateAt(3201, true)}),
	"a turn and an admission":   limiterHistory(worn(8), lookAt(900), ops{updateAt(900, true)}, ops{acquireAt(900)}),
	"two turns":                 limiterHistory(worn(8), lookAt(900), ops{updateAt(900, true)}, ops{updateAt(901, true)}),
	"a turn and a look":         limiterHistory(worn(8), lookAt(900), ops{updateAt(900, true)}, ops{lookAt(901)}),
	"three at once":             limiterHistory(cut(2), lookAt(900), ops{acquireAt(900)}, ops{acquireAt(900)}, ops{updateAt(900, true)}),
}

// Every outcome is that of the operations in some order, one after the other:
// with a cell of the counter for each thread, and with one for all.
func TestLoomLimiter(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for _, procs := range []int{4, 1} {
		runtime.GOMAXPROCS(procs)
		for name, h := range limiterHistories {
			if procs == 1 && !strings.Contains(name, "mark") && !strings.Contains(name, "border") {
				continue // no more of the counter than before
			}
			r, err := h.Explore(loom.Options{})
			assert.NoError(t, err, name)
			assert.True(t, r.Complete, name)
			t.Logf("%d processors: %s: %v", procs, name, r)
		}
	}
}

// A goroutine frozen at any step stops nobody: whoever comes after it ends within
// a few steps of their own. Two pages at the most are copied, one of them in vain.
func TestLoomLimiterFrozen(t *testing.T) {
	for _, name := range []string{"a cut and an admission", "two cuts", "a cut at a border", "two first throttles", "marks at the floor", "a turn and an admission", "three at once"} {
		r, err := limiterHistories[name].ExploreFrozen(loom.Options{OwnSteps: 300})
		require.NoError(t, err, name)
		assert.True(t, r.Frozen && r.Complete, name)
		t.Logf("%s: %v", name, r)
	}
}

// Faults planted in the compare-and-swap of the real limiter: each is found.
func TestLoomLimiterFaults(t *testing.T) {
	blind := func(w loom.Word, _ func(old, next uint64) bool, _, next uint64) bool {
		w.Store(next)
		return true
	}
	indexOnly := func(w loom.Word, right func(old, next uint64) bool, old, next uint64) bool {
		now := w.Load()
		return now>>indexShift == old>>indexShift && right(now, next)
	}
	for name, row := range map[string]struct {
		fault loom.Fault
		in    string
	}{
		"lost throttle cut":                          {loom.Fault{Swap: blind}, "a cut and an admission"},
		"lost cut of two":                            {loom.Fault{Swap: blind}, "two cuts"},
		"minted token":                               {loom.Fault{Swap: blind}, "the last token"},
		"admission lost when a page is left":         {loom.Fault{Swap: blind}, "a turn and an admission"},
		"a slot used again is taken for the old one": {loom.Fault{Swap: indexOnly}, "a slot that is used again"},
		"lost wait":                                  {loom.Fault{Swap: blind}, "a wait, and a pause"},
		"lost update":                                {loom.Fault{Torn: true}, "two at a border"},
		"lost count":                                 {loom.Fault{Torn: true}, "the first of all"},
	} {
		r, err := limiterHistories[row.in].Explore(loom.Options{Fault: &row.fault})
		if assert.Error(t, err, name) {
			t.Logf("%s: found in schedule %d", name, r.Schedules)
		}
	}
}

// Whoever is first in line is called, in whatever order places are taken, given
// up and used; and the count of places ends right.
func TestLoomWaiters(t *testing.T) {
	leave := func(l *Limiter) *Waiter { w := l.Wait(); w.Leave(); return nil }
	stay := func(l *Limiter) *Waiter { w := l.Wait(); return &w }
	admit := func(l *Limiter) *Waiter {
		w := l.Wait()
		if _, ok := w.AdmitNanos(1400 * loomMillisecond); ok {
			return nil
		}
		return &w
	}
	type body = func(l *Limiter) *Waiter
	for name, bodies := range map[string][]body{
		"two stay":             {stay, stay},
		"one leaves":           {leave, stay},
		"one is admitted":      {admit, stay},
		"two want a token":     {admit, admit},
		"one leaves, two stay": {leave, stay, stay},
	} {
		trial := func() loom.Trial {
			l := cut(1)()
			left := make([]*Waiter, len(bodies))
			trial := loom.Trial{Check: func() error {
				var first *Waiter
				waiting := int64(0)
				for _, w := range left {
					if w != nil {
						waiting++
						if first == nil || w.place.ticket < first.place.ticket {
							first = w
						}
					}
				}
				if got := l.queue.waiting.Load(); got != waiting {
					return fmt.Errorf("%d places are counted, %d are there", got, waiting)
				}
				if first != nil {
					select {
					case <-first.Turn():
					default:
						return errors.New("the first in line was not called")
					}
				}
				return nil
			}}
			for i, body := range bodies {
				trial.Threads = append(trial.Threads, func() { left[i] = body(l) })
			}
			return trial
		}
		o := loom.Options{}
		if len(bodies) > 2 || name == "two want a token" { // all of them are 800,000 and more
			o = loom.Options{Bounded: true, Preemptions: 2}
		}
		r, err := loom.Explore(o, trial)
		require.NoError(t, err, name)
		assert.True(t, r.Complete, name)
		t.Logf("%s: %v; %+v", name, r, o)
		if name == "two stay" || name == "one leaves" {
			r, err := loom.ExploreFrozen(loom.Options{OwnSteps: 100, Bounded: name == "one leaves", Preemptions: 2}, trial)
			require.NoError(t, err, name)
			t.Logf("%s, frozen: %v", name, r)
		}
	}
	fault := loom.Options{Fault: &loom.Fault{Torn: true}}
	_, err := loom.Explore(fault, func() loom.Trial {
		l := cut(1)()
		return loom.Trial{
			Threads: []func(){func() { l.Wait() }, func() { l.Wait() }},
			Check: func() error {
				places := 0
				for n := l.queue.head.Load().next.Load(); n != nil; n = n.next.Load() {
					places++
				}
				if places != 2 {
					return fmt.Errorf("%d places are in line", places)
				}
				return nil
			},
		}
	})
	assert.Error(t, err, "a join that overwrites another is found")
}
