// Command soak keeps an engine at full rate for a time and prints a line every so often: quota, memory and goroutines must
// stay flat, and at the end each token is where R6 puts it.
//
//	soak [-for 10m] [-every 10s] [-faults]
//
// -faults has faults in the machine besides: a garbage collection every millisecond, GOMAXPROCS changed all the time, a
// clock that is stepped back and forth, spinning goroutines that starve the others, and hooks that panic or block.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

func main() {
	length := flag.Duration("for", 10*time.Minute, "how long")
	every := flag.Duration("every", 10*time.Second, "how often a line is printed")
	faults := flag.Bool("faults", false, "with faults in the machine")
	flag.Parse()
	for _, mode := range []engine.Mode{engine.Standard, engine.Adaptive} {
		if err := soak(os.Stdout, mode, *length/2, *every, *faults); err != nil {
			fmt.Fprintln(os.Stderr, "soak:", err)
			os.Exit(1)
		}
	}
}

const (
	workers    = 8
	capacity   = 1 << 30 // never full: the sum is exact
	flatBytes  = 8 << 20 // by which the heap may differ from that of the first line
	waitNobody = time.Second
)

// stepped is the system's clock plus steps; nobody sleeps on it.
type stepped struct{ offset atomic.Int64 }

func (c *stepped) Now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

// soak runs workers over one engine, a quarter of whose attempts fail: more than the quota bears (R6.5), so that it is near 0
// all the time and refuses.
func soak(out io.Writer, mode engine.Mode, length, every time.Duration, faults bool) error {
	clock := new(stepped)
	var hooks atomic.Uint64
	const tokens = 100_000
	observer := engine.Observer{}
	if faults {
		observer.Retry = func(event engine.RetryEvent) {
			switch hooks.Inc() % 1000 {
			case 0:
				panic("a hook of the soak's")
			case 500:
				time.Sleep(100 * time.Microsecond)
			}
		}
	}
	e, err := engine.New(engine.WithMode(mode), engine.WithObserver(observer),
		engine.WithQuota(engine.Quota{Capacity: capacity}), engine.WithTokens(tokens))
	if err != nil {
		return err
	}
	goroutines := runtime.NumGoroutine()
	stop := make(chan struct{})
	var all sync.WaitGroup
	var sum, calls atomic.Int64
	for i := range workers {
		all.Go(func() { sum.Add(work(e, clock, uint64(i), stop, &calls)) })
	}
	if faults {
		before := runtime.GOMAXPROCS(0)
		defer runtime.GOMAXPROCS(before)
		plague(&all, clock, stop)
	}
	running := runtime.NumGoroutine()
	begun, seen := time.Now(), int64(0)
	var first uint64
	var errs []error
	for len(errs) == 0 && time.Since(begun) < length {
		time.Sleep(min(every, length))
		s, n := e.Stats(), calls.Load()
		heap, now := heapBytes(), runtime.NumGoroutine()
		fmt.Fprintf(out, "%v %7v: %9d calls, level %d, heap %d KB, %d goroutines\n", mode, time.Since(begun).Round(time.Second/10), n-seen, s.QuotaLevel, heap>>10, now)
		switch {
		case first == 0:
			first = heap
		case heap > first+flatBytes:
			errs = append(errs, fmt.Errorf("the heap has grown from %d to %d bytes", first, heap))
		}
		if now > running {
			errs = append(errs, fmt.Errorf("%d goroutines, %d at first", now, running))
		}
		if n == seen {
			errs = append(errs, errors.New("no call has ended"))
		}
		seen = n
	}
	close(stop)
	all.Wait()
	if level := int64(e.Stats().QuotaLevel); level != tokens+sum.Load() {
		errs = append(errs, fmt.Errorf("the quota holds %d tokens and must hold %d", level, tokens+sum.Load()))
	}
	for range 100 {
		if runtime.NumGoroutine() <= goroutines {
			break
		}
		time.Sleep(waitNobody / 100)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		errs = append(errs, fmt.Errorf("%d goroutines are left, %d at first", n, goroutines))
	}
	return errors.Join(errs...)
}

// work makes calls until stop, and returns the tokens it gave less those it took.
func work(e *engine.Engine, clock *stepped, draw uint64, stop <-chan struct{}, calls *atomic.Int64) (tokens int64) {
	for {
		select {
		case <-stop:
			return tokens
		default:
		}
		calls.Inc()
		c := e.Begin()
		for cost := int64(0); ; {
			draw = draw*6364136223846793005 + 1442695040888963407
			p := draw >> 32 % 64
			if p == 0 { // given up; a retry that was granted was not sent (R6.3)
				c.Abandon()
				tokens += cost
				break
			}
			if c.AdmitAt(clock.Now()) != 0 {
				c.Abandon()
				tokens += cost
				break
			}
			if p > 16 {
				c.SucceedAt(clock.Now())
				tokens += max(cost, 1)
				break
			}
			class := classify.Transient
			if p%4 == 1 {
				class = classify.Throttling
			}
			if c.FailAt(clock.Now(), engine.Outcome{Class: class}).Reason != engine.ReasonRetry {
				break
			}
			cost = map[classify.Class]int64{classify.Transient: 14, classify.Throttling: 5}[class]
			tokens -= cost
		}
	}
}

// plague is what is wrong with the machine, until stop.
func plague(all *sync.WaitGroup, clock *stepped, stop <-chan struct{}) {
	each := func(d time.Duration, f func(i int)) {
		all.Go(func() {
			ticker := time.NewTicker(d)
			defer ticker.Stop()
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-ticker.C:
					f(i)
				}
			}
		})
	}
	each(time.Millisecond, func(int) { runtime.GC() })
	each(3*time.Millisecond, func(i int) { runtime.GOMAXPROCS(1 + i%4) })
	each(2*time.Millisecond, func(i int) { clock.offset.Store(int64(i%7-3) * int64(time.Minute)) })
	each(10*time.Millisecond, func(int) {
		for begun := time.Now(); time.Since(begun) < 5*time.Millisecond; {
		}
	})
}

func heapBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
