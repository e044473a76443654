package fastbackoff_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/fastbackoff"
)

const ms = time.Millisecond

// R4.2: the ceilings as published, and far beyond.
func TestCeilings(t *testing.T) {
	general, dynamo := fastbackoff.Default(), fastbackoff.DynamoDB()
	for _, row := range []struct {
		name     string
		schedule fastbackoff.Schedule
		class    fastbackoff.Class
		want     []time.Duration // by index; the last one holds for ever after
	}{
		{"transient", general, fastbackoff.Transient, []time.Duration{50, 100, 200, 400, 800, 1600, 3200, 6400, 12800, 20000}},
		{"throttling", general, fastbackoff.Throttling, []time.Duration{1000, 2000, 4000, 8000, 16000, 20000}},
		{"dynamodb transient", dynamo, fastbackoff.Transient, []time.Duration{25, 50, 100, 200, 400, 800, 1600, 3200, 6400, 12800, 20000}},
		{"dynamodb throttling", dynamo, fastbackoff.Throttling, []time.Duration{1000, 2000, 4000, 8000, 16000, 20000}},
	} {
		for index, want := range row.want {
			assert.Equal(t, want*ms, row.schedule.Ceiling(row.class, index), "%s, index %d", row.name, index)
		}
		for index := len(row.want); index < 200; index++ {
			require.Equal(t, 20*time.Second, row.schedule.Ceiling(row.class, index), "%s, index %d", row.name, index)
		}
	}
}

// R4.3: mean totals with 3 attempts.
func TestMeans(t *testing.T) {
	half := fastbackoff.Fixed(0.5).Uint64()
	s := fastbackoff.Default()
	assert.Equal(t, 75*ms, s.Delay(fastbackoff.Transient, 0, half)+s.Delay(fastbackoff.Transient, 1, half))
	assert.Equal(t, 1500*ms, s.Delay(fastbackoff.Throttling, 0, half)+s.Delay(fastbackoff.Throttling, 1, half))
}

// Peer faults 26, 29 and 41: shifts that overflow, negative indexes. Every index
// gives a delay in [0, Max].
func TestPeerFault26NoIndexOverflows(t *testing.T) {
	schedules := []fastbackoff.Schedule{
		fastbackoff.Default(),
		fastbackoff.DynamoDB(),
		{Transient: 1, Throttling: math.MaxInt64, Max: math.MaxInt64},
		{Transient: math.MaxInt64, Throttling: 3, Max: 1},
	}
	for _, s := range schedules {
		for _, class := range []fastbackoff.Class{fastbackoff.Transient, fastbackoff.Throttling} {
			first := s.Ceiling(class, 0)
			for _, index := range []int{math.MinInt, -1} {
				assert.Equal(t, first, s.Ceiling(class, index), "a negative index counts as 0")
			}
			last := time.Duration(0)
			for _, index := range []int{0, 1, 29, 30, 31, 32, 33, 34, 35, 61, 62, 63, 64, 65, 127, 128, math.MaxInt32, math.MaxInt} {
				ceiling := s.Ceiling(class, index)
				require.GreaterOrEqual(t, ceiling, last, "index %d", index)
				require.Positive(t, ceiling)
				require.LessOrEqual(t, ceiling, s.Max)
				for _, draw := range []uint64{0, 1, math.MaxUint32, 1 << 63, math.MaxUint64} {
					delay := s.Delay(class, index, draw)
					require.GreaterOrEqual(t, delay, time.Duration(0))
					require.Less(t, delay, ceiling, "never the ceiling itself")
				}
				last = ceiling
			}
			assert.Equal(t, s.Max, s.Ceiling(class, math.MaxInt))
		}
	}
}

// Peer faults 28 and 47: bounds that are not positive, a cap below the base.
func TestPeerFault28OddBounds(t *testing.T) {
	for _, row := range []struct {
		s    fastbackoff.Schedule
		want time.Duration
	}{
		{fastbackoff.Schedule{}, 0},
		{fastbackoff.Schedule{Transient: 1, Max: 0}, 0},
		{fastbackoff.Schedule{Transient: 0, Max: time.Second}, 0},
		{fastbackoff.Schedule{Transient: -time.Second, Max: time.Second}, 0},
		{fastbackoff.Schedule{Transient: time.Second, Max: -1}, 0},
		{fastbackoff.Schedule{Transient: time.Second, Max: 1}, 1},
		{fastbackoff.Schedule{Transient: time.Second, Max: 20 * ms}, 20 * ms},
	} {
		for _, index := range []int{-1, 0, 35, math.MaxInt} {
			assert.Equal(t, row.want, row.s.Ceiling(fastbackoff.Transient, index), "%+v", row.s)
			assert.GreaterOrEqual(t, row.s.Delay(fastbackoff.Transient, index, math.MaxUint64), time.Duration(0))
		}
	}
	for _, class := range []fastbackoff.Class{0, 3, math.MaxUint8} {
		assert.Zero(t, fastbackoff.Default().Ceiling(class, 3), "a class without a delay")
	}
}

// Peer faults 37, 38 and 40: the bases and the first exponent, by a draw as near
// to 1 as there is.
func TestPeerFault37Bases(t *testing.T) {
	one := fastbackoff.Fixed(1).Uint64()
	s, d := fastbackoff.Default(), fastbackoff.DynamoDB()
	for index, want := range []time.Duration{50, 100, 200} {
		assert.Equal(t, want*ms-1, s.Delay(fastbackoff.Transient, index, one))
	}
	assert.Equal(t, time.Second-1, s.Delay(fastbackoff.Throttling, 0, one))
	assert.Equal(t, time.Second-1, d.Delay(fastbackoff.Throttling, 0, one))
	assert.Equal(t, 25*ms-1, d.Delay(fastbackoff.Transient, 0, one))
}

func FuzzDelay(f *testing.F) {
	f.Add(int64(50*ms), int64(20*time.Second), 0, uint64(math.MaxUint64))
	f.Add(int64(math.MaxInt64), int64(math.MaxInt64), 63, uint64(1))
	f.Add(int64(-1), int64(0), -1, uint64(0))
	f.Fuzz(func(t *testing.T, base, most int64, index int, draw uint64) {
		s := fastbackoff.Schedule{Transient: time.Duration(base), Max: time.Duration(most)}
		ceiling, delay := s.Ceiling(fastbackoff.Transient, index), s.Delay(fastbackoff.Transient, index, draw)
		if ceiling < 0 || ceiling > max(s.Max, 0) || delay < 0 || delay > 0 && delay >= ceiling {
			t.Fatalf("%+v index %d draw %d: ceiling %v, delay %v", s, index, draw, ceiling, delay)
		}
		// R4 by floating point, near enough to catch another formula.
		if base > 0 && most > 0 {
			want := math.Min(float64(most), float64(base)*math.Pow(2, math.Max(0, float64(index))))
			if math.Abs(float64(ceiling)-want) > 1e-9*want+1 {
				t.Fatalf("%+v index %d: ceiling %v, want %v", s, index, ceiling, want)
			}
		}
	})
}
