package ratelimit_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/ratelimit"
)

// throttle tells both of a throttle that may coalesce.
func (p *pair) throttle(now, admitted int64, window time.Duration) (cut bool) {
	cut = p.l.ThrottleNanos(now, admitted, window)
	require.Equal(p.t, p.m.coalesce(p.phase+now, p.phase+admitted, int64(window)), cut)
	p.compare(now)
	return cut
}

// Rates, levels and admissions equal the model's also where throttles coalesce,
// and where both kinds come to one limiter: a cut of the one kind between those
// of the other, at every rate down to the minimum.
func TestModelCoalescingHistories(t *testing.T) {
	histories, steps := 60, 20_000
	if testing.Short() {
		steps = 2_000
	}
	cuts, coalesced, plain, floored := 0, 0, 0, 0
	for seed := range histories {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 11))
			p := newPair(t, r.Int64N(1e9))
			bad := []float64{0.002, 0.05, 0.5}[seed%3]
			mixed := []float64{0, 0.3}[seed%2]
			window := time.Duration(1e6 + r.Int64N(3e9))
			now, admitted := int64(0), int64(0)
			for range steps {
				if p.acquire(now) == 0 {
					admitted = now
				}
				now += r.Int64N(3e6)
				switch {
				case r.Float64() >= bad:
					p.update(now, false)
				case r.Float64() < mixed:
					plain++
					p.update(now, true)
				case p.throttle(now, admitted-r.Int64N(2e7), window):
					cuts++
				default:
					coalesced++
				}
				if p.m.fill == 0.5 {
					floored++
				}
				now += gap(r, 0.999)
			}
		})
	}
	t.Logf("%d cuts, %d coalesced, %d plain ones; %d steps at the minimum", cuts, coalesced, plain, floored)
	for _, n := range []int{cuts, coalesced, plain, floored} {
		assert.Greater(t, n, histories*steps/500)
	}
}

// One cut for a burst takes 15 % and what was saved up: the attempt after it waits
// for its token, where R8.2 leaves as many as the capacity holds.
func TestCutThatCoalescesEmptiesTheBucket(t *testing.T) {
	for _, row := range []struct {
		window time.Duration
		rate   float64 // of the measured one
		full   bool
	}{
		{0, 0.7, true},
		{time.Minute, 0.85, false},
	} {
		l := ratelimit.New(epoch)
		at := int64(0)
		for range 40 { // half seconds of 2,000/s
			for range 1000 {
				l.UpdateNanos(at, false)
			}
			at += halfSecond
		}
		l.UpdateNanos(at, false)
		measured := stats(l, at).MeasuredRate
		require.True(t, l.ThrottleNanos(at, 0, row.window), "the first cuts, whenever it was sent")
		s := stats(l, at)
		assert.InEpsilon(t, row.rate*measured, s.FillRate, 1e-12)
		wait := l.AcquireNanos(at)
		if row.full {
			assert.Greater(t, s.Level, 1.0)
			assert.Zero(t, wait)
			continue
		}
		assert.Zero(t, s.Level)
		assert.InDelta(t, 1e9/s.FillRate, float64(wait), 1)
		assert.Zero(t, l.AcquireNanos(at+int64(wait)))
	}
}

// A client that starts at full load before a service that throttles at once: R8.2
// cuts what it has not measured yet, to the minimum; here the first cut waits for
// one whole half second of the clock, wherever in a second the limiter began.
func TestFirstCutKnowsARate(t *testing.T) {
	for _, phase := range []int64{0, 1, 250, 499, 500, 750, 999} {
		p := newPair(t, phase*1e6)
		now, admitted := int64(0), 0
		for ; !p.m.enabled; now += 1e6 { // 1,000/s, one in three throttled
			require.Zero(t, p.acquire(now))
			admitted++
			if admitted%3 == 0 {
				p.throttle(now, now, time.Minute)
			} else {
				p.update(now, false)
			}
		}
		assert.GreaterOrEqual(t, now, halfSecond, phase)
		assert.LessOrEqual(t, now, 2*halfSecond+3e6, phase)
		assert.Greater(t, p.m.fill, 0.85*0.8*990, phase)
		assert.Less(t, p.m.fill, 0.85*1010, phase)
	}
}

// The cubic after a cut by 15 % is back at the rate before it after
// K = math.Cbrt(0.15 r / 0.4) seconds, sooner than R8.2's.
func TestCubicAfterACoalescingCut(t *testing.T) {
	l, cut := limited(t, 9)
	for range 1000 {
		l.UpdateNanos(cut, false)
	}
	border := int64(time.Second)
	l.UpdateNanos(border, false) // so that twice the measured rate is no bound
	before := stats(l, border).FillRate
	require.True(t, l.ThrottleNanos(border, border, time.Minute))
	k := int64(1e9 * math.Cbrt(0.15*before/0.4))
	l.UpdateNanos(border+k/2, false)
	assert.InEpsilon(t, before-0.15*before/8, stats(l, border+k/2).FillRate, 1e-9)
	for range 1000 {
		l.UpdateNanos(border+k/2, false)
	}
	l.UpdateNanos(border+k, false)
	assert.InEpsilon(t, before, stats(l, border+k).FillRate, 1e-9)
}

// At the minimum rate a cut leaves the one token that there can be, as R8.2 does.
func TestCoalescingCutsAtTheMinimum(t *testing.T) {
	l, now := limited(t, 9)
	for range 100 {
		now++
		require.True(t, l.ThrottleNanos(now, now, time.Second))
	}
	require.Equal(t, 0.5, stats(l, now).FillRate)
	later := now + int64(100*time.Second)
	require.True(t, l.ThrottleNanos(later, later, time.Second))
	s := stats(l, later)
	assert.EqualValues(t, 1, s.Level)
	assert.Zero(t, s.SinceThrottle)
	assert.Zero(t, l.AcquireNanos(later))
	assert.EqualValues(t, 2*time.Second, l.AcquireNanos(later))
}
