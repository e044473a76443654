package promretry

import (
	"sync/atomic"
	"time"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/internal/pad"
	"github.com/reprise-go/reprise/internal/stripe"
)

// Recorder counts what an engine does not: calls, attempts and delays. Give its
// Observer to the engine, or to the template of a group, and itself to the
// collector of that engine or group, and to no other. Make one with
// [NewRecorder]; the zero Recorder counts no success at a first attempt. It is
// safe for use by many goroutines.
type Recorder struct {
	// first counts calls that succeeded at their first attempt.
	first stripe.Counter
	_     [pad.CacheLine]byte // first is read by each call, the rest written by those that fail

	// Each word counts since the recorder was made; 64 bits do not wrap in its
	// lifetime. Writers: the hooks, by an add. Ordering: publishes nothing, but
	// attempts is raised before calls, and read after it.
	calls    atomic.Uint64 // all others that have ended
	attempts atomic.Uint64 // which these made
	delays   [2]delays     // after transient failures, after throttling ones
}

// NewRecorder returns a recorder at zero.
func NewRecorder() *Recorder { return &Recorder{first: stripe.New()} }

// Observer returns the hooks that count. [engine.Observer.Then] joins them with
// others. They are wait-free, allocate nothing and read no clock.
func (r *Recorder) Observer() engine.Observer {
	return engine.Observer{Retry: r.retry, Stop: r.stop, Success: r.success}
}

func (r *Recorder) success(e engine.SuccessEvent) {
	if e.Attempts == 1 {
		r.first.Add()
		return
	}
	r.ended(e.Attempts)
}

func (r *Recorder) stop(e engine.StopEvent) { r.ended(e.Attempts) }

func (r *Recorder) ended(attempts int) {
	r.attempts.Add(uint64(attempts))
	r.calls.Add(1)
}

func (r *Recorder) retry(e engine.RetryEvent) {
	if e.Class == classify.Throttling {
		r.delays[1].observe(e.Delay)
	} else {
		r.delays[0].observe(e.Delay)
	}
}

// bounds are the upper ends of the histogram's buckets: the ceilings of R4.2, and
// what R5 can add to the longest of them.
var bounds = [...]time.Duration{
	25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond,
	800 * time.Millisecond, 1600 * time.Millisecond, 3200 * time.Millisecond, 6400 * time.Millisecond, 12800 * time.Millisecond,
	20 * time.Second, 25 * time.Second,
}

// delays is a histogram. Who waits for a delay does not mind three adds to shared
// words; a granted retry has written two already.
type delays struct {
	counts   [len(bounds) + 1]atomic.Uint64 // not cumulative; the last is for what is longer
	sumNanos atomic.Uint64                  // 2^64 ns are 584 years of waiting
}

func (d *delays) observe(delay time.Duration) {
	i := 0
	for i < len(bounds) && delay > bounds[i] {
		i++
	}
	d.sumNanos.Add(uint64(max(delay, 0)))
	d.counts[i].Add(1)
}

// read returns the histogram as client_golang wants it.
func (d *delays) read() (count uint64, sum float64, cumulative map[float64]uint64) {
	cumulative = make(map[float64]uint64, len(bounds))
	for i, bound := range bounds {
		count += d.counts[i].Load()
		cumulative[bound.Seconds()] = count
	}
	count += d.counts[len(bounds)].Load()
	return count, time.Duration(d.sumNanos.Load()).Seconds(), cumulative
}

// read returns the counts of all calls.
func (r *Recorder) read() (calls, attempts uint64) {
	calls = r.calls.Load()
	attempts = r.attempts.Load()
	first := r.first.Sum()
	return calls + first, attempts + first
}
