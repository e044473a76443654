package ratelimit_test

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/internal/hammer"
	"github.com/reprise-go/reprise/ratelimit"
)

// Behind those who wait long, others come and are refused or give up, in any number
// and anywhere in the line: what is kept of them all is a part of what those who
// wait take up, or little.
func TestPlacesGivenUpAreDropped(t *testing.T) {
	l, now := limited(t, 0)
	r := rand.New(rand.NewPCG(4, 4))
	var stay []ratelimit.Waiter
	calls := 100_000
	if testing.Short() {
		calls = 10_000
	}
	for i := range calls {
		w := l.Wait()
		_, ok := w.AdmitNanos(now)
		require.False(t, ok)
		switch {
		case i%(calls/100) == 0:
			stay = append(stay, w) // a hundred of them in the end
		case r.IntN(2) == 0:
			other := l.Wait()
			w.Leave()
			other.Leave()
		default:
			w.Leave()
		}
		require.LessOrEqual(t, ratelimit.Places(l), 64+3*len(stay)+2)
	}
	for i, w := range stay { // and none of those who wait was dropped
		select {
		case <-w.Turn():
		default:
			require.FailNow(t, "not called", "place %d", i)
		}
		wait, ok := w.AdmitNanos(now)
		if !ok {
			now += int64(wait)
			_, ok = w.AdmitNanos(now)
		}
		require.True(t, ok, "place %d", i)
	}
	assert.Zero(t, stats(l, now).Waiting)
	assert.LessOrEqual(t, ratelimit.Places(l), 1)
}

// So it is where all of it happens at once.
func TestPlacesAreDroppedUnderFire(t *testing.T) {
	hammer.OnProcs(t, func(t *testing.T) {
		l, now := limited(t, 0)
		first := l.Wait()
		var line [20]ratelimit.Waiter
		rounds := 4000
		if testing.Short() {
			rounds = 400
		}
		hammer.Together(8, func(worker int) {
			for i := range rounds {
				w, other := l.Wait(), l.Wait()
				if i == rounds/2 {
					line[worker] = l.Wait()
				}
				other.Leave()
				w.Leave()
			}
		})
		assert.Equal(t, 9, stats(l, now).Waiting)
		for range 100 { // whoever leaves last may have found another at it
			l.Wait().Leave()
		}
		assert.LessOrEqual(t, ratelimit.Places(l), 64+3*9+2)
		first.Leave()
		for range line {
			for _, w := range line {
				select {
				case <-w.Turn():
					w.Leave()
				default:
				}
			}
		}
		assert.Zero(t, stats(l, now).Waiting, "everyone was called in turn")
	})
}

// Who keeps a place that is over keeps nobody's that came after it.
func TestKeptPlaceKeepsNoOther(t *testing.T) {
	l, _ := limited(t, 0)
	kept := l.Wait()
	kept.Leave()
	l.Wait().Leave()
	later := ratelimit.Last(l)
	l.Wait().Leave()
	l.Wait().Leave()
	runtime.GC()
	runtime.GC()
	assert.Nil(t, later.Value())
	runtime.KeepAlive(kept)
}
