package engine

import (
	"context"
	"reflect"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/internal/pad"
)

// stepClock is moved by hand and never sleeps.
type stepClock struct{ atomic.Int64 }

func (c *stepClock) Now() time.Time                                      { return time.Unix(0, c.Load()) }
func (*stepClock) Sleep(context.Context, time.Duration, <-chan struct{}) {}

// A member is one allocation of 320 bytes; the counters lie on no line of what a
// look-up or a success reads, and 64-bit words on 8-byte borders everywhere.
func TestMemberLayout(t *testing.T) {
	var m member
	assert.LessOrEqual(t, unsafe.Sizeof(m), uintptr(320))
	assert.GreaterOrEqual(t, unsafe.Offsetof(m.counts)&^63, unsafe.Offsetof(m.quota)+64)
	assert.Less(t, unsafe.Offsetof(m.quota), uintptr(pad.CacheLine))
	for _, offset := range []uintptr{unsafe.Offsetof(m.mark), unsafe.Offsetof(m.quota), unsafe.Offsetof(m.counts)} {
		assert.Zero(t, offset%8)
	}
	var g Group[string]
	for _, offset := range []uintptr{unsafe.Offsetof(g.counts), unsafe.Offsetof(g.counts.engines), unsafe.Offsetof(g.slots) + unsafe.Offsetof(g.slots.hand), unsafe.Offsetof(g.slots) + unsafe.Offsetof(g.slots.used)} {
		assert.Zero(t, offset%8)
	}
	assert.GreaterOrEqual(t, unsafe.Offsetof(g.members), unsafe.Offsetof(g.slots)+unsafe.Sizeof(g.slots)+pad.CacheLine, "what misses write is away from what look-ups read")
}

// A search looks at 64 engines, however many there are, and clears a mark at
// most once a second.
func TestGroupSearchIsBounded(t *testing.T) {
	const limit = 10_000
	clock := new(stepClock)
	template, err := New(WithClock(clock))
	require.NoError(t, err)
	g, err := NewGroup[int](template, limit)
	require.NoError(t, err)
	for key := range limit {
		g.For(key)
	}
	cleared := func() (n int) {
		g.members.Range(func(_, v any) bool {
			if v.(*member).mark.Load()&stateBits == idle {
				n++
			}
			return true
		})
		return n
	}
	for i := 1; i <= 10; i++ {
		g.For(-i)
		assert.Equal(t, i*maxLooks, cleared())
	}
	for i := range 2 * limit / maxLooks {
		g.For(-100 - i)
	}
	require.Equal(t, limit, cleared())
	for key := range limit {
		g.For(key)
	}
	for i := range 2 * limit / maxLooks {
		g.For(-1000 - i)
	}
	assert.Zero(t, cleared(), "within the second in which they were cleared")
	clock.Add(int64(2 * time.Second))
	g.For(-1)
	assert.Equal(t, maxLooks, cleared())
	assert.Equal(t, limit, g.Len())
}

// A slot that was not needed after all serves the next key.
func TestSlotsComeBack(t *testing.T) {
	var s slots
	s.init(3)
	take := func() int {
		slot, ok := s.take()
		require.True(t, ok)
		return slot
	}
	assert.Equal(t, []int{0, 1, 2}, []int{take(), take(), take()})
	_, ok := s.take()
	assert.False(t, ok)
	s.free(1)
	s.free(0)
	assert.Equal(t, []int{0, 1}, []int{take(), take()})
	_, ok = s.take()
	assert.False(t, ok)
}

// panicClock panics when it is read.
type panicClock struct{ stepClock }

func (*panicClock) Now() time.Time { panic("no time") }

// Whatever ends the making of an engine, a panicking clock here, leaves its slot
// to the next.
func TestGroupKeepsNoSlotOfWhatWasNotMade(t *testing.T) {
	good, err := New(WithMode(Adaptive))
	require.NoError(t, err)
	bad, err := New(WithClock(new(panicClock)))
	require.NoError(t, err)
	p := *bad.policy.Load()
	p.mode, p.config.mode = Adaptive, Adaptive // New itself would have read the clock
	bad.policy.Store(&p)
	g, err := NewGroupFunc(func(key int) *Engine {
		if key < 0 {
			return bad
		}
		return good
	}, 2)
	require.NoError(t, err)
	for range 10 {
		assert.Panics(t, func() { g.For(-1) })
	}
	assert.Equal(t, Adaptive, g.For(1).Mode())
	assert.Equal(t, Adaptive, g.For(2).Mode())
	assert.Equal(t, 2, g.Len())
}

// A look-up that finds a member that is gone, before it has left the map, makes
// the key's engine anew.
func TestGroupReplacesWhatIsGone(t *testing.T) {
	template, err := New()
	require.NoError(t, err)
	g, err := NewGroup[int](template, 2)
	require.NoError(t, err)
	old := g.For(1)
	v, _ := g.members.Load(1)
	v.(*member).mark.Store(gone)
	for range g.All() {
		t.Error("it is no engine of the group any more")
	}
	e := g.For(1)
	assert.NotSame(t, old, e)
	assert.Same(t, e, g.For(1))
}

// Engines with the same settings share one policy, also after Reconfigure, and
// no old one is kept.
func TestGroupSharesPolicies(t *testing.T) {
	template, err := New()
	require.NoError(t, err)
	g, err := NewGroup[int](template, 100)
	require.NoError(t, err)
	policies := func() map[*policy]bool {
		found := make(map[*policy]bool)
		for _, e := range g.All() {
			found[e.policy.Load()] = true
		}
		return found
	}
	for key := range 50 {
		g.For(key)
	}
	assert.Len(t, policies(), 1)
	freed := make(chan struct{})
	for p := range policies() {
		runtime.AddCleanup(p, func(c chan struct{}) { close(c) }, freed)
	}
	require.NoError(t, g.Reconfigure(WithMaxAttempts(5)))
	assert.Len(t, policies(), 1)
	for key := range 100 {
		g.For(key)
	}
	assert.LessOrEqual(t, len(policies()), 2, "of those made before and after")
	require.NoError(t, g.Reconfigure(WithMaxAttempts(6)))
	for {
		runtime.GC()
		select {
		case <-freed:
			return
		default:
		}
	}
}

// A template func that makes an engine at each call costs the sharing, and no
// memory that lasts.
func TestGroupMemoIsBounded(t *testing.T) {
	g, err := NewGroupFunc(func(int) *Engine {
		e, _ := New()
		return e
	}, 10*maxMemo)
	require.NoError(t, err)
	for key := range 10 * maxMemo {
		g.For(key)
	}
	count := 0
	g.overlay.Load().memo.Range(func(any, any) bool { count++; return true })
	assert.Equal(t, maxMemo, count)
}

func TestHoldsInterface(t *testing.T) {
	type inner struct {
		Name string
		Any  any
	}
	for _, row := range []struct {
		value any
		want  bool
	}{
		{"", false}, {1, false}, {1.5, false}, {new(any), false}, {struct{ a, b string }{}, false}, {[2]int{}, false},
		{inner{}, true}, {[1]inner{}, true}, {struct{ i inner }{}, true},
	} {
		assert.Equal(t, row.want, holdsInterface(reflect.TypeOf(row.value)), "%T", row.value)
	}
	assert.True(t, holdsInterface(reflect.TypeFor[any]()))
}
