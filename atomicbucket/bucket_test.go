package atomicbucket_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/atomicbucket"
)

func full(t testing.TB, capacity uint32) *atomicbucket.Bucket {
	t.Helper()
	b, err := atomicbucket.New(capacity)
	require.NoError(t, err)
	return b
}

func TestNewBucketIsFull(t *testing.T) { // R6: start = capacity
	b := full(t, 500)
	assert.EqualValues(t, 500, b.Level())
	assert.EqualValues(t, 500, b.Capacity())
	assert.True(t, b.Full())
}

func TestZeroBucketRefuses(t *testing.T) {
	var b atomicbucket.Bucket
	assert.False(t, b.TryTake(1))
	b.Give(5)
	level, capacity := b.Load()
	assert.Zero(t, level)
	assert.Zero(t, capacity)
	assert.True(t, b.TryTake(0))
}

// R6: one token short is not full, or a success would not bring it back.
func TestFull(t *testing.T) {
	b := full(t, 500)
	require.True(t, b.TryTake(1))
	assert.False(t, b.Full())
	b.Give(1)
	assert.True(t, b.Full())
	require.NoError(t, b.SetCapacity(501))
	assert.False(t, b.Full(), "a larger capacity adds no tokens")
	require.NoError(t, b.SetCapacity(500))
	assert.True(t, b.Full())
}

func TestTakeAndGive(t *testing.T) { // R6, R6.1
	b := full(t, 500)
	require.True(t, b.TryTake(14))
	assert.EqualValues(t, 486, b.Level())
	require.True(t, b.TryTake(5))
	assert.EqualValues(t, 481, b.Level())
	b.Give(5)
	b.Give(1)
	assert.EqualValues(t, 487, b.Level())
	assert.False(t, b.TryTake(488), "too few tokens")
	assert.EqualValues(t, 487, b.Level(), "a refusal takes nothing")
	assert.True(t, b.Has(487))
	assert.False(t, b.Has(488))
	require.True(t, b.TryTake(487))
	assert.Zero(t, b.Level())
	assert.False(t, b.TryTake(1))
}

// A full bucket holds 35 transient or 100 throttling retries (R6.5).
func TestRetriesInAFullBucket(t *testing.T) {
	for cost, want := range map[uint32]int{14: 35, 5: 100} {
		b := full(t, 500)
		n := 0
		for b.TryTake(cost) {
			n++
		}
		assert.Equal(t, want, n, "cost %d", cost)
	}
}

// Peer fault 25: arbitrary amounts given back wrap the counter.
func TestPeerFault25GiveSaturates(t *testing.T) {
	b := full(t, 500)
	require.True(t, b.TryTake(100))
	b.Give(0)
	assert.EqualValues(t, 400, b.Level())
	for range 2 {
		b.Give(math.MaxUint32)
		assert.EqualValues(t, 500, b.Level())
	}
	big := full(t, atomicbucket.MaxCapacity)
	require.True(t, big.TryTake(atomicbucket.MaxCapacity))
	big.Give(math.MaxUint32)
	assert.EqualValues(t, atomicbucket.MaxCapacity, big.Level())
	assert.False(t, big.TryTake(math.MaxUint32))
}

func TestCapacityRange(t *testing.T) {
	_, err := atomicbucket.New(atomicbucket.MaxCapacity + 1)
	assert.EqualError(t, err, "reprise/atomicbucket: capacity 2147483648 is out of range: want 0 to 2147483647 tokens")
	b := full(t, 7)
	assert.Error(t, b.SetCapacity(math.MaxUint32))
	assert.Error(t, b.Init(math.MaxUint32))
	level, capacity := b.Load()
	assert.EqualValues(t, 7, level, "an error changes nothing")
	assert.EqualValues(t, 7, capacity)
}

// Peer fault 23: a changed capacity takes effect at once, for the level too.
func TestPeerFault23SetCapacity(t *testing.T) {
	for _, row := range []struct {
		name            string
		out, to         uint32
		level, back     uint32 // after the change; after what was out came back
		capacityThereof uint32
	}{
		{"smaller, full", 0, 50, 50, 50, 50},
		{"smaller, tokens out", 100, 50, 50, 50, 50},
		{"smaller, nearly empty", 490, 50, 10, 50, 50},
		{"larger adds no tokens", 100, 1000, 400, 500, 1000},
		{"to nothing", 100, 0, 0, 0, 0},
		{"same", 100, 500, 400, 500, 500},
	} {
		b := full(t, 500)
		require.True(t, b.TryTake(row.out), row.name)
		require.NoError(t, b.SetCapacity(row.to), row.name)
		level, capacity := b.Load()
		assert.Equal(t, row.level, level, row.name)
		assert.Equal(t, row.capacityThereof, capacity, row.name)
		b.Give(row.out)
		assert.Equal(t, row.back, b.Level(), row.name)
	}
}

// Two million random operations agree with the model at each step.
func TestAgainstModel(t *testing.T) {
	operations := 2_000_000
	if testing.Short() {
		operations = 200_000
	}
	rng := rand.New(rand.NewPCG(6, 1))
	b, m := full(t, 500), &model{level: 500, capacity: 500}
	amounts := []uint32{0, 1, 5, 14, 35, 499, 500, 501, math.MaxInt32, math.MaxUint32}
	capacities := []uint32{0, 1, 50, 500, 501, atomicbucket.MaxCapacity}
	for i := range operations {
		n := amounts[rng.IntN(len(amounts))]
		switch k := rng.IntN(100); {
		case k < 50:
			if got, want := b.TryTake(n), m.TryTake(n); got != want {
				t.Fatalf("step %d: TryTake(%d) = %v, model %v", i, n, got, want)
			}
		case k < 98:
			b.Give(n)
			m.Give(n)
		default:
			to := capacities[rng.IntN(len(capacities))]
			require.NoError(t, b.SetCapacity(to))
			require.NoError(t, m.SetCapacity(to))
		}
		level, capacity := b.Load()
		wantLevel, wantCapacity := m.Load()
		if level != wantLevel || capacity != wantCapacity {
			t.Fatalf("step %d: %d of %d, model %d of %d", i, level, capacity, wantLevel, wantCapacity)
		}
	}
}
