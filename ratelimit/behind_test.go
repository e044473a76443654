package ratelimit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/ratelimit"
)

// A throttle whose clock is behind counts as one at the latest instant seen: that
// of the last change, ...
func TestThrottleBehindTheLastChange(t *testing.T) {
	l, now := limited(t, 90)
	l.UpdateNanos(now+int64(300*time.Millisecond), false)
	require.EqualValues(t, 300*time.Millisecond, stats(l, now+int64(300*time.Millisecond)).SinceThrottle)
	l.UpdateNanos(now, true)
	assert.Zero(t, stats(l, now+int64(300*time.Millisecond)).SinceThrottle)
}

// ... or that at which the line was begun afresh, since the years before are over.
func TestThrottleBehindARebasedLine(t *testing.T) {
	l, now := limited(t, 90)
	for range 60 { // to the floor, where a throttle only marks its time
		l.UpdateNanos(now, true)
	}
	years := now + 3*365*24*int64(time.Hour)
	require.Zero(t, l.AcquireNanos(years))
	l.UpdateNanos(now, true)
	assert.Zero(t, stats(l, years).SinceThrottle)
}

// A line whose end nobody has followed yet, and that was used nearly up to it.
func TestLevelPastTheHorizon(t *testing.T) {
	p := newPair(t, 0)
	p.update(1e6, false)
	p.update(2e9, true)
	p.update(2e9, true)
	require.Equal(t, 0.5, p.m.fill)
	end := int64(2e9) + 1<<25*int64(time.Second) // when 2^24 tokens were made
	now := end - int64(100*time.Millisecond)
	require.Zero(t, p.acquire(now))
	require.NotZero(t, p.acquire(now))
	for range 100 {
		now += 3_000_017
		p.compare(now)
	}
	p.update(now, false)
}

// A capacity above 2^24 tokens acts like that.
func TestLevelIsBounded(t *testing.T) {
	l := ratelimit.WithRate(epoch, 1e12)
	assert.EqualValues(t, 1<<24, stats(l, int64(time.Hour)).Level)
}
