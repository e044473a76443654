package sim

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The wheel gives events back in the order of their time and key, whatever is
// scheduled between and however far away.
func TestWheelKeepsTheOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	spans := []int64{1, 1 << 10, 1 << tickShift, 1 << 20, 1 << 27, 1 << 36, 1 << 44, 1 << 51}
	for range 20 {
		var w wheel
		var want []event
		now, key := int64(0), uint64(0)
		push := func() {
			key++
			e := event{moment: moment{now + rng.Int64N(spans[rng.IntN(len(spans))]), key}}
			w.push(e)
			i, _ := slices.BinarySearchFunc(want, e, func(a, b event) int {
				if a.before(b.moment) {
					return -1
				}
				return 1
			})
			want = slices.Insert(want, i, e)
		}
		for range 3000 {
			for range rng.IntN(3) {
				push()
			}
			limit := int64(never)
			if rng.IntN(2) == 0 {
				limit = now + rng.Int64N(1<<30)
			}
			top := w.peek(limit)
			if top == nil {
				if len(want) > 0 {
					require.Greater(t, want[0].at, limit, "nothing up to the limit")
				}
				continue
			}
			require.Equal(t, want[0], *top)
			require.Equal(t, want[0], w.pop())
			now, want = want[0].at, want[1:]
		}
		for len(want) > 0 {
			require.Equal(t, want[0], *w.peek(never))
			w.pop()
			want = want[1:]
		}
		require.Nil(t, w.peek(never))
	}
}

func TestLaneGrowsInOrder(t *testing.T) {
	var l lane
	next, taken := uint64(0), uint64(0)
	for i := range 1000 {
		for range i % 7 {
			l.push(event{moment: moment{key: next}})
			next++
		}
		for range i % 5 {
			if !l.empty() {
				require.Equal(t, taken, l.pop().key)
				taken++
			}
		}
	}
	for !l.empty() {
		require.Equal(t, taken, l.pop().key)
		taken++
	}
	require.Equal(t, next, taken)
}

// Half of what a simulation waits for is memory.
func TestSizes(t *testing.T) {
	require.EqualValues(t, 32, reflect.TypeFor[event]().Size())
	require.LessOrEqual(t, reflect.TypeFor[flight]().Size(), uintptr(64)) // less where pointers are
	require.EqualValues(t, 8*64, reflect.TypeFor[bundle]().Size())
}

// Events of one instant happen in the order in which they were scheduled, wherever
// they stand.
func TestOneInstant(t *testing.T) {
	w := &world{lanes: make([]lane, 2), heads: []moment{{at: never}, {at: never}}}
	for i := range uint32(30) {
		switch i % 3 {
		case 0:
			w.later(5, callBegins, request{slot: i}, 0)
		default:
			w.queue(laneID(i%3-1), 5, callBegins, request{slot: i}, 0)
		}
	}
	for i := range uint32(30) {
		e, ok := w.next()
		require.True(t, ok)
		require.Equal(t, i, e.slot)
	}
	_, ok := w.next()
	require.False(t, ok)
}
