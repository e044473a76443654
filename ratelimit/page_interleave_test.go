//go:build race || reprise_invariants

package ratelimit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/ratelimit"
)

// Orders in which a slot is used again or a page is frozen.

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

// A reader that is stopped on a frozen page does not answer what its successors
// have left behind.
func TestFrozenPageIsNoAnswer(t *testing.T) {
	l, now := limited(t, 90)
	now += int64(300 * time.Millisecond)
	ratelimit.ClaimSlots(l)
	ratelimit.At(t, ratelimit.BeforeTurn, func() {
		ratelimit.At(t, ratelimit.BetweenLoads, func() {
			l.UpdateNanos(now, true)
			l.UpdateNanos(now, true)
		})
		read := stats(l, now)
		assert.Equal(t, stats(l, now), read)
	})
	l.UpdateNanos(now, true)
}

// A refusal of two snapshots' words is none: its wait is that of the later one.
func TestRefusalIsNotTorn(t *testing.T) {
	mixed, now := limited(t, 90)
	inTurn, _ := limited(t, 90)
	cut := func(l *ratelimit.Limiter) {
		for range 4 { // back to the slot that was read
			l.UpdateNanos(now, true)
		}
	}
	cut(inTurn)
	want := inTurn.AcquireNanos(now)
	ratelimit.At(t, ratelimit.BetweenLoads, func() { cut(mixed) })
	assert.NotZero(t, want)
	assert.Equal(t, want, mixed.AcquireNanos(now))
}
