package stripe_test

import (
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/internal/pad"
	"github.com/reprise-go/reprise/internal/stripe"
)

func TestSumIsWhatWasAdded(t *testing.T) {
	c := stripe.New()
	assert.Zero(t, c.Sum())
	var cells uint64
	for range 100 {
		cells = max(cells, c.Add())
	}
	assert.EqualValues(t, 100, c.Sum())
	assert.LessOrEqual(t, cells, uint64(100))
	assert.Zero(t, c.Cells()&(c.Cells()-1), "a power of two")
	assert.GreaterOrEqual(t, c.Cells(), min(runtime.GOMAXPROCS(0), 64))
}

// Collections empty the pool of handles; GOMAXPROCS grows and shrinks; no count
// may be lost. Peer fault 34's way of trying.
func TestNothingIsLost(t *testing.T) {
	adds := 20_000
	if testing.Short() {
		adds = 2_000
	}
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	c := stripe.New()
	var all sync.WaitGroup
	const workers = 8
	for range workers {
		all.Go(func() {
			for i := range adds {
				c.Add()
				if i%64 == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	last := uint64(0)
	for _, procs := range []int{1, 4, 2, 3, 1, 2} {
		runtime.GOMAXPROCS(procs)
		runtime.GC()
		runtime.GC()
		sum := c.Sum()
		require.GreaterOrEqual(t, sum, last, "sums never shrink")
		last = sum
	}
	all.Wait()
	assert.EqualValues(t, workers*adds, c.Sum())
}

func TestCountersAreApart(t *testing.T) {
	a, b := stripe.New(), stripe.New()
	a.Add()
	a.Add()
	b.Add()
	assert.EqualValues(t, 2, a.Sum())
	assert.EqualValues(t, 1, b.Sum())
}

func TestMarkKeepsTheLargest(t *testing.T) {
	c := stripe.New()
	assert.Zero(t, c.Marked())
	var all sync.WaitGroup
	for g := range int64(8) {
		all.Go(func() {
			for i := range int64(1000) {
				c.Mark(i*8+g, 1)
				runtime.Gosched()
				assert.GreaterOrEqual(t, c.Marked(), i*8+g)
			}
		})
	}
	all.Wait()
	assert.EqualValues(t, 7999, c.Marked())
	assert.EqualValues(t, 8000, c.Sum())
	c.Mark(5, 0)
	assert.EqualValues(t, 7999, c.Marked())
	assert.EqualValues(t, 8000, c.Sum())
}

func TestZeroCounterCountsNothing(t *testing.T) {
	var c stripe.Counter
	assert.Zero(t, c.Add())
	c.Mark(1, 1)
	assert.Zero(t, c.Sum())
	assert.Zero(t, c.Marked())
	assert.Zero(t, c.Cells())
}

func TestCellIsAloneOnItsLine(t *testing.T) {
	assert.EqualValues(t, pad.CacheLine, stripe.CellSize)
	assert.LessOrEqual(t, unsafe.Sizeof(stripe.Counter{}), uintptr(32))
}

func BenchmarkAdd(b *testing.B) {
	b.ReportAllocs()
	c := stripe.New()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c.Add()
		}
	})
}
