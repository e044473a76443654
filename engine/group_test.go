package engine_test

import (
	"fmt"
	"maps"
	"math"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

func newGroup[K comparable](tb testing.TB, limit int, opts ...engine.Option) *engine.Group[K] {
	tb.Helper()
	g, err := engine.NewGroup[K](mustNew(tb, opts...), limit)
	require.NoError(tb, err)
	return g
}

// drain takes retries until the quota refuses and returns how many it gave.
func drain(e *engine.Engine, o engine.Outcome) (granted int) {
	for {
		c := e.Begin()
		if c.Fail(o).Reason != engine.ReasonRetry {
			return granted
		}
		granted++
	}
}

// R6.2, R6.5: each key has a quota of its own, 35 transient or 100 throttling
// retries, and nobody else's failures touch it.
func TestGroupKeysDoNotShare(t *testing.T) {
	g := newGroup[string](t, 10)
	assert.Equal(t, 35, drain(g.For("a"), transient))
	assert.Equal(t, 0, drain(g.For("a"), transient), "the same engine again")
	assert.Equal(t, 100, drain(g.For("b"), throttling))
	assert.Equal(t, 500, level(g.For("")), "the empty key is a key")
	assert.Same(t, g.For("b"), g.For("b"))
	assert.NotSame(t, g.For("a"), g.For("b"))
	assert.Equal(t, engine.GroupStats{Engines: 3, Limit: 10, Made: 3}, g.Stats())
	assert.Equal(t, 3, g.Len())
	all := maps.Collect(g.All())
	assert.Equal(t, map[string]*engine.Engine{"a": g.For("a"), "b": g.For("b"), "": g.For("")}, all)
}

// The engines copy what New, Derive and Reconfigure have told the template, as it
// is when they are made, and pay for themselves.
func TestGroupCopiesTheTemplate(t *testing.T) {
	template := mustNew(t, engine.WithService("DynamoDB"), engine.WithTokens(100),
		engine.WithQuota(engine.Quota{Capacity: 200, TransientCost: 20, ThrottlingCost: 10}))
	g, err := engine.NewGroup[int](template, 10)
	require.NoError(t, err)
	e := g.For(1)
	assert.Equal(t, 4, e.MaxAttempts(), "R1.1")
	assert.Equal(t, "DynamoDB", e.Service())
	assert.Equal(t, fastbackoff.DynamoDB(), e.Schedule(), "R4.1")
	assert.Equal(t, engine.Quota{Capacity: 200, TransientCost: 20, ThrottlingCost: 10}, e.Quota())
	assert.Equal(t, 5, drain(e, transient), "WithTokens is where each of them starts")
	assert.Equal(t, 100, level(template), "nobody's failures touch the template")

	require.NoError(t, template.Reconfigure(engine.WithMaxAttempts(7)))
	assert.Equal(t, 4, g.For(1).MaxAttempts())
	assert.Equal(t, 7, g.For(2).MaxAttempts())

	derived, err := template.Derive(engine.WithMaxAttempts(2))
	require.NoError(t, err)
	require.NoError(t, template.Reconfigure(engine.WithQuota(engine.Quota{Capacity: 60})))
	g, err = engine.NewGroup[int](derived, 10)
	require.NoError(t, err)
	assert.Equal(t, 2, g.For(1).MaxAttempts())
	assert.Equal(t, 60, g.For(1).Quota().Capacity, "what a derived engine pays from belongs to its settings")
	assert.Equal(t, 4, drain(g.For(1), transient), "60 tokens of its own")
	assert.Equal(t, 60, level(template))

	for _, mode := range []engine.Mode{engine.Standard, engine.Adaptive, engine.Legacy} {
		assert.Equal(t, mode, newGroup[int](t, 1, engine.WithMode(mode)).For(1).Mode())
	}
}

func TestGroupErrors(t *testing.T) {
	fine := mustNew(t)
	for _, limit := range []int{0, -1, math.MinInt, 1<<26 + 1} {
		_, err := engine.NewGroup[string](fine, limit)
		assert.EqualError(t, err, fmt.Sprintf("reprise/engine: limit of a Group is %d: want 1 to 67108864 engines", limit))
	}
	for _, none := range []*engine.Engine{nil, {}} {
		_, err := engine.NewGroup[string](none, 1)
		assert.EqualError(t, err, "reprise/engine: NewGroup with a nil or zero template: make one with New")
	}
	_, err := engine.NewGroupFunc[string](nil, 1)
	assert.EqualError(t, err, "reprise/engine: NewGroupFunc with a nil template func: want one that returns an engine for a key")
}

// Settings by key. A key without a template is not retried and takes no place;
// neither does one whose template panics.
func TestGroupFunc(t *testing.T) {
	few, many := mustNew(t, engine.WithMaxAttempts(2)), mustNew(t, engine.WithMaxAttempts(5))
	g, err := engine.NewGroupFunc(func(key string) *engine.Engine {
		switch key {
		case "few":
			return few
		case "many":
			return many
		case "zero":
			return new(engine.Engine)
		case "panic":
			panic("no such key")
		}
		return nil
	}, 10)
	require.NoError(t, err)
	assert.Equal(t, 2, g.For("few").MaxAttempts())
	assert.Equal(t, 5, g.For("many").MaxAttempts())
	for _, key := range []string{"nil", "zero", "panic", "panic"} {
		assert.Equal(t, 1, g.For(key).MaxAttempts(), key)
		c := g.For(key).Begin()
		assert.Equal(t, engine.ReasonMaxAttempts, c.Fail(transient).Reason, key)
	}
	s := g.Stats()
	assert.Equal(t, engine.GroupStats{Engines: 2, Limit: 10, Made: 2, Panics: 4}, s)
}

// The limit holds, and who finds no room gets one attempt and nobody's quota.
func TestGroupOverflows(t *testing.T) {
	observed := 0
	g := newGroup[int](t, 2, engine.WithMode(engine.Adaptive),
		engine.WithObserver(engine.Observer{Stop: func(engine.StopEvent) { observed++ }}))
	g.For(1)
	g.For(2)
	over := g.For(3)
	assert.Same(t, over, g.For(4))
	assert.Equal(t, engine.GroupStats{Engines: 2, Limit: 2, Made: 2, Overflowed: 2}, g.Stats())
	assert.Equal(t, engine.Standard, over.Mode(), "never delays a first attempt")
	for range 100 {
		c := over.Begin()
		assert.Zero(t, c.Admit())
		assert.Equal(t, engine.Decision{Reason: engine.ReasonMaxAttempts}, c.Fail(throttling))
	}
	assert.Equal(t, 100, observed, "by the template's observer")
	assert.Equal(t, 500, level(over))

	require.NoError(t, over.Reconfigure(engine.WithMaxAttempts(9)))
	assert.Equal(t, 1, over.MaxAttempts(), "it serves many keys, so nothing may make it retry")
	derived, err := over.Derive(engine.WithMaxAttempts(9))
	require.NoError(t, err)
	assert.Equal(t, 1, derived.MaxAttempts())
}

// Who comes for a key while another takes the last place for it gets its engine,
// though no place is left.
func TestGroupAsksAgainBeforeItOverflows(t *testing.T) {
	template := mustNew(t)
	var g *engine.Group[int]
	var first *engine.Engine
	g, err := engine.NewGroupFunc(func(int) *engine.Engine {
		if first == nil {
			first = template // the other's own question
			first = g.For(1)
		}
		return template
	}, 1)
	require.NoError(t, err)
	assert.Same(t, g.For(1), first)
	assert.Equal(t, engine.GroupStats{Engines: 1, Limit: 1, Made: 1}, g.Stats())
}

// The zero and the nil Group retry nothing.
func TestGroupZero(t *testing.T) {
	for _, g := range []*engine.Group[string]{nil, {}} {
		assert.Equal(t, 1, g.For("a").MaxAttempts())
		assert.EqualError(t, g.Reconfigure(), "reprise/engine: Reconfigure on a nil or zero *Group: make one with NewGroup")
	}
	var g engine.Group[string]
	assert.Zero(t, g.Len())
	assert.Zero(t, g.Stats())
	assert.Empty(t, maps.Collect(g.All()))
}

// Keys that a map cannot hold, or does not find again, get no engine, so they
// fill nothing.
func TestGroupOddKeys(t *testing.T) {
	floats := newGroup[float64](t, 10)
	anys := newGroup[any](t, 10)
	pairs := newGroup[struct {
		name string
		part [2]any
	}](t, 10)
	for range 100 {
		assert.Equal(t, 1, floats.For(math.NaN()).MaxAttempts())
		assert.Equal(t, 1, anys.For([]int{1}).MaxAttempts())
		assert.Equal(t, 1, anys.For(func() {}).MaxAttempts())
		assert.Equal(t, 1, anys.For(math.NaN()).MaxAttempts())
		pair := struct {
			name string
			part [2]any
		}{name: "a"}
		pair.part[1] = map[int]int{}
		assert.Equal(t, 1, pairs.For(pair).MaxAttempts())
	}
	assert.Equal(t, engine.GroupStats{Limit: 10, Unkeyed: 100}, floats.Stats())
	assert.Equal(t, engine.GroupStats{Limit: 10, Unkeyed: 300}, anys.Stats())
	assert.Equal(t, engine.GroupStats{Limit: 10, Unkeyed: 100}, pairs.Stats())

	assert.Same(t, floats.For(0), floats.For(math.Copysign(0, -1)), "0 and -0 are equal")
	for _, key := range []any{nil, 1, "1", [1]any{nil}, (*int)(nil)} {
		assert.Equal(t, 3, anys.For(key).MaxAttempts())
		assert.Same(t, anys.For(key), anys.For(key))
	}
	assert.Equal(t, 5, anys.Len())
	assert.Contains(t, maps.Collect(anys.All()), nil)
}

// A string key may lie in a buffer that is used again.
func TestGroupCopiesStrings(t *testing.T) {
	type host string
	g := newGroup[host](t, 10)
	buffer := []byte("one.example")
	e := g.For(host(unsafe.String(&buffer[0], len(buffer))))
	copy(buffer, "two")
	assert.Same(t, e, g.For("one.example"))
	assert.NotSame(t, e, g.For("two.example"))
}

// Adaptive mode: an engine that was throttled knows something that a new one does
// not (R8.3), so it keeps its place for 5 minutes although its quota is full; one
// that was not has to rest for 10 s.
func TestGroupKeepsWhatWasThrottled(t *testing.T) {
	clock := new(handClock)
	g := newGroup[string](t, 2, engine.WithMode(engine.Adaptive), engine.WithClock(clock))
	throttled, fresh := g.For("throttled"), g.For("fresh")
	c := throttled.Begin()
	c.Fail(throttling)
	c.Abandon()
	assert.Equal(t, 500, level(throttled))
	sees := func(key string, want engine.GroupStats) {
		t.Helper()
		g.For(key)
		want.Limit = 2
		assert.Equal(t, want, g.Stats())
	}
	sees("a", engine.GroupStats{Engines: 2, Made: 2, Overflowed: 1})
	clock.pass(10*time.Second - 1)
	sees("a", engine.GroupStats{Engines: 2, Made: 2, Overflowed: 2})
	clock.pass(2)
	sees("a", engine.GroupStats{Engines: 2, Made: 3, Overflowed: 2, Dropped: 1})
	assert.Same(t, throttled, g.For("throttled"))
	clock.pass(time.Second)
	sees("b", engine.GroupStats{Engines: 2, Made: 3, Overflowed: 3, Dropped: 1})
	for range 10 {
		clock.pass(29 * time.Second)
		g.For("a")
	}
	sees("b", engine.GroupStats{Engines: 2, Made: 3, Overflowed: 4, Dropped: 1})
	clock.pass(10 * time.Second)
	g.For("a")
	sees("b", engine.GroupStats{Engines: 2, Made: 4, Overflowed: 4, Dropped: 1, Expired: 1})
	assert.NotSame(t, throttled, g.For("b"))

	c = fresh.Begin() // dropped, and goes on working
	assert.Equal(t, engine.ReasonRetry, c.Fail(transient).Reason)
	c.Abandon()
	assert.Equal(t, 500, level(fresh))
}
