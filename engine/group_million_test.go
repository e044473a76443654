//go:build !race

package engine_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/engine"
)

// perKey is what Group's comment promises, in bytes of heap for each key of a large group
// with short strings as keys.
const (
	perKeyStandard = 512
	perKeyAdaptive = 4096
)

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// A million keys of which ten thousand are hot: what each costs in memory, that
// the failing ones take nobody else's retries, and that hot keys are found
// without an allocation.
func TestGroupMillionKeys(t *testing.T) {
	keys := 1_000_000
	if testing.Short() {
		keys = 50_000
	}
	hot := keys / 100
	names := make([]string, keys)
	for i := range names {
		names[i] = fmt.Sprintf("tenant-%07d", i)
	}
	before := heap()
	g := newGroup[string](t, keys)
	for i, name := range names {
		e := g.For(name)
		if i%10 == 9 {
			for range 100 {
				c := e.Begin()
				c.Fail(throttling)
			}
		}
	}
	for i := range keys {
		g.For(names[i%hot])
	}
	bytes := float64(heap()-before) / float64(keys)
	t.Logf("%.0f bytes per key", bytes)
	assert.Less(t, bytes, float64(perKeyStandard))
	assert.Equal(t, engine.GroupStats{Engines: keys, Limit: keys, Made: uint64(keys)}, g.Stats())

	wrong := 0
	for i, name := range names {
		want := 500
		if i%10 == 9 {
			want = 0
		}
		if level(g.For(name)) != want {
			wrong++
		}
	}
	assert.Zero(t, wrong, "levels")
	i := 0
	assert.Zero(t, testing.AllocsPerRun(hot, func() {
		g.For(names[i%hot])
		i++
	}))
	runtime.KeepAlive(names)
}

// In adaptive mode most of it is the limiter.
func TestGroupAdaptiveKeys(t *testing.T) {
	keys := 20_000
	if testing.Short() {
		keys = 2_000
	}
	before := heap()
	g := newGroup[int](t, keys, engine.WithMode(engine.Adaptive))
	for key := range keys {
		g.For(key)
	}
	bytes := float64(heap()-before) / float64(keys)
	t.Logf("%.0f bytes per key", bytes)
	assert.Less(t, bytes, float64(perKeyAdaptive))
	runtime.KeepAlive(g)
}

// Keys that came and went leave nothing behind.
func TestGroupChurnKeepsNothing(t *testing.T) {
	const limit = 1000
	rounds := 200
	if testing.Short() {
		rounds = 20
	}
	clock := new(handClock)
	g := newGroup[string](t, limit, engine.WithClock(clock))
	churn := func(from, to int) {
		for key := from * limit; key < to*limit; key++ {
			clock.pass(time.Second / 10) // all have rested when their turn comes
			g.For(fmt.Sprintf("tenant-%09d", key))
		}
	}
	churn(0, 3)
	before := heap()
	churn(3, rounds)
	grown := int64(heap()) - int64(before)
	assert.Less(t, grown, int64(limit*perKeyStandard/2), "bytes, after %d keys", rounds*limit)
	s := g.Stats()
	assert.Equal(t, limit, s.Engines)
	assert.Greater(t, s.Dropped, uint64((rounds-3)*limit))
	runtime.KeepAlive(g)
}
