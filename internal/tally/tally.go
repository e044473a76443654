// Package tally counts what an engine does not, because that would cost each call
// a write: calls, attempts and the distribution of delays. It is an observer, for
// the adapters that show an engine to somebody.
package tally

import (
	"time"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/internal/atomic"
	"github.com/reprise-go/reprise/internal/pad"
	"github.com/reprise-go/reprise/internal/stripe"
)

// Tally is the counts. [Tally.Init] makes it ready; the zero Tally counts no
// success at a first attempt.
type Tally struct {
	// Each word counts since Init; 64 bits do not wrap in its lifetime. They lead,
	// and the Tally what holds it: 32-bit machines align no other place to 64 bits.
	// Writers: the hooks, by an add that cannot fail. Ordering: publishes nothing, but
	// attempts is raised before calls, and read after it.
	calls    atomic.Uint64 // that have ended, but for those in first
	attempts atomic.Uint64 // which these made
	delays   [2]delays     // after transient failures, after throttling ones

	_ [pad.CacheLine]byte // first is read by each call, the rest written by those that fail
	// first counts calls that succeeded at their first attempt.
	first stripe.Counter
}

// Init makes t ready, once, before it is used.
func (t *Tally) Init() { t.first = stripe.New() }

// Observer returns the hooks that count. They are wait-free, allocate nothing and
// read no clock. A success at the first attempt is one add to a word of the
// processor it runs on.
func (t *Tally) Observer() engine.Observer {
	return engine.Observer{Retry: t.retry, Stop: t.stop, Success: t.success}
}

func (t *Tally) success(e engine.SuccessEvent) {
	if e.Attempts == 1 {
		t.first.Add()
		return
	}
	t.ended(e.Attempts)
}

func (t *Tally) stop(e engine.StopEvent) { t.ended(e.Attempts) }

func (t *Tally) ended(attempts int) {
	t.attempts.Add(uint64(attempts))
	t.calls.Inc()
}

func (t *Tally) retry(e engine.RetryEvent) { t.delaysAfter(e.Class).observe(e.Delay) }

func (t *Tally) delaysAfter(class classify.Class) *delays {
	if class == classify.Throttling {
		return &t.delays[1]
	}
	return &t.delays[0]
}

// Calls returns how many calls have ended, whatever their end, and how many
// attempts they made. Of two reads the later is never smaller. Wait-free.
func (t *Tally) Calls() (calls, attempts uint64) {
	calls = t.calls.Load()
	attempts = t.attempts.Load()
	first := t.first.Sum()
	return calls + first, attempts + first
}

// Bounds are the upper ends of the buckets of delays, in seconds: the ceilings of
// R4.2, and what R5 can add to the longest of them.
var Bounds = [...]float64{.025, .05, .1, .2, .4, .8, 1.6, 3.2, 6.4, 12.8, 20, 25}

// delays is a histogram. Who waits for a delay does not mind two adds to shared
// words; a granted retry has written two already.
type delays struct {
	counts   [len(Bounds) + 1]atomic.Uint64 // not cumulative; the last is for what is longer
	sumNanos atomic.Uint64                  // 2^64 ns are 584 years of waiting
}

func (d *delays) observe(delay time.Duration) {
	i, seconds := 0, delay.Seconds()
	for i < len(Bounds) && seconds > Bounds[i] {
		i++
	}
	d.sumNanos.Add(uint64(max(delay, 0)))
	d.counts[i].Inc()
}

// Delays returns the delays of retries granted after failures of a class, transient
// or throttling: how many were not above each of Bounds, how many there were, and
// their sum. The sum may be ahead of the counts. Wait-free.
func (t *Tally) Delays(class classify.Class) (upTo [len(Bounds)]uint64, count uint64, sum time.Duration) {
	d := t.delaysAfter(class)
	for i := range upTo {
		count += d.counts[i].Load()
		upTo[i] = count
	}
	count += d.counts[len(Bounds)].Load()
	return upTo, count, time.Duration(d.sumNanos.Load())
}
