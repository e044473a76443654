package measure

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func counting(loops int, cost time.Duration) ([]Loop, *atomic.Int64) {
	var total atomic.Int64
	var all []Loop
	for range loops {
		all = append(all, func(n int) {
			total.Add(int64(n))
			for start := time.Now(); time.Since(start) < time.Duration(n)*cost; {
			}
		})
	}
	return all, &total
}

// Every operation is done once, however many goroutines share them.
func TestRunDoesThemAll(t *testing.T) {
	for _, goroutines := range []int{1, 2, 3, 8} {
		for _, n := range []int{1, 7, 1000} {
			loops, total := counting(goroutines, 0)
			s := Run(loops, n)
			assert.EqualValues(t, n*goroutines, total.Load(), "%d goroutines, %d each", goroutines, n)
			assert.Equal(t, n*goroutines, s.N)
			assert.Positive(t, s.Elapsed)
		}
	}
}

var kept []byte

func TestRunCountsAllocations(t *testing.T) {
	const n = 10_000
	s := Run([]Loop{func(n int) {
		for range n {
			kept = make([]byte, 1024)
		}
	}}, n)
	assert.InDelta(t, 1, s.Allocs, 0.1)
	assert.InDelta(t, 1024, s.Bytes, 100)
	s = Run([]Loop{func(int) {}}, n)
	assert.Less(t, s.Allocs, 0.1)
}

func TestCalibrate(t *testing.T) {
	loops, _ := counting(1, 10*time.Microsecond)
	n := Calibrate(loops, 2*time.Millisecond)
	assert.Positive(t, n)
	assert.LessOrEqual(t, n, 400, "2 ms are 200 of 10 us; more than twice as many would be another machine's")
	still, _ := counting(1, 0)
	assert.Positive(t, Calibrate(still, time.Millisecond))
}

// A pass takes each side's turns and keeps the one in the middle.
func TestPass(t *testing.T) {
	first, firstTotal := counting(1, 0)
	second, secondTotal := counting(1, 0)
	all := []Contestant{{Name: "first", Loops: first, n: 10}, {Name: "second", Loops: second, n: 20}}
	out := Pass(all, 3)
	require.Len(t, out, 2)
	assert.EqualValues(t, 30, firstTotal.Load())
	assert.EqualValues(t, 60, secondTotal.Load())
	assert.Equal(t, 10, out[0].N)
	assert.Equal(t, 20, out[1].N)
}

func TestWithProcsPutsThemBack(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	WithProcs(before+3, func() { assert.Equal(t, before+3, runtime.GOMAXPROCS(0)) })
	assert.Equal(t, before, runtime.GOMAXPROCS(0))
	assert.Panics(t, func() { WithProcs(before+3, func() { panic("out of it") }) })
	assert.Equal(t, before, runtime.GOMAXPROCS(0))
}
