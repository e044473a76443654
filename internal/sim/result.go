package sim

import (
	"time"

	"github.com/reprise-go/reprise/engine"
)

// Watch is what a run tells while it goes on. Its functions may be nil; they are
// called by the goroutine that runs it.
type Watch struct {
	Ended   func(Ended)           // each call of a client
	Sampled func(Point) (on bool) // each Point; false ends the run
}

// Ended is the end of a client's call.
type Ended struct {
	Caller    int
	Began, At time.Duration // since the beginning of the simulation
	Attempts  int           // sent; 0 if the limiter let none be sent
	OK        bool
	Reason    engine.Reason // why not, unless OK
}

// Counts are what happened in some time. A call is a client's; a request is an
// attempt that has reached the server.
type Counts struct {
	Offered   uint64 // calls begun
	Ended     uint64 // calls ended
	Succeeded uint64 // of these
	Attempts  uint64 // sent by clients
	TimedOut  uint64 // attempts of any layer

	Arrived   uint64 // requests
	Served    uint64 // requests that a worker has served
	Wasted    uint64 // of these, those for which nobody waited any more
	Throttled uint64 // requests refused as throttled
	Failed    uint64 // requests refused otherwise
	Lost      uint64 // requests that nobody answers
}

// Point is one sample: counts since the one before, and how things stood.
type Point struct {
	At time.Duration // the end of the sample's time
	Counts

	InFlight int     // calls under way, of any layer
	Waiting  int     // of these, calls that wait for a limiter
	Queued   int     // requests that wait for a worker
	Busy     int     // requests being served
	Quota    float64 // mean share of the tokens that is there, of the layer that has least
	FillRate float64 // requests/s that the clients' limiters let through; 0 if none does
	Limited  int     // clients whose limiter is on; of many, an estimate
	Cold     float64 // mean share of the caches that is not there
}

// Result is what a run came to.
type Result struct {
	Policy   string
	Seed     uint64
	Duration time.Duration
	Sample   time.Duration

	Counts                // until the last call had ended
	Stops   [7]uint64     // calls that ended without success, by engine.Reason
	Sent    []uint64      // attempts, by layer
	Retries uint64        // granted, in all layers
	Unended uint64        // calls that still were under way, if the run was ended early
	Latency time.Duration // sum over the calls that succeeded, up to what a Duration holds

	TokensTaken    uint64 // by retries, of all engines but those of layers that never retry
	TokensLeft     uint64 // in their quotas at the end
	TokensCapacity uint64 // of all of these

	Recovery Recovery
	Points   []Point
	EndedAt  time.Duration // when the last call of any layer had ended, or the run was
}

// SuccessRate is the share of calls that ended well; 1 if none ended.
func (r *Result) SuccessRate() float64 { return ratio(r.Succeeded, r.Ended, 1) }

// Amplification is how many requests the server had for each call.
func (r *Result) Amplification() float64 { return ratio(r.Arrived, r.Offered, 0) }

func ratio(part, whole uint64, none float64) float64 {
	if whole == 0 {
		return none
	}
	return float64(part) / float64(whole)
}

// Recovery is how the fleet came out of the faults.
type Recovery struct {
	Known     bool          // there was a fault, and calls enough before and after it
	Recovered bool          // all was well again before the end
	After     time.Duration // from the last fault's end until then, to a sample or 200 calls
}

// wellShare is what calls must come to, of what they came to before the first
// fault, for all to be well.
const wellShare = 0.95

// recovery finds the end of the last lot of calls after the faults that did not end
// well: a smaller share of those that ended than before, or hardly any did. How many
// end in a time, beside how many begin, tells less: that goes up and down with the
// queue.
func (s *Scenario) recovery(points []Point) (r Recovery) {
	from, until, ok := s.Trouble()
	if !ok {
		return r
	}
	var before Counts
	var after []Point
	for i, p := range points {
		if p.At <= from {
			before.add(&p.Counts)
		}
		if after == nil && p.At-s.Sample >= until { // one in which a fault ends is the fault's
			after = points[i:]
		}
	}
	if before.Ended == 0 {
		return r
	}
	perSecond := 0.
	if s.Load.Loops > 0 {
		perSecond = float64(before.Offered) / from.Seconds()
	}
	bar := wellShare * float64(before.Succeeded)
	ill, last := until, until
	for _, p := range s.lots(after, until, perSecond) {
		r.Known, last = true, p.At
		if p.Ended == 0 || 2*p.Ended < p.Offered || float64(p.Succeeded)*float64(before.Ended) < bar*float64(p.Ended) {
			ill = p.At
		}
	}
	r.Recovered = ill < last
	if r.Recovered {
		r.After = ill - until
	}
	return r
}

const (
	// leastCalls is what a lot must have for a share of its calls to mean much.
	leastCalls = 200
	// patience is how many lots there should have been of loops that begin hardly any
	// calls, since they wait for answers, before that is a lot.
	patience = 10
)

// lots joins samples until each has calls enough, or, of loops that made perSecond
// calls, should have had. What is left over at the end is too little to tell anything.
func (s *Scenario) lots(points []Point, from time.Duration, perSecond float64) (lots []Point) {
	var sum Point
	for _, p := range points {
		sum.add(&p.Counts)
		sum.At = p.At
		if sum.Offered >= leastCalls || perSecond*(p.At-from).Seconds() >= patience*leastCalls {
			lots = append(lots, sum)
			sum, from = Point{}, p.At
		}
	}
	return lots
}

func (c *Counts) add(o *Counts) {
	c.Offered += o.Offered
	c.Ended += o.Ended
	c.Succeeded += o.Succeeded
	c.Attempts += o.Attempts
	c.TimedOut += o.TimedOut
	c.Arrived += o.Arrived
	c.Served += o.Served
	c.Wasted += o.Wasted
	c.Throttled += o.Throttled
	c.Failed += o.Failed
	c.Lost += o.Lost
}
