package measure

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Loop does its operation n times on the calling goroutine.
type Loop func(n int)

// Slice is one measurement.
type Slice struct {
	N       int           // operations, of all goroutines
	Elapsed time.Duration // from the common start to the last end
	Allocs  float64       // an operation
	Bytes   float64       // an operation
}

// Nanos is the time an operation took: with p goroutines that do not hinder each
// other it is a p-th of what one of them needs, as in go test's RunParallel.
func (s Slice) Nanos() float64 { return float64(s.Elapsed) / float64(s.N) }

// Run does n operations with each of the loops at once and tells how long it
// took. GOMAXPROCS is the caller's business.
func Run(loops []Loop, n int) Slice {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	total := n * len(loops)
	elapsed := together(loops, total)
	runtime.ReadMemStats(&after)
	return Slice{
		N: total, Elapsed: elapsed,
		// Starting the goroutines costs a few; the mean of many operations hides
		// them, and a share below a hundredth is theirs.
		Allocs: float64(after.Mallocs-before.Mallocs) / float64(total),
		Bytes:  float64(after.TotalAlloc-before.TotalAlloc) / float64(total),
	}
}

// together shares total operations out in portions, so that a goroutine whose
// processor is taken away does not leave its part to be waited for.
func together(loops []Loop, total int) time.Duration {
	if len(loops) == 1 {
		start := time.Now()
		loops[0](total)
		return time.Since(start)
	}
	portion := max(total/(len(loops)*16), 1)
	var (
		ready atomic.Int32
		begun atomic.Bool
		next  atomic.Int64
		done  sync.WaitGroup
	)
	ends := make([]time.Time, len(loops))
	for i, loop := range loops {
		done.Go(func() {
			for ready.Add(1); !begun.Load(); {
				runtime.Gosched() // to sleep here would cost the waking
			}
			for {
				from := int(next.Add(int64(portion))) - portion
				if from >= total {
					break
				}
				loop(min(portion, total-from))
			}
			ends[i] = time.Now()
		})
	}
	for int(ready.Load()) < len(loops) {
		runtime.Gosched()
	}
	start := time.Now()
	begun.Store(true)
	done.Wait()
	last := ends[0]
	for _, end := range ends {
		if end.After(last) {
			last = end
		}
	}
	return last.Sub(start)
}

// Calibrate finds how many operations a goroutine needs for a slice that takes
// about so long. A try that took its time because the machine was busy would make
// all slices too short, so it goes on from what it found until a try fits.
func Calibrate(loops []Loop, want time.Duration) int {
	n := 1
	for range 40 {
		s := Run(loops, n)
		if s.Elapsed >= want*2/3 {
			break
		}
		step := 8.0
		if s.Elapsed > 0 {
			step = min(step, float64(want)/float64(s.Elapsed))
		}
		n = min(int(float64(n)*step)+1, 1<<30)
	}
	return n
}

// WithProcs runs f on that many processors and puts GOMAXPROCS back.
func WithProcs(procs int, f func()) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	f()
}

// MaxProcs is the most processors that a measurement may ask for.
const MaxProcs = 64
