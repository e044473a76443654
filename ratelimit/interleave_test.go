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
	l.UpdateNanos(later, true)
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

// Two responses start from one word and so would write one base. The second is
// stopped before it takes a slot, and goes on when the slot in which the first
// became the state is free again, while a reader looks at it: what that reader
// has read of two snapshots is not one.
func TestTwinInASlotThatIsUsedAgain(t *testing.T) {
	l, now := limited(t, 90)
	now += int64(300 * time.Millisecond) // there are 30 tokens
	stopped, goOn, done := make(chan struct{}, 2), make(chan struct{}), make(chan struct{})
	stop := func() {
		stopped <- struct{}{}
		<-goOn
	}
	ratelimit.At(t, ratelimit.BeforeClaim, stop)
	go func() {
		defer close(done)
		l.UpdateNanos(now, true)
	}()
	<-stopped
	cut := func() { l.UpdateNanos(now, true) }
	cut()
	ratelimit.At(t, ratelimit.BetweenLoads, func() {
		for range 5 {
			assert.Zero(t, l.AcquireNanos(now))
		}
		cut()
		cut()
		ratelimit.At(t, ratelimit.BetweenLooks, func() {
			cut()
			ratelimit.At(t, ratelimit.BeforePublication, stop)
			goOn <- struct{}{}
			<-stopped
		})
	})
	read := stats(l, now)
	assert.Equal(t, stats(l, now), read)
	goOn <- struct{}{}
	<-done
	assert.Equal(t, 15, ratelimit.FreeSlots(l))
}

// A throttle that finds a frozen page learns nothing from it: its successor may
// have left the floor, and then a mark is no cut.
func TestFrozenPageTakesNoMark(t *testing.T) {
	l, now := atFloor(t)
	later := now + int64(5*time.Second)
	for range 100 { // so that twice the measured rate is no bound
		l.UpdateNanos(later-1, false)
	}
	for range 60 {
		l.UpdateNanos(later-1, true)
	}
	later += int64(350 * time.Millisecond)
	after := later + int64(5*time.Second)
	raise := func() { l.UpdateNanos(after, false) }
	ratelimit.ClaimSlots(l)
	reached := false
	ratelimit.At(t, ratelimit.BeforeTurn, func() {
		reached = true
		ratelimit.At(t, ratelimit.BeforeMark, raise)
		l.UpdateNanos(later, true)
		assert.LessOrEqual(t, stats(l, after).SinceThrottle, 5*time.Second)
	})
	raise()
	assert.True(t, reached)
	assert.EqualValues(t, 5*time.Second, stats(l, after).SinceThrottle)
}

// However often others take all slots just before a response wants one, its
// change is made: else two sets of responses could keep each other from it.
func TestNoSlotIsEverFree(t *testing.T) {
	l, now := limited(t, 90)
	now += int64(300 * time.Millisecond)
	fill := stats(l, now).FillRate
	tries := 0
	var claim func()
	claim = func() {
		ratelimit.ClaimSlots(l)
		if tries++; tries < 100 {
			ratelimit.At(t, ratelimit.BeforeClaim, claim)
		}
	}
	ratelimit.At(t, ratelimit.BeforeClaim, claim)
	l.UpdateNanos(now, true)
	assert.Equal(t, 1, tries)
	assert.InEpsilon(t, 0.7*fill, stats(l, now).FillRate, 1e-9)
}

// So it is where the one that has frozen the page stops: admissions and responses
// go on in its successor, readers need none.
func TestFrozenPageIsLeftByOthers(t *testing.T) {
	for name, op := range map[string]func(l *ratelimit.Limiter, now int64){
		"admission": func(l *ratelimit.Limiter, now int64) { assert.Zero(t, l.AcquireNanos(now)) },
		"throttle":  func(l *ratelimit.Limiter, now int64) { l.UpdateNanos(now, true) },
		"success":   func(l *ratelimit.Limiter, now int64) { l.UpdateNanos(now, false) },
		"costs":     func(l *ratelimit.Limiter, now int64) { _, _ = l.TryAdmitAt(epoch.Add(time.Duration(now)), 7) },
		"rebase":    func(l *ratelimit.Limiter, now int64) { assert.Zero(t, l.AcquireNanos(now+int64(1000*time.Hour))) },
		"reader":    func(l *ratelimit.Limiter, now int64) { assert.Positive(t, stats(l, now).Level) },
	} {
		t.Run(name, func(t *testing.T) {
			mixed, now := limited(t, 90)
			inTurn, _ := limited(t, 90)
			now += int64(300 * time.Millisecond)
			page := ratelimit.Page(mixed)
			ratelimit.ClaimSlots(mixed)
			ratelimit.At(t, ratelimit.BeforeTurn, func() {
				op(mixed, now)
				assert.Equal(t, name == "reader", ratelimit.Page(mixed) == page)
			})
			mixed.UpdateNanos(now, true)
			op(inTurn, now)
			inTurn.UpdateNanos(now, true)
			require.Equal(t, stats(inTurn, now), stats(mixed, now))
		})
	}
}
