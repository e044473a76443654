package record

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/cmd/reprise/internal/faulty"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/ratelimit"
)

// Reasons are the reasons for which a call can stop, in the order of reports.
var Reasons = []engine.Reason{
	engine.ReasonNonRetryable, engine.ReasonMaxAttempts, engine.ReasonQuota, engine.ReasonDeadline,
	engine.ReasonCancelled, engine.ReasonNotReplayable,
}

const (
	reasonSlots = 16 // more than there are reasons
	classSlots  = 3
)

// Sources tell a [Recorder] what it cannot count. They are called often, by
// several goroutines.
type Sources struct {
	// Quota returns the retry quota's level and capacity at the moment.
	Quota func() (level, capacity int)
	// Phase returns the phase that the run is in.
	Phase func() faulty.Phase
	// Limiter returns the state of adaptive mode's send limiter; nil if there is
	// none.
	Limiter func() ratelimit.Stats
}

// Recorder counts the calls of one run. Its methods are safe for many
// goroutines at once. Make one with [New].
type Recorder struct {
	start   time.Time    // written by Begin, before any other goroutine looks
	calling atomic.Int64 // nanoseconds from start to the last call's beginning
	sources Sources
	phases  [faulty.Phases]phaseCounters

	retries  [classSlots]atomic.Uint64
	stops    [reasonSlots]atomic.Uint64
	firstTry atomic.Uint64
	answers  atomic.Uint64 // attempts that got an HTTP response
	attempts atomic.Uint64
	throttle atomic.Uint64 // attempts that were throttled

	waitEnds  atomic.Uint64 // calls that ended because the limiter's wait did not fit
	neverSent atomic.Uint64 // calls that ended before their first attempt
	admission latencies     // waits of the attempts that were sent, in adaptive mode

	lowest  atomic.Int64 // lowest quota level seen in the run
	dip     atomic.Int64 // lowest quota level seen since the last sample
	added   latencies    // of all calls
	retried latencies    // of the calls that took more than one attempt

	allocsAtStart HeapAllocs
	sampler       *sampler
}

type phaseCounters struct {
	begun, succeeded, stopped, attempts atomic.Uint64
	lowest                              atomic.Int64
	// start is when the phase was first seen, in nanoseconds after the run's
	// start and at least 1; 0 while it was not. Written once, by whoever sees
	// the phase first.
	start atomic.Int64
}

// saw marks the beginning of a phase that is seen for the first time.
func (c *phaseCounters) saw(elapsed time.Duration) {
	if c.start.Load() == 0 {
		c.start.CompareAndSwap(0, max(1, int64(elapsed)))
	}
}

// New returns a recorder that asks the given sources.
func New(sources Sources) *Recorder {
	r := &Recorder{sources: sources}
	level, _ := sources.Quota()
	r.lowest.Store(int64(level))
	r.dip.Store(int64(level))
	for i := range r.phases {
		r.phases[i].lowest.Store(int64(level))
	}
	return r
}

// Observer returns the hooks that count an engine's retries and stops.
func (r *Recorder) Observer() engine.Observer {
	return engine.Observer{
		Retry: func(e engine.RetryEvent) {
			if int(e.Class) < classSlots {
				r.retries[e.Class].Add(1)
			}
			r.sawLevel(e.QuotaLeft)
		},
		Stop: func(e engine.StopEvent) {
			if int(e.Reason) < reasonSlots {
				r.stops[e.Reason].Add(1)
			}
			r.sawLevel(e.QuotaLeft)
		},
	}
}

// Begin starts the clock, the count of allocations and the sampling of the
// course of the run, which goes on until [Recorder.End].
func (r *Recorder) Begin() {
	r.allocsAtStart = ReadHeapAllocs()
	r.start = time.Now()
	r.sampler = startSampler(r)
}

// End stops the sampling and returns how long the run took.
func (r *Recorder) End() time.Duration {
	elapsed := time.Since(r.start)
	r.sampler.stop()
	return elapsed
}

// Start is when the run began: the time of [Recorder.Begin].
func (r *Recorder) Start() time.Time { return r.start }

// BeginCall counts a call in the present phase, and returns that phase for
// [Recorder.EndCall].
func (r *Recorder) BeginCall() faulty.Phase {
	p := r.sources.Phase()
	r.phases[p].begun.Add(1)
	elapsed := time.Since(r.start)
	r.phases[p].saw(elapsed)
	// Of two calls that begin together either time will do.
	r.calling.Store(int64(elapsed))
	return p
}

// Attempt counts an attempt as it is sent.
func (r *Recorder) Attempt() { r.attempts.Add(1) }

// Answer counts an attempt that was answered, with whatever status.
func (r *Recorder) Answer() { r.answers.Add(1) }

// Throttled counts an attempt that was answered with a throttle.
func (r *Recorder) Throttled() { r.throttle.Add(1) }

// Waited counts how long adaptive mode made an attempt wait before it was sent.
func (r *Recorder) Waited(d time.Duration) { r.admission.add(d) }

// WaitEnded counts a call that ended because the send limiter's wait would not
// have fitted before its deadline.
func (r *Recorder) WaitEnded() { r.waitEnds.Add(1) }

// EndCall counts the end of a call that began in phase p and made the given
// attempts. added is what the call took beyond its last attempt.
func (r *Recorder) EndCall(p faulty.Phase, ok bool, attempts int, added time.Duration) {
	c := &r.phases[p]
	c.attempts.Add(uint64(attempts))
	if ok {
		c.succeeded.Add(1)
		if attempts == 1 {
			r.firstTry.Add(1)
		}
	} else {
		c.stopped.Add(1)
		if attempts == 0 {
			r.neverSent.Add(1)
		}
	}
	r.added.add(added)
	if attempts > 1 {
		r.retried.add(added)
	}
}

// sawLevel keeps the lowest levels. Lowering is all that happens to the words
// here, so a lost race is settled by the loop.
func (r *Recorder) sawLevel(level int) {
	lower(&r.lowest, int64(level))
	lower(&r.dip, int64(level))
	lower(&r.phases[r.sources.Phase()].lowest, int64(level))
}

func lower(word *atomic.Int64, to int64) {
	for {
		seen := word.Load()
		if to >= seen || word.CompareAndSwap(seen, to) {
			return
		}
	}
}

// Snapshot is the state of a run at one moment.
type Snapshot struct {
	Elapsed         time.Duration
	Phase           faulty.Phase
	Begun           uint64 // calls begun
	Succeeded       uint64
	Stopped         uint64 // calls ended without success
	Attempts        uint64
	Throttled       uint64             // attempts
	Retries         [classSlots]uint64 // granted, by classify.Class
	Level, Capacity int                // tokens
	Limiter         *ratelimit.Stats   // nil outside of adaptive mode
}

// Ended is how many calls have ended.
func (s Snapshot) Ended() uint64 { return s.Succeeded + s.Stopped }

// Snapshot returns the present state, after [Recorder.Begin]. Its counts are read one after the other,
// so they fit together only nearly while calls are running.
func (r *Recorder) Snapshot() Snapshot {
	s := Snapshot{Phase: r.sources.Phase(), Throttled: r.throttle.Load(), Elapsed: time.Since(r.start)}
	s.Attempts = r.attempts.Load()
	// Ends before beginnings: more calls may never have ended than begun.
	for i := range r.phases {
		s.Succeeded += r.phases[i].succeeded.Load()
		s.Stopped += r.phases[i].stopped.Load()
	}
	for i := range r.phases {
		s.Begun += r.phases[i].begun.Load()
	}
	for i := range s.Retries {
		s.Retries[i] = r.retries[i].Load()
	}
	s.Level, s.Capacity = r.sources.Quota()
	if r.sources.Limiter != nil {
		s.Limiter = new(r.sources.Limiter())
	}
	return s
}

// TotalRetries is the number of retries granted.
func (s Snapshot) TotalRetries() uint64 {
	return s.Retries[classify.Transient] + s.Retries[classify.Throttling]
}

// HeapAllocs is what a process has allocated so far.
type HeapAllocs struct{ Objects, Bytes uint64 }

// ReadHeapAllocs stops the world for a moment: unlike runtime/metrics it counts
// every single allocation.
func ReadHeapAllocs() HeapAllocs {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return HeapAllocs{Objects: m.Mallocs, Bytes: m.TotalAlloc}
}
