package mono_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/internal/mono"
)

func TestNanosCountsFromTheAnchor(t *testing.T) {
	start := time.Now()
	a := mono.At(start)
	assert.EqualValues(t, 0, a.Nanos(start))
	assert.EqualValues(t, 1500, a.Nanos(start.Add(1500)))
	assert.EqualValues(t, -1500, a.Nanos(start.Add(-1500)))
}

// Peer fault 16: the wall clock is set by an hour; the monotonic reading tells
// the truth. Stripping it from both sides is how a wall clock would look.
func TestFault16WallClockIsNotRead(t *testing.T) {
	start := time.Now()
	a := mono.At(start)
	later := start.Add(time.Second)
	assert.EqualValues(t, time.Second, a.Nanos(later))
	assert.EqualValues(t, time.Second, a.Nanos(later.In(time.FixedZone("away", 3600))))
}

func TestVirtualInstants(t *testing.T) {
	a := mono.At(time.Unix(100, 0))
	assert.EqualValues(t, 2*time.Second, a.Nanos(time.Unix(102, 0)))
	assert.EqualValues(t, int64(math.MaxInt64), a.Nanos(time.Unix(1<<40, 0)), "saturates")
	assert.EqualValues(t, int64(math.MaxInt64), mono.Anchor{}.Nanos(time.Unix(102, 0)), "the zero anchor")
}

func TestNowFollowsTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := mono.At(time.Now())
		<-time.After(3 * time.Second)
		assert.EqualValues(t, 3*time.Second, a.Now())
	})
}

func BenchmarkNow(b *testing.B) {
	b.Run("clock=monotonic", func(b *testing.B) {
		b.ReportAllocs()
		a := mono.At(time.Now())
		var sum int64
		for b.Loop() {
			sum += a.Now()
		}
	})
	b.Run("clock=time.Now", func(b *testing.B) {
		b.ReportAllocs()
		a := mono.At(time.Now())
		var sum int64
		for b.Loop() {
			sum += a.Nanos(time.Now())
		}
	})
	b.Run("clock=given", func(b *testing.B) {
		b.ReportAllocs()
		a, now := mono.At(time.Now()), time.Now()
		var sum int64
		for b.Loop() {
			sum += a.Nanos(now)
		}
	})
}
