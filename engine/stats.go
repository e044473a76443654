package engine

import (
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/internal/atomic"
	"github.com/reprise-go/reprise/ratelimit"
)

// Stats is an engine's state and what it has counted since it was made. First
// attempts that succeed are not counted: they write nothing (see [Observer]).
type Stats struct {
	Mode          Mode // the engine's
	QuotaLevel    int  // tokens there now
	QuotaCapacity int  // tokens at the most

	TransientRetries  uint64 // retries granted after a transient failure
	ThrottlingRetries uint64 // retries granted after a throttling failure
	Hedges            uint64 // attempts sent beside another (see Call.Hedge)
	UnsentRetries     uint64 // of all these, never sent: their tokens were given back (R6.3)
	Recoveries        uint64 // calls that succeeded on a retry

	// Stops counts the calls that ended without success, by [Reason];
	// Stops[ReasonRetry] is always 0.
	Stops [reasonCount]uint64
	// HookPanics counts the panics of observer hooks.
	HookPanics uint64

	// Limiter is the state of adaptive mode's send limiter; zero in the others.
	Limiter ratelimit.Stats
}

// counters are the counts behind Stats. Whoever holds them keeps them apart from
// what calls that succeed at once read.
type counters struct {
	// Each word counts events since the engine was made; 64 bits do not wrap in
	// its lifetime. Writers add one; no word depends on another, so a reader
	// that loads several sees each right and the set only nearly at one instant.
	// Ordering: publishes nothing.
	retries    [classCount]atomic.Uint64 // by classify.Class; see hedges
	stops      [reasonCount]atomic.Uint64
	unsent     atomic.Uint64
	recoveries atomic.Uint64
	hookPanics atomic.Uint64
}

// Stats returns the engine's present state and counts. A derived engine shares
// them with the one it came from. Lock-free; reads the clock in adaptive mode.
func (e *Engine) Stats() Stats {
	level, capacity := e.quota.Load()
	s := Stats{
		Mode:              e.policy.Load().mode,
		QuotaLevel:        int(level),
		QuotaCapacity:     int(capacity),
		TransientRetries:  e.counts.retries[classify.Transient].Load(),
		ThrottlingRetries: e.counts.retries[classify.Throttling].Load(),
		Hedges:            e.counts.retries[hedges].Load(),
		UnsentRetries:     e.counts.unsent.Load(),
		Recoveries:        e.counts.recoveries.Load(),
		HookPanics:        e.counts.hookPanics.Load(),
	}
	for reason := range s.Stops {
		s.Stops[reason] = e.counts.stops[reason].Load()
	}
	if e.limiter != nil {
		s.Limiter = e.limiter.SnapshotAt(e.policy.Load().clock.Now())
	}
	return s
}
