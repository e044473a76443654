package ratelimit_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/ratelimit"
)

// traffic drives Update and the model at the real (here: virtual) clock.
type traffic struct {
	t     *testing.T
	start time.Time
	l     *ratelimit.Limiter
	m     *model
}

func newTraffic(t *testing.T) *traffic {
	start := time.Now()
	return &traffic{t: t, start: start, l: ratelimit.New(start), m: newModel(int64(start.Nanosecond()))}
}

// send makes n responses, pause after each.
func (tr *traffic) send(n int, pause time.Duration) {
	for range n {
		tr.l.Update(false)
		tr.m.update(false, int64(tr.start.Nanosecond())+int64(time.Since(tr.start)))
		pass(pause)
	}
}

func (tr *traffic) measured(tolerance float64, what string) {
	tr.t.Helper()
	assert.InDelta(tr.t, tr.m.measured, tr.l.Snapshot().MeasuredRate, tolerance*tr.m.measured, what)
}

// 200,000 a second falling to 20 a second, and back: the sampled clock does not
// show (R8.2). It is what a count alone would get wrong by minutes.
func TestUpdateAfterASharpFall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pass(123_456_789) // not on a border
		tr := newTraffic(t)
		tr.send(240_000, 5*time.Microsecond) // 1.2 s
		tr.measured(0.001, "steady")
		assert.True(t, ratelimit.Sampling(tr.l), "at this rate the clock is sampled")
		tr.send(11, 50*time.Millisecond) // past one border
		tr.measured(0.001, "the half second in which it fell")
		tr.send(10, 50*time.Millisecond)
		tr.measured(0.001, "a half second later")
		assert.False(t, ratelimit.Sampling(tr.l), "at this rate every response looks")
		tr.send(90, 50*time.Millisecond)
		tr.measured(1e-6, "five seconds later")
		require.InDelta(t, 20, tr.l.Snapshot().MeasuredRate, 3)
		tr.send(200_000, 5*time.Microsecond)
		tr.measured(0.001, "back")
		tr.send(1, 10*time.Second)
		tr.send(1, 50*time.Millisecond)
		tr.measured(0.001, "after a pause of ten seconds")
	})
}

// Below the rate at which sampling begins the shorthand is R8, step for step.
func TestUpdateIsExactAtModestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTraffic(t)
		for _, pause := range []time.Duration{time.Millisecond, 300 * time.Microsecond, 70 * time.Millisecond, 3 * time.Second} {
			for range 40 {
				tr.send(50, pause)
				tr.measured(1e-9, pause.String())
				s := tr.l.Snapshot()
				assert.True(t, near(tr.m.fill, s.FillRate), "%v, %v", tr.m.fill, s.FillRate)
			}
		}
	})
}

// A throttle ends sampling for good, and with it every timer's effect.
func TestThrottleEndsSampling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTraffic(t)
		tr.send(150_000, 5*time.Microsecond)
		require.True(t, ratelimit.Sampling(tr.l))
		tr.l.Update(true)
		assert.False(t, ratelimit.Sampling(tr.l))
		assert.True(t, tr.l.Snapshot().Enabled)
		for range 10 {
			pass(100 * time.Millisecond)
			tr.l.Update(false)
			assert.False(t, ratelimit.Sampling(tr.l))
		}
		assert.True(t, tr.l.Snapshot().Enabled, "R8.3: once enabled it stays enabled")
	})
}

// Idle limiters arm no timers: nothing runs when nothing comes.
func TestIdleLimiterArmsNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTraffic(t)
		tr.send(150_000, 5*time.Microsecond)
		pass(time.Hour)
		assert.False(t, ratelimit.Sampling(tr.l))
	})
}

// ThrottleAt with a window: one cut for what one overload sent. Without: R8.
func TestThrottleCoalescing(t *testing.T) {
	l, cut := limited(t, 9)
	fill := stats(l, cut).FillRate
	at := func(nanos int64) time.Time { return epoch.Add(time.Duration(nanos)) }
	const window = 100 * time.Millisecond
	ms := int64(time.Millisecond)

	assert.False(t, l.ThrottleAt(at(cut+10*ms), at(cut-1), window), "sent before the cut")
	assert.Equal(t, fill, stats(l, cut+10*ms).FillRate)
	assert.EqualValues(t, 10*ms, stats(l, cut+10*ms).SinceThrottle, "no cut, no later last throttle")

	assert.True(t, l.ThrottleAt(at(cut+20*ms), at(cut), window), "sent after the cut")
	assert.InEpsilon(t, 0.85*fill, stats(l, cut+20*ms).FillRate, 1e-12)

	assert.True(t, l.ThrottleAt(at(cut+120*ms), at(cut-1), window), "past the window")
	assert.InEpsilon(t, 0.85*0.85*fill, stats(l, cut+120*ms).FillRate, 1e-12)

	assert.True(t, l.ThrottleNanos(cut+121*ms, cut, 0), "no window: every throttle cuts")
	fill = stats(l, cut+121*ms).FillRate
	assert.InEpsilon(t, 0.7*0.85*0.85*0.7*0.8*20, fill, 1e-12)

	// Coalesced ones are responses all the same: 10 in the first bucket, and from
	// then on the five above, two more here, and the last.
	l.ThrottleNanos(cut+122*ms, cut, time.Second)
	l.ThrottleNanos(int64(time.Second), cut, time.Second)
	assert.InEpsilon(t, 0.8*6/0.5+0.2*0.8*20, stats(l, int64(time.Second)).MeasuredRate, 1e-12)
	assert.Equal(t, fill, stats(l, int64(time.Second)).FillRate, "a border does not make it a cut")

	fresh := ratelimit.New(epoch)
	assert.False(t, fresh.ThrottleAt(at(1), at(0), time.Hour), "nothing is measured that could be cut")
	assert.False(t, stats(fresh, 1).Enabled)
	assert.True(t, fresh.ThrottleAt(at(halfSecond), at(-int64(time.Hour)), time.Hour), "the first that can does")
	assert.InEpsilon(t, 0.85*0.8*2/0.5, stats(fresh, halfSecond).FillRate, 1e-12)
}

// R8.2: the border's new measured rate moves the bound, also if what came first
// behind the border was a throttle that did not cut: the next success goes by the
// cubic again.
func TestCoalescedThrottleAtABorderMovesTheBound(t *testing.T) {
	l, cut := limited(t, 9) // at 0.6 s; measured and last max 16/s, K = cbrt(12)
	at := int64(10600 * time.Millisecond)
	l.UpdateNanos(at, false)
	measured := 0.8*0.1 + 0.2*16
	require.InEpsilon(t, 2*measured, stats(l, at).FillRate, 1e-12, "held down by the bound")
	for range 100 {
		l.UpdateNanos(at, false)
	}
	border := int64(11 * time.Second)
	require.False(t, l.ThrottleNanos(border, cut-1, time.Hour))
	measured = 0.8*101/0.5 + 0.2*measured
	require.InEpsilon(t, measured, stats(l, border).MeasuredRate, 1e-12)
	at = border + int64(10*time.Millisecond)
	l.UpdateNanos(at, false)
	cubic := 0.4*math.Pow(time.Duration(at-cut).Seconds()-math.Cbrt(12), 3) + 16
	require.Less(t, cubic, 2*measured)
	assert.InEpsilon(t, cubic, stats(l, at).FillRate, 1e-9)
}

// R8.3: at the minimum rate, where a throttle leaves no more than a mark, one
// that is coalesced is counted like any other response.
func TestCoalescedThrottlesAtTheFloorAreCounted(t *testing.T) {
	l, cut := limited(t, 200)
	now := cut
	for range 60 {
		now++
		l.UpdateNanos(now, true)
	}
	require.Equal(t, 0.5, stats(l, now).FillRate)
	for range 10 {
		require.False(t, l.ThrottleNanos(now+1, cut-1, time.Hour))
	}
	border := int64(time.Second)
	l.UpdateNanos(border, false)
	assert.InEpsilon(t, 0.8*(60+10+1)/0.5+0.2*0.8*2*201, stats(l, border).MeasuredRate, 1e-12)
}

// K is R8.2's to the last bit: a rate that is the same as before leaves the line where it is, so whether it is decides
// which of two instants a late answer counts as.
func TestWindowToTheLastBit(t *testing.T) {
	for r := 0.5; r < 1e6; r *= 1.0625 {
		c := ratelimit.NewCurve(r, 0)
		c.At(1, false)
		before := c.At(2, false)
		c.At(3, true)
		require.Equal(t, math.Cbrt(0.3*max(before, 0.5)/0.4), c.Window(), "after %v", before)
	}
}

// Sampling misses no more than a 1,024th of a half second's count, all cells
// together, and does not begin below two requests for each cell.
func TestSkipBits(t *testing.T) {
	for _, cells := range []int{1, 2, 8, 64} {
		assert.Zero(t, ratelimit.SkipBits(2048*uint64(cells)-1, cells), "%d cells", cells)
		assert.Equal(t, uint8(1), ratelimit.SkipBits(2048*uint64(cells), cells), "%d cells", cells)
		for count := uint64(1); count < 1<<40; count = count*5/4 + 1 {
			missed := uint64(cells) << ratelimit.SkipBits(count, cells)
			if missed > uint64(cells) {
				require.LessOrEqual(t, missed, count/1024, "%d requests, %d cells", count, cells)
			} else {
				require.Less(t, count/1024, 2*uint64(cells), "%d requests, %d cells: could be sampled", count, cells)
			}
		}
	}
}

// R8.3: a success that was about to sample does not undo a throttle that came
// first.
func TestWatchDoesNotDisable(t *testing.T) {
	assert.True(t, ratelimit.EnabledAfterWatch())
}

// The zero Limiter admits everything and ignores every response.
func TestZeroLimiter(t *testing.T) {
	var l ratelimit.Limiter
	l.Update(true)
	l.UpdateAt(time.Now(), true)
	assert.Zero(t, l.Acquire())
	assert.Zero(t, l.AcquireAt(time.Now()))
	wait, err := l.TryAdmit(7)
	assert.NoError(t, err)
	assert.Zero(t, wait)
	assert.Zero(t, l.Snapshot())
	w := l.Wait()
	_, ok := w.AdmitAt(time.Now())
	assert.True(t, ok)
}

// R8's start, and the start of a bucket at the whole second before it.
func TestStart(t *testing.T) {
	l := ratelimit.New(epoch.Add(700 * time.Millisecond))
	s := l.SnapshotAt(epoch.Add(time.Second))
	assert.Equal(t, ratelimit.Stats{SinceThrottle: 300 * time.Millisecond}, s)
	l.UpdateNanos(0, false) // the bucket of .5 lies half a second after that of .0
	assert.InEpsilon(t, 0.8*2, l.SnapshotAt(epoch.Add(700*time.Millisecond)).MeasuredRate, 1e-12)
}

// Beyond the horizon the line is begun anew and nothing else changes.
func TestRebase(t *testing.T) {
	l, now := limited(t, 400_000)
	s := stats(l, now)
	for range 50 {
		now += int64(10 * time.Minute) // 2.7e8 tokens, four horizons
		n := 0
		for l.AcquireNanos(now) == 0 {
			n++
			if n == 1000 {
				break
			}
		}
		require.Equal(t, 1000, n)
		after := stats(l, now)
		require.Equal(t, s.FillRate, after.FillRate)
		require.InDelta(t, s.Capacity-1000, after.Level, 1e-3)
	}
}

// A caller whose clock is further ahead than half seconds can be counted, 68
// years, makes the others wait and does not take the limit off: the measured
// rate is never divided by no time.
func TestFarFutureMakesNoRate(t *testing.T) {
	l, now := limited(t, 10)
	for _, years := range []time.Duration{69, 80, 140, 290} {
		far := now + int64(years*365*24*time.Hour)
		for i := range int64(3) {
			l.UpdateNanos(far+i*int64(time.Second), i == 2)
			s := stats(l, far)
			require.LessOrEqual(t, s.MeasuredRate, 20.0, "%d years ahead: %+v", years, s)
			require.LessOrEqual(t, s.FillRate, 40.0, "%d years ahead: %+v", years, s)
		}
	}
}
