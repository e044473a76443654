package main

import (
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"
)

// The grid.
var (
	capacities = []float64{50, 500, 5000, 50000}
	clients    = []int{1, 100}
	trips      = []time.Duration{time.Millisecond, 200 * time.Millisecond}
	loads      = []float64{1.2, 1.5, 2, 4}
	// bursts are one that is usual, and one that keeps little of what a service was
	// not asked for: the wave of the cubic costs the most there.
	bursts = []time.Duration{time.Second, 100 * time.Millisecond}
)

// largestOfBoth bounds which capacities are shown with the small bucket too: what
// is faster takes the longest to simulate, and tells no more.
const largestOfBoth = 5000

// cells are the grid, or those of one capacity.
func cells(capacity float64) (out []cell) {
	for _, b := range bursts {
		for _, c := range capacities {
			if capacity != 0 && c != capacity || b != bursts[0] && c > largestOfBoth {
				continue
			}
			for _, n := range clients {
				for _, trip := range trips {
					for _, load := range loads {
						out = append(out, cell{c, n, trip, load, b})
					}
				}
			}
		}
	}
	return out
}

// line is what a cell came to under both policies.
type line struct {
	rows [2]row
	err  error
}

func (c cell) both(window time.Duration) (l line) {
	for i, p := range policies(window) {
		if l.rows[i], l.err = c.run(p, c.measured()); l.err != nil {
			return l
		}
	}
	return l
}

func (l *line) String(c cell) string {
	s := fmt.Sprintf("| %g | %d | %v | %gx |", c.capacity, c.clients, c.trip, c.load)
	for _, r := range l.rows {
		s += fmt.Sprintf(" %.1f %% | %s | %.3f | %.1f s |", 100*r.Use, share(r.Throttled), r.Jain, r.P99.Seconds())
	}
	return s
}

// share is a percentage with two digits that count.
func share(x float64) string {
	switch {
	case x >= 0.1:
		return fmt.Sprintf("%.0f %%", 100*x)
	case x >= 0.01:
		return fmt.Sprintf("%.1f %%", 100*x)
	default:
		return fmt.Sprintf("%.2g %%", 100*x)
	}
}

// inTurn does n things, as many at a time as there are processors, and tells of
// each in turn.
func inTurn[T any](progress io.Writer, n int, do func(i int) T, tell func(i int, result T) error) error {
	results := make([]chan T, n)
	for i := range results {
		results[i] = make(chan T, 1)
	}
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				results[i] <- do(i)
			}
		})
	}
	go func() {
		for i := range n {
			next <- i
		}
		close(next)
	}()
	defer workers.Wait()
	var err error
	for i := range n {
		r := <-results[i]
		if err == nil {
			err = tell(i, r)
		}
		_, _ = fmt.Fprintf(progress, "\r%d of %d ", i+1, n)
	}
	_, _ = fmt.Fprintln(progress)
	return err
}

func reportGrid(out, progress io.Writer, window time.Duration, all []cell) error {
	last := time.Duration(0)
	var worst summary
	err := inTurn(progress, len(all), func(i int) line { return all[i].both(window) }, func(i int, l line) error {
		if l.err != nil {
			return l.err
		}
		if all[i].burst != last {
			last = all[i].burst
			if _, err := fmt.Fprintf(out, gridHead, last); err != nil {
				return err
			}
		}
		worst.add(&l)
		_, err := fmt.Fprintln(out, l.String(all[i]))
		return err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, worst.String())
	return err
}

// summary is the worst of all cells.
type summary struct {
	cells int
	use   [2]float64
	jain  [2]float64
	more  float64 // throttled by ours, of R8's share
}

func (s *summary) add(l *line) {
	if s.cells == 0 {
		s.use, s.jain = [2]float64{1, 1}, [2]float64{1, 1}
	}
	s.cells++
	for i, r := range l.rows {
		s.use[i], s.jain[i] = min(s.use[i], r.Use), min(s.jain[i], r.Jain)
	}
	s.more = max(s.more, l.rows[1].Throttled/l.rows[0].Throttled)
}

func (s *summary) String() string {
	return fmt.Sprintf("\nThe worst of %d: use %.1f %% (R8 %.1f %%), Jain %.3f (R8 %.3f), %.2f times the throttled share of R8.",
		s.cells, 100*s.use[1], 100*s.use[0], s.jain[1], s.jain[0], s.more)
}

// head is the beginning of TABLE.md.
const head = `<!-- Written by make adaptive-table. -->
# How much of a throttled service adaptive clients use

R8, the published send limiter, beside ours: the same with throttle coalescing (engine.WithThrottleCoalescing, a minute's window). Engines
run as they are, in simulated time; calls come in a Poisson stream whatever the service does, which is a token bucket, and end after
10 s at the latest.

* *offered*: calls/s, of what the service takes. *use*: requests that the service accepted, of what it could have; a little more than
  100 % is what its bucket had saved up. *throttled*: share of the requests.
* *Jain*: the index of fairness of what clients got, 1 if all got the same.
* *p99*: of the time that calls took beside the round trip, of those that succeeded. Under overload that is the deadline's doing: who would
  wait for more than half of it is refused.
`

const gridHead = `
## A service whose bucket holds %v

| requests/s | clients | round trip | offered | R8: use | throttled | Jain | p99 | ours: use | throttled | Jain | p99 |
|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
`
