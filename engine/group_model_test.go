package engine_test

import (
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/engine"
)

// groupModel is the rules of Group as plainly as they can be written: a map, a
// ring and a hand. One goroutine.
type groupModel struct {
	limit   int
	members map[int]*memberModel
	ring    []*memberModel
	hand    int
	began   bool // a sweep was
	begin   time.Duration
	stats   engine.GroupStats
}

type memberModel struct {
	key, slot  int
	engine     *engine.Engine
	level      int
	referenced bool
	since      time.Duration // when a sweep cleared it; 0: none has
}

// lookUp returns the member of a key that has one and nil for one that is to be
// made, with the slot for it; room is false if there is none.
func (g *groupModel) lookUp(key int, now time.Duration) (m *memberModel, slot int, room bool) {
	if m = g.members[key]; m != nil {
		m.referenced = true
		return m, 0, true
	}
	if len(g.ring) < g.limit {
		g.ring = append(g.ring, nil)
		return nil, len(g.ring) - 1, true
	}
	if !g.began {
		g.began, g.begin = true, now
	}
	now = max(now-g.begin, 1)
	var stale *memberModel
	looks := min(g.limit, 64)
	for looked := 0; looked < looks; {
		from := g.hand
		g.hand += 8
		for i := 0; i < 8 && looked < looks; i++ {
			looked++
			m := g.ring[(from+i)%g.limit]
			rested := now - m.since
			switch {
			case m.referenced && (m.since == 0 || rested >= time.Second):
				m.referenced, m.since = false, now
			case m.referenced || rested < 10*time.Second:
			case m.level == 500:
				delete(g.members, m.key)
				g.stats.Dropped++
				return nil, m.slot, true
			case rested >= 5*time.Minute && stale == nil:
				stale = m
			}
		}
	}
	if stale == nil {
		g.stats.Overflowed++
		return nil, 0, false
	}
	delete(g.members, stale.key)
	g.stats.Expired++
	return nil, stale.slot, true
}

func (g *groupModel) made(key, slot int, e *engine.Engine) *memberModel {
	m := &memberModel{key: key, slot: slot, engine: e, level: 500, referenced: true}
	g.members[key], g.ring[slot] = m, m
	g.stats.Made++
	return m
}

// groupPair runs the same operations on both.
type groupPair struct {
	t     testing.TB
	clock handClock
	real  *engine.Group[int]
	model groupModel
	over  *engine.Engine
	ever  map[*engine.Engine]bool
}

func newGroupPair(t testing.TB, limit int) *groupPair {
	p := &groupPair{t: t, ever: make(map[*engine.Engine]bool)}
	p.real = newGroup[int](t, limit, engine.WithClock(&p.clock))
	p.model = groupModel{limit: limit, members: make(map[int]*memberModel)}
	return p
}

func (p *groupPair) lookUp(key int) *memberModel {
	want, slot, room := p.model.lookUp(key, time.Duration(p.clock.nanos.Load()))
	e := p.real.For(key)
	switch {
	case want != nil:
		require.Same(p.t, want.engine, e, "key %d has an engine", key)
	case room:
		require.False(p.t, p.ever[e], "key %d gets a new engine", key)
		require.Equal(p.t, 3, e.MaxAttempts())
		p.ever[e] = true
		want = p.model.made(key, slot, e)
	default:
		if p.over == nil {
			p.over = e
			require.Equal(p.t, 1, e.MaxAttempts())
		}
		require.Same(p.t, p.over, e, "no room for key %d", key)
	}
	return want
}

func (p *groupPair) step(op, arg byte) {
	switch op % 8 {
	case 0, 1, 2:
		p.lookUp(int(arg))
	case 3: // a retry is sent and fails for good
		if m := p.lookUp(int(arg)); m != nil {
			c := m.engine.Begin()
			if c.Fail(throttling).Reason == engine.ReasonRetry {
				c.Admit()
				c.Abandon()
				m.level -= 5
			}
		}
	case 4:
		if m := p.lookUp(int(arg)); m != nil {
			for range 5 {
				c := m.engine.Begin()
				c.Succeed()
				m.level = min(m.level+1, 500)
			}
		}
	case 5:
		p.clock.pass(time.Duration(arg) * 10 * time.Millisecond)
	case 6:
		p.clock.pass(time.Duration(arg) * 2 * time.Second)
	case 7: // new keys, one after the other
		for i := range int(arg) {
			p.lookUp(1000 + int(arg)<<8 + i)
		}
	}
	p.model.stats.Engines, p.model.stats.Limit = len(p.model.members), p.model.limit
	require.Equal(p.t, p.model.stats, p.real.Stats())
}

func (p *groupPair) compare() {
	all := maps.Collect(p.real.All())
	assert.Len(p.t, all, len(p.model.members))
	for key, m := range p.model.members {
		assert.Same(p.t, m.engine, all[key])
		assert.Equal(p.t, m.level, level(m.engine))
	}
}

// Any sequence of look-ups, failures, successes and waits has the same engines,
// levels and counts as the model.
func TestGroupEqualsModel(t *testing.T) {
	steps := 200_000
	if testing.Short() {
		steps = 20_000
	}
	for _, limit := range []int{1, 2, 7, 8, 9, 63, 64, 65, 200} {
		r := rand.New(rand.NewPCG(uint64(limit), 5))
		p := newGroupPair(t, limit)
		for range steps / 10 {
			op := byte(r.IntN(7))
			if r.IntN(100) == 0 {
				op = 7
			}
			arg := byte(r.IntN(256))
			if op < 5 && r.IntN(4) > 0 {
				arg = byte(r.IntN(limit + 2)) // some keys are hot
			}
			p.step(op, arg)
		}
		p.compare()
		s := p.real.Stats()
		assert.Positive(t, s.Dropped, limit)
		assert.Positive(t, s.Expired, limit)
		assert.Positive(t, s.Overflowed, limit)
	}
}

// FuzzGroup reads operations, two bytes each, and holds the group against the
// model.
func FuzzGroup(f *testing.F) {
	f.Add(uint8(0), []byte("\x00\x01\x00\x02\x06\x06\x00\x02"))
	f.Add(uint8(2), []byte("\x03\x01\x03\x02\x00\x03\x00\x04\x06\x97\x00\x04\x00\x01"))
	f.Fuzz(func(t *testing.T, limit uint8, script []byte) {
		p := newGroupPair(t, int(limit)+1)
		for ; len(script) >= 2; script = script[2:] {
			p.step(script[0], script[1])
		}
		p.compare()
	})
}
