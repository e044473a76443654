package main

import (
	"math"
	"math/rand/v2"
	"time"

	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// costs are R6's.
var costs = [3]int64{classify.Transient: 14, classify.Throttling: 5}

// weather is the server: well, then away, then back with little room, then well.
type weather struct {
	outage, recovery, well time.Duration // when each begins
	closing                time.Duration // when no call begins any more
	sent                   time.Duration // how long an answer takes, in the mean
	room                   float64       // requests/s that it takes while it recovers
	served                 atomic.Int64  // in this tick of the recovery
}

// answer is nil for a success.
func (w *weather) answer(now, tick time.Duration, r *rand.Rand) *engine.Outcome {
	p := r.Float64()
	switch {
	case now < w.outage || now >= w.well:
		switch {
		case p < 0.002:
			return failure(classify.Transient, r)
		case p < 0.003:
			return failure(classify.NonRetryable, r)
		}
	case now < w.recovery:
		switch {
		case p < 0.70:
			return failure(classify.Transient, r)
		case p < 0.97:
			return failure(classify.Throttling, r)
		default:
			return failure(classify.NonRetryable, r)
		}
	default:
		if float64(w.served.Inc()) > w.room*tick.Seconds() {
			return failure(classify.Throttling, r)
		}
	}
	return nil
}

// failure is an outcome of a class: one in ten with a hint (R5), some of them beyond all measure, one in fifty of a
// request that cannot be sent again, one in a hundred of the client's own making (R8.3).
func failure(class classify.Class, r *rand.Rand) *engine.Outcome {
	o := &engine.Outcome{Class: class}
	switch r.IntN(100) {
	case 0, 1, 2, 3, 4, 5, 6, 7, 8:
		o.RetryAfter = time.Duration(r.Int64N(int64(30 * time.Second)))
	case 9:
		o.RetryAfter = math.MaxInt64
	case 10, 11:
		o.NotReplayable = true
	case 12:
		o.Local = true
	}
	return o
}
