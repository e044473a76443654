//go:build race || reprise_invariants

package ratelimit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/ratelimit"
)

// The orders that a hammer meets once in a million: at a point between reading
// and writing another operation runs to its end. These tests exist in builds
// that check invariants, as the race detector's do.

// Peer fault 50 and 52: between a caller's look at the state and its CAS another
// takes the token; the first is refused. Or the other is throttled; the first is
// measured by the new rate.
func TestFault52AnotherTakesTheToken(t *testing.T) {
	l, now := limited(t, 0)
	now += int64(l.AcquireNanos(now))
	ratelimit.At(t, ratelimit.BeforeAdmission, func() {
		assert.Zero(t, l.AcquireNanos(now))
	})
	assert.NotZero(t, l.AcquireNanos(now))
}

func TestFault52AnotherIsThrottled(t *testing.T) {
	l, now := limited(t, 3) // capacity 4.48
	now += int64(5 * time.Second)
	ratelimit.At(t, ratelimit.BeforeAdmission, func() {
		for range 10 {
			l.UpdateNanos(now, true) // down to a capacity of 1
		}
	})
	assert.Zero(t, l.AcquireNanos(now))
	assert.NotZero(t, l.AcquireNanos(now), "one token was all that was left")
}

// A success that computed a higher rate, and a throttle that comes first: the
// success must see the cut.
func TestPublicationSeesACut(t *testing.T) {
	l, now := limited(t, 90)
	later := now + int64(300*time.Millisecond)
	ratelimit.At(t, ratelimit.BeforePublication, func() {
		l.UpdateNanos(later, true)
	})
	fill := stats(l, now).FillRate
	l.UpdateNanos(later, false)
	s := stats(l, later)
	assert.Zero(t, s.SinceThrottle)
	assert.InEpsilon(t, 0.7*fill, s.FillRate, 1e-9, "t = 0 of the cubic is 0.7 of the last max")
}

// So however often the rate is cut in between, and so the slot that the first
// has read used again: its CAS fails, as if the throttles had come before.
func TestSlotThatIsUsedAgain(t *testing.T) {
	for _, p := range []struct {
		name  string
		point func(t *testing.T, op func())
		first func(l *ratelimit.Limiter, now int64)
	}{
		{"admission", func(t *testing.T, op func()) { ratelimit.At(t, ratelimit.BeforeAdmission, op) },
			func(l *ratelimit.Limiter, now int64) { l.AcquireNanos(now) }},
		{"publication", func(t *testing.T, op func()) { ratelimit.At(t, ratelimit.BeforePublication, op) },
			func(l *ratelimit.Limiter, now int64) { l.UpdateNanos(now, false) }},
	} {
		t.Run(p.name, func(t *testing.T) {
			for cuts := range 40 {
				mixed, now := limited(t, 90)
				inTurn, _ := limited(t, 90)
				now += int64(300 * time.Millisecond)
				cut := func(l *ratelimit.Limiter) {
					for range cuts {
						l.UpdateNanos(now, true)
					}
				}
				p.point(t, func() { cut(mixed) })
				p.first(mixed, now)
				cut(inTurn)
				p.first(inTurn, now)
				require.Equal(t, stats(inTurn, now), stats(mixed, now), "%d cuts", cuts)
				require.Equal(t, 15, ratelimit.FreeSlots(mixed))
			}
		})
	}
}

// atFloor returns a limiter at the minimum rate, with a measured rate far above
// it, and the instant of its last throttle.
func atFloor(t *testing.T) (*ratelimit.Limiter, int64) {
	l, now := limited(t, 200)
	for range 60 {
		now++
		l.UpdateNanos(now, true)
	}
	require.Equal(t, 0.5, stats(l, now).FillRate)
	return l, now
}

// A throttle has found the floor open; before it marks, a success leaves the
// floor. The throttle must cut that rate.
func TestMarkThatComesTooLateCuts(t *testing.T) {
	t.Run("UpdateNanos", func(t *testing.T) {
		lateMark(t, func(l *ratelimit.Limiter, now int64) { l.UpdateNanos(now, true) })
	})
	t.Run("ThrottleNanos", func(t *testing.T) {
		lateMark(t, func(l *ratelimit.Limiter, now int64) { assert.True(t, l.ThrottleNanos(now, now, 0)) })
	})
}

func lateMark(t *testing.T, throttle func(l *ratelimit.Limiter, now int64)) {
	l, now := atFloor(t)
	later := now + int64(5*time.Second)
	for range 100 { // so that twice the measured rate is no bound
		l.UpdateNanos(later-1, false)
	}
	for range 60 {
		l.UpdateNanos(later-1, true)
	}
	later += int64(350 * time.Millisecond)
	raised := 0.0
	ratelimit.At(t, ratelimit.BeforeMark, func() {
		l.UpdateNanos(later-int64(time.Millisecond), false)
		l.UpdateNanos(later+int64(5*time.Second), false)
		raised = stats(l, later).FillRate
	})
	throttle(l, later)
	require.Greater(t, raised, 2.0)
	assert.InEpsilon(t, 0.7*raised, stats(l, later).FillRate, 1e-9)
	assert.Zero(t, stats(l, later).SinceThrottle)

	measured := stats(l, later).MeasuredRate
	border := later + int64(5500*time.Millisecond)
	l.UpdateNanos(border, false)
	assert.InEpsilon(t, 0.8*2/0.5+0.2*measured, stats(l, border).MeasuredRate, 1e-12, "the throttle is counted once")
}

// A mark made before the floor is closed is seen by the success that closes it.
func TestMarkBeforeClosingIsSeen(t *testing.T) {
	l, now := atFloor(t)
	later := now + int64(5*time.Second)
	l.UpdateNanos(later-int64(600*time.Millisecond), true) // over the border, open again
	marked := false
	ratelimit.At(t, ratelimit.BeforePublication, func() { // the one that closes
		l.UpdateNanos(later-1, true)
		marked = true
	})
	l.UpdateNanos(later+int64(300*time.Millisecond), false)
	require.True(t, marked)
	s := stats(l, later+int64(300*time.Millisecond))
	assert.Equal(t, 0.5, s.FillRate, "0.3 s after a throttle the cubic is below the minimum")
	assert.EqualValues(t, 300*time.Millisecond+1, s.SinceThrottle)
}

// Who publishes a flat state says afterwards that successes change nothing, and who
// replaces it withdraws that before. Whatever comes between, a success after the
// cut raises the rate.
func TestQuietIsNotSaidTooLate(t *testing.T) {
	const at = int64(3500 * time.Millisecond)
	ops := []func(l *ratelimit.Limiter){
		func(l *ratelimit.Limiter) { l.UpdateNanos(at+1, false) },
		func(l *ratelimit.Limiter) { l.UpdateNanos(at+2, true) },
		func(l *ratelimit.Limiter) { l.UpdateNanos(at+int64(300*time.Millisecond), false) },
	}
	flat := func() *ratelimit.Limiter {
		l := ratelimit.New(epoch)
		for _, now := range []int64{0, 0, 500, 3000} {
			l.UpdateNanos(now*int64(time.Millisecond), false)
		}
		return l
	}
	inTurn := flat()
	for _, op := range ops {
		op(inTurn)
	}
	end := at + int64(400*time.Millisecond)
	want := stats(inTurn, end)
	require.Greater(t, want.FillRate, 0.7*want.MeasuredRate, "R8.2: it rises from the cut")

	l, reached := flat(), false
	ratelimit.At(t, ratelimit.BeforeSaying, func() {
		reached = true
		ops[1](l)
	})
	ops[0](l)
	ops[2](l)
	assert.True(t, reached)
	assert.Equal(t, want, stats(l, end))

	l, reached = flat(), false
	ops[0](l)
	ratelimit.At(t, ratelimit.BeforeChange, func() {
		reached = true
		l.UpdateNanos(at+1, false) // it finds the state still flat, and may not say so again
	})
	ops[1](l)
	ops[2](l)
	assert.True(t, reached)
	assert.Equal(t, want, stats(l, end))
}

// While a page is being replaced an admission comes: it is not lost.
func TestTurnLosesNoAdmission(t *testing.T) {
	l, now := limited(t, 90)
	now += int64(300 * time.Millisecond) // no border comes before the end
	reached, taken := 0, 0
	for range 25 { // there are 30 tokens
		ratelimit.At(t, ratelimit.BeforeTurn, func() {
			reached++
			if l.AcquireNanos(now) == 0 {
				taken++
			}
		})
		ratelimit.ClaimSlots(l) // as fifteen responses that were stopped
		before := stats(l, now)
		takenBefore := taken
		now++
		l.UpdateNanos(now, false)
		after := stats(l, now)
		want := before.Level + before.FillRate*1e-9 - float64(taken-takenBefore)
		require.InDelta(t, want, after.Level, 1e-6)
	}
	assert.Equal(t, 25, reached)
	assert.Equal(t, reached, taken)
}

// A throttle was about to cut when another did, which answers it as well: it is
// coalesced after all, and says so.
func TestCoalescedAfterALostCAS(t *testing.T) {
	l, cut := limited(t, 90)
	now := cut + int64(10*time.Millisecond)
	ratelimit.At(t, ratelimit.BeforePublication, func() {
		assert.True(t, l.ThrottleNanos(now, cut, time.Second))
	})
	assert.False(t, l.ThrottleNanos(now, cut+1, time.Second))
}
