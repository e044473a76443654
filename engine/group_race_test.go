package engine

import (
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a Group's rare orders leave behind, forced by what a group calls back:
// templates and clocks.

// Reconfigure has returned while an engine was being made with what it changed,
// and another asks for the key before its maker has looked again.
func TestGroupFoundByAnotherFollows(t *testing.T) {
	template, err := New()
	require.NoError(t, err)
	var g *Group[int]
	asked, found := 0, (*Engine)(nil)
	g, err = NewGroupFunc(func(int) *Engine {
		switch asked++; asked {
		case 1: // the maker has read the old settings
			require.NoError(t, g.Reconfigure(WithMaxAttempts(7)))
		case 2: // the maker follows; its engine is in the map
			found = g.For(1)
			assert.Equal(t, 7, found.MaxAttempts())
		}
		return template
	}, 2)
	require.NoError(t, err)
	assert.Same(t, g.For(1), found)
	assert.Equal(t, 7, found.MaxAttempts())
	assert.Equal(t, 3, asked)
}

// recursiveClock does something once when it is read.
type recursiveClock struct {
	stepClock
	once func()
}

func (c *recursiveClock) Now() time.Time {
	if do := c.once; do != nil {
		c.once = nil
		do()
	}
	return c.stepClock.Now()
}

// Two make the engine of one key in a full group, and each drops another's for
// it: nothing keeps the one whose slot the loser gave back.
func TestGroupKeepsNoEngineThatWasDropped(t *testing.T) {
	clock := new(recursiveClock)
	template, err := New(WithClock(clock))
	require.NoError(t, err)
	g, err := NewGroup[int](template, 2)
	require.NoError(t, err)
	dropped := []weak.Pointer[Engine]{weak.Make(g.For(1)), weak.Make(g.For(2))}
	clock.Add(int64(time.Hour))
	g.For(3) // finds them in use
	clock.Add(int64(time.Minute))
	clock.once = func() { g.For(3) }
	e := g.For(3)
	assert.Same(t, e, g.For(3))
	assert.Equal(t, GroupStats{Engines: 1, Limit: 2, Made: 3, Dropped: 2, Overflowed: 1}, g.Stats())
	runtime.GC()
	for _, p := range dropped {
		assert.Nil(t, p.Value())
	}
	runtime.KeepAlive(g)
}

// A look-up that has found an engine whose quota is not full, and a search that
// would drop it, at once: one of the two gives way.
func TestHammerSearchMindsALookUp(t *testing.T) {
	rounds := 200_000
	if testing.Short() {
		rounds = 50_000
	}
	template, err := New()
	require.NoError(t, err)
	m := newMember(1, template.policy.Load())
	require.True(t, m.quota.TryTake(1))
	var s slots
	s.init(1)
	s.put(0, m)
	for range rounds {
		m.mark.Store(1<<sinceBits | idle)
		var touched bool
		var retired *member
		var both sync.WaitGroup
		both.Go(func() { touched = m.touch() })
		retired, _, _ = s.retire(2 * idleNanos)
		both.Wait()
		require.Equal(t, touched, retired == nil)
	}
}
