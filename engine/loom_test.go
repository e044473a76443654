//go:build reprise_loom

package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/internal/loom"
)

// loomEngine returns an engine without chance: no clock, no jitter.
func loomEngine(opts ...Option) *Engine {
	e, err := New(append([]Option{WithQuota(Quota{Capacity: 20, TransientCost: 14, ThrottlingCost: 5}), WithSource(still{}), WithClock(new(stepClock))}, opts...)...)
	if err != nil {
		panic(err)
	}
	return e
}

// bounds make three threads end, and two that go over a whole group: all of their
// schedules are millions.
func bounds(threads int, name string) loom.Options {
	return loom.Options{Bounded: threads > 2 || strings.HasPrefix(name, "two Reconfigures"), Preemptions: 2}
}

// still draws always the same.
type still struct{}

func (still) Uint64() uint64 { return 0 }

// loomCalls is an engine and its calls under way. A call is several operations: in
// between others may be told what they would not be if it were one.
type loomCalls struct {
	*Engine
	calls [3]Call
}

type engineOp = func(e *loomCalls) any

func succeedFirst(e *loomCalls) any {
	c := e.Begin()
	c.Succeed()
	return nil
}

// fail begins call i, which fails.
func fail(i int, class classify.Class) engineOp {
	return func(e *loomCalls) any {
		c := &e.calls[i]
		begin(c, e.Engine)
		return c.FailAt(time.Time{}, Outcome{Class: class}).Reason
	}
}

// begin is Begin for a call that is there.
func begin(c *Call, e *Engine) { c.engine, c.quick, c.before, c.flags = e, e.quick, 0, 0 }

// What ends call i; a second time it is without effect.
func succeed(i int) engineOp {
	return func(e *loomCalls) any { e.calls[i].Succeed(); e.calls[i].Succeed(); return nil }
}

func abandon(i int) engineOp {
	return func(e *loomCalls) any { e.calls[i].Abandon(); e.calls[i].Abandon(); return nil }
}

func lose(i int) engineOp {
	return func(e *loomCalls) any { return e.calls[i].FailAt(time.Time{}, Outcome{}).Reason }
}

func capacityOf(capacity int) engineOp {
	return func(e *loomCalls) any {
		return e.Reconfigure(WithQuota(Quota{Capacity: capacity, TransientCost: 14, ThrottlingCost: 5}))
	}
}

func engineHistory(tokens int, threads ...[]engineOp) loom.History[*loomCalls] {
	h := loom.History[*loomCalls]{
		New: func() *loomCalls { return &loomCalls{Engine: loomEngine(WithTokens(tokens))} },
		Final: func(e *loomCalls) any {
			s := e.Stats()
			return fmt.Sprintf("%d/%d of %d, %d attempts, %+v", s.QuotaLevel, s.QuotaCapacity, e.Quota().Capacity, e.MaxAttempts(), s)
		},
		Always: func(e *loomCalls) error {
			if level, capacity := e.quota.Load(); level > capacity {
				return fmt.Errorf("level %d of %d", int32(level), capacity)
			}
			return nil
		},
	}
	h.Threads = append(h.Threads, threads...)
	return h
}

// What a call after a transient or a throttling failure does.
func recovers(i int) []engineOp   { return []engineOp{fail(i, classify.Transient), succeed(i)} }
func gives(i int) []engineOp      { return []engineOp{fail(i, classify.Throttling), abandon(i)} }
func sentInVain(i int) []engineOp { return []engineOp{fail(i, classify.Transient), lose(i)} }

var engineHistories = map[string]loom.History[*loomCalls]{
	"first attempts succeed": engineHistory(19, []engineOp{succeedFirst}, []engineOp{succeedFirst}, sentInVain(2)),
	"two retries, one cost":  engineHistory(14, recovers(0), sentInVain(1)),
	"given back":             engineHistory(19, recovers(0), gives(1)),
	"given back to the brim": engineHistory(20, gives(0), []engineOp{succeedFirst}),
	"a smaller quota":        engineHistory(20, gives(0), []engineOp{capacityOf(15)}),
	"a smaller quota, spent": engineHistory(20, recovers(0), []engineOp{capacityOf(15)}),
	"a quota of two sizes":   engineHistory(20, []engineOp{capacityOf(15)}, []engineOp{capacityOf(30)}),
	"three sizes":            engineHistory(20, []engineOp{capacityOf(15)}, []engineOp{capacityOf(30)}, []engineOp{capacityOf(16)}),
	"attempts and a size":    engineHistory(20, []engineOp{capacityOf(15)}, []engineOp{attemptsOf(7)}),
	"both, and a call":       engineHistory(20, []engineOp{capacityOf(15)}, []engineOp{attemptsOf(7)}, sentInVain(2)),
	"three calls":            engineHistory(20, recovers(0), gives(1), sentInVain(2)),
}

func attemptsOf(n int) engineOp {
	return func(e *loomCalls) any { return e.Reconfigure(WithMaxAttempts(n)) }
}

// Every outcome of calls and of Reconfigure is that of a serial order.
func TestLoomCalls(t *testing.T) {
	for name, h := range engineHistories {
		o := bounds(len(h.Threads), name)
		r, err := h.Explore(o)
		assert.NoError(t, err, name)
		assert.True(t, r.Complete, name)
		t.Logf("%s: %v; %+v", name, r, o)
	}
}

// A goroutine frozen at any step of a call or of a Reconfigure stops nobody.
func TestLoomCallsFrozen(t *testing.T) {
	for _, name := range []string{"given back", "a smaller quota, spent", "a quota of two sizes", "attempts and a size"} {
		r, err := engineHistories[name].ExploreFrozen(loom.Options{OwnSteps: 50})
		require.NoError(t, err, name)
		assert.True(t, r.Frozen && r.Complete, name)
		t.Logf("%s: %v", name, r)
	}
}

// Faults planted below the real engine: each is found.
func TestLoomEngineFaults(t *testing.T) {
	for name, row := range map[string]struct {
		fault loom.Fault
		in    string
	}{
		"double refund": {loom.Fault{Swap: func(w loom.Word, right func(old, next uint64) bool, old, next uint64) bool {
			if right(old, next) {
				return true
			}
			if int64(next) > int64(old) { // a credit
				w.Add(next - old)
			}
			return false
		}}, "given back"},
		"lost update of a policy": {loom.Fault{Torn: true}, "attempts and a size"},
		"lost tokens":             {loom.Fault{Torn: true}, "given back"},
	} {
		r, err := engineHistories[row.in].Explore(loom.Options{Fault: &row.fault})
		if assert.Error(t, err, name) {
			t.Logf("%s: found in schedule %d", name, r.Schedules)
		}
	}
}

// loomGroup is a group and what a history needs of it.
type loomGroup struct {
	*Group[string]
	clock *stepClock
	first *Engine // of the key old
}

type groupOp = func(g *loomGroup) any

// look says which engine a key has been given.
func look(key string) groupOp {
	return func(g *loomGroup) any {
		switch e := g.For(key); {
		case e == g.overflow:
			return "overflow"
		case e == g.first:
			return "the first"
		default:
			return fmt.Sprintf("made, %d attempts", e.MaxAttempts())
		}
	}
}

func groupAttempts(n int) groupOp {
	return func(g *loomGroup) any { return g.Reconfigure(WithMaxAttempts(n)) }
}

func groupQuota(capacity int) groupOp {
	return func(g *loomGroup) any {
		return g.Reconfigure(WithQuota(Quota{Capacity: capacity, TransientCost: 14, ThrottlingCost: 5}))
	}
}

// rested is a full group whose one key, old, may be dropped.
func rested(limit int) func() *loomGroup {
	return func() *loomGroup {
		g := held(limit)()
		for g.Len() < limit {
			g.For(fmt.Sprint("filler", g.Len()))
		}
		g.For("nobody") // clears the marks
		g.clock.Add(int64(11 * time.Second))
		return g
	}
}

// held has one key, old, which has just been looked up.
func held(limit int) func() *loomGroup {
	return func() *loomGroup {
		g := &loomGroup{clock: new(stepClock)}
		g.clock.Add(int64(time.Second))
		var err error
		if g.Group, err = NewGroup[string](loomEngine(WithClock(g.clock)), limit); err != nil {
			panic(err)
		}
		g.first = g.For("old")
		return g
	}
}

func groupHistory(start func() *loomGroup, threads ...[]groupOp) loom.History[*loomGroup] {
	h := loom.History[*loomGroup]{
		New: start,
		// What the group holds, and where its slots are.
		Final: func(g *loomGroup) any {
			free := g.slots.limit - int(g.slots.used.Load())
			for s := g.slots.spares.Load(); s != nil; s = s.next {
				free++
			}
			attempts := make(map[string]string)
			for key, e := range g.All() {
				attempts[key] = fmt.Sprint(e.MaxAttempts(), e.Quota(), e.quota.Capacity())
			}
			held := 0
			for slot := range g.slots.limit {
				if m := g.slots.at(slot); m != nil && m.mark.Load()&stateBits != gone {
					held++
				}
			}
			return fmt.Sprintf("%+v, %d free, %d in slots, %v", g.Stats(), free, held, attempts)
		},
		Always: func(g *loomGroup) error {
			if n := g.Len(); n < 0 || n > g.slots.limit {
				return fmt.Errorf("%d engines of %d", n, g.slots.limit)
			}
			return nil
		},
	}
	h.Threads = append(h.Threads, threads...)
	return h
}

var groupHistories = map[string]loom.History[*loomGroup]{
	"one new key":                 groupHistory(held(3), []groupOp{look("a")}, []groupOp{look("a")}),
	"two new keys":                groupHistory(held(3), []groupOp{look("a")}, []groupOp{look("b")}),
	"the last place":              groupHistory(held(2), []groupOp{look("a")}, []groupOp{look("b")}),
	"no place":                    groupHistory(held(1), []groupOp{look("a")}, []groupOp{look("old")}),
	"a look-up and a sweep":       groupHistory(rested(1), []groupOp{look("old")}, []groupOp{look("a")}),
	"two want one place":          groupHistory(rested(1), []groupOp{look("a")}, []groupOp{look("b")}),
	"a look-up and a Reconfigure": groupHistory(held(2), []groupOp{look("a")}, []groupOp{groupAttempts(7)}),
	"a sweep and a Reconfigure":   groupHistory(rested(1), []groupOp{look("a")}, []groupOp{groupAttempts(7)}),
	"three new keys":              groupHistory(held(4), []groupOp{look("a")}, []groupOp{look("b")}, []groupOp{look("a")}),
	"three want one place":        groupHistory(rested(1), []groupOp{look("a")}, []groupOp{look("b")}, []groupOp{look("old")}),
	"two keys, a Reconfigure":     groupHistory(held(2), []groupOp{look("a")}, []groupOp{look("b")}, []groupOp{groupAttempts(7)}),
	"two Reconfigures, settings":  groupHistory(held(1), []groupOp{groupAttempts(7)}, []groupOp{groupQuota(40)}),
	"two Reconfigures, sizes":     groupHistory(held(1), []groupOp{groupQuota(16)}, []groupOp{groupQuota(40)}),
}

// Every outcome of look-ups, sweeps and Reconfigures is that of a serial order,
// and no place is lost or given twice. Those of three goroutines are run with at
// most two preemptions: all of their schedules are millions.
func TestLoomGroup(t *testing.T) {
	for name, h := range groupHistories {
		o := bounds(len(h.Threads), name)
		r, err := h.Explore(o)
		assert.NoError(t, err, name)
		assert.True(t, r.Complete, name)
		t.Logf("%s: %v; %+v", name, r, o)
	}
}

// A goroutine frozen at any step, a sweep in the middle of dropping an engine
// too, stops nobody.
func TestLoomGroupFrozen(t *testing.T) {
	for _, name := range []string{"one new key", "a look-up and a sweep", "two want one place", "two Reconfigures, sizes"} {
		h := groupHistories[name]
		o := bounds(len(h.Threads), name)
		o.OwnSteps = 300
		r, err := h.ExploreFrozen(o)
		require.NoError(t, err, name)
		t.Logf("%s: %v", name, r)
	}
}

// Three goroutines take and give back the slots of a group of two: nobody has one
// that another has.
func slotTrial() loom.Trial {
	var s slots
	s.init(2)
	var owner [2]int
	twice := false
	body := func() {
		for range 2 {
			if slot, ok := s.take(); ok {
				owner[slot]++
				twice = twice || owner[slot] > 1
				loom.Step(&owner, false) // time passes
				owner[slot]--
				s.free(slot)
			}
		}
	}
	return loom.Trial{Threads: []func(){body, body}, Check: func() error {
		_, one := s.take()
		_, two := s.take()
		_, three := s.take()
		if twice || !one || !two || three {
			return errors.New("a slot has two owners, or none")
		}
		return nil
	}}
}

func TestLoomSlots(t *testing.T) {
	r, err := loom.Explore(loom.Options{}, slotTrial)
	require.NoError(t, err)
	assert.True(t, r.Complete)
	t.Log(r)
	_, err = loom.Explore(loom.Options{Fault: &loom.Fault{Torn: true}}, slotTrial)
	assert.Error(t, err, "a slot that is given to two is found")
}
