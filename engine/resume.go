package engine

import (
	"math"
	"time"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/fastbackoff"
)

// Resume returns a call whose attempt of the given number, from 1, is under way:
// for a loop that belongs to somebody else, counts for itself, and keeps no Call
// from one attempt to the next. A resumed Call serves one attempt: after a Fail
// that grants the next, [Call.Succeed] tells of that one's success and gives back
// what it took (R6); its failure needs no word, for it keeps its cost. Otherwise
// it is [Engine.Begin], or if longPolling [Engine.BeginLongPoll], panic and all.
// It panics too if attempt is below 1 or above 2147483647. Wait-free, allocates
// nothing, reads no clock.
func (e *Engine) Resume(attempt int, longPolling bool) Call {
	if attempt < 1 || int64(attempt) > math.MaxInt32 {
		panic("reprise/engine: Resume needs the number of an attempt, 1 to 2147483647")
	}
	if e == nil || e.quick == nil {
		panicNoEngine()
	}
	flags, quick := callFlags(0), e.quick
	if longPolling {
		flags |= longPoll
	}
	if attempt > 1 {
		flags |= retried
		quick = outOfLine
	}
	return Call{engine: e, quick: quick, before: uint32(attempt) - 1, flags: flags}
}

// Backoff draws the delay before a retry after a failure of the class: index is
// the number of the retry less one (R4). It is what [Call.Fail] waits when the
// server asked for nothing; a class that is not retried has none. Wait-free but
// for the source, allocates nothing, reads no clock.
func (e *Engine) Backoff(class classify.Class, index int) time.Duration {
	if class != classify.Transient && class != classify.Throttling {
		return 0
	}
	p := e.policy.Load()
	return p.schedule.Delay(fastbackoff.Class(class), index, p.source.Uint64())
}
