package record

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func total(slots []Slot) (sum Slot) {
	for _, s := range slots {
		sum.join(s)
	}
	return sum
}

func TestSeriesPutsSamplesWhereTheyBelong(t *testing.T) {
	var s Series
	s.add(0, 5*time.Millisecond, Slot{Succeeded: 1, Lowest: 5, Highest: 9, Last: 7, Samples: 1})
	s.add(5*time.Millisecond, 9*time.Millisecond, Slot{Stopped: 2, Lowest: 4, Highest: 7, Last: 4, Samples: 1})
	s.add(9*time.Millisecond, 15*time.Millisecond, Slot{Transient: 3, Lowest: 1, Highest: 4, Last: 2, Samples: 1})
	require.Len(t, s.Slots, 2)
	assert.Equal(t, Slot{Succeeded: 1, Stopped: 2, Lowest: 4, Highest: 9, Last: 4, Samples: 2}, s.Slots[0])
	assert.Equal(t, Slot{Transient: 3, Lowest: 1, Highest: 4, Last: 2, Samples: 1}, s.Slots[1])
}

func TestSeriesSpreadsALateSample(t *testing.T) {
	var s Series
	s.add(0, 5*time.Millisecond, Slot{Samples: 1})
	s.add(5*time.Millisecond, 45*time.Millisecond, Slot{Succeeded: 10, Lowest: 3, Highest: 8, Last: 8, Samples: 1})
	require.Len(t, s.Slots, 5)
	for i, want := range []uint64{0, 2, 2, 3, 3} {
		assert.Equal(t, want, s.Slots[i].Succeeded, i)
	}
	assert.Zero(t, s.Slots[3].Samples, "the level is not known there")
	assert.Equal(t, 1, s.Slots[4].Samples)
}

func TestSeriesIsBoundedAndLosesNothing(t *testing.T) {
	var s Series
	random := rand.New(rand.NewPCG(1, 2))
	var want Slot
	var last time.Duration
	for now := time.Duration(0); now < 10*time.Minute; now += time.Duration(random.IntN(30)+1) * time.Millisecond {
		slot := Slot{
			Succeeded: random.Uint64N(50), Stopped: random.Uint64N(5), Transient: random.Uint64N(9), Throttling: random.Uint64N(3),
			Offered: random.Uint64N(70), Sent: random.Uint64N(70), Throttled: random.Uint64N(20),
			Lowest: random.IntN(10), Highest: 10 + random.IntN(10), Last: 10, Samples: 1,
			FillRate: random.Float64(), MeasuredRate: random.Float64(),
		}
		want.join(slot)
		s.add(last, now, slot)
		last = now
		require.LessOrEqual(t, len(s.Slots), maxSlots)
	}
	assert.Equal(t, want, total(s.Slots))
	assert.Equal(t, 320*time.Millisecond, s.SlotLength)

	for _, n := range []int{1, 7, 100, 5000} {
		columns, length := s.Columns(n)
		assert.LessOrEqual(t, len(columns), n)
		assert.Equal(t, want, total(columns), "%d columns", n)
		assert.Zero(t, length%s.SlotLength)
	}
}

func TestLatenciesAreRightToThreeDigits(t *testing.T) {
	var l latencies
	for i := range 10_000 {
		l.add(time.Duration(i+1) * 100 * time.Microsecond)
	}
	l.add(-time.Second) // clocks are not trusted
	l.add(time.Hour)    // nor servers
	d := distribution(l.sum())
	assert.InEpsilon(t, 500, d.P50, 0.002)
	assert.InEpsilon(t, 990, d.P99, 0.002)
	assert.InEpsilon(t, 999, d.P999, 0.002)
	assert.InEpsilon(t, longestLatency.Seconds()*1e3, d.Max, 0.002)
	assert.Zero(t, distribution(new(latencies).sum()), "nothing recorded is zero, not NaN")
}
