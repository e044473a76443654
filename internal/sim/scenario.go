package sim

import "time"

// Scenario is a fleet, its server, and what befalls them. Where a field has no
// default its zero means none. [Run] checks it first.
type Scenario struct {
	Seed     uint64        // the same seed, the same result, bit for bit
	Duration time.Duration // in which calls begin; those under way then are still ended. Up to 30 days
	Sample   time.Duration // the width of a [Point]; default Duration/200

	Load   Load
	Layers []Layer // [0] is the clients; each calls the next, and the last calls the server
	Server Server
	Faults []Fault
}

// Load is the calls that the clients begin. Open loop (Rate, Bursts) does not care
// how the server is; closed loop (Loops) waits for each answer.
type Load struct {
	Rate   float64       // calls/s of all clients together, each by a random client
	Paced  bool          // evenly spaced; else a Poisson stream
	Swing  float64       // 0..1: the rate rises and falls by this share
	Period time.Duration // of the swing
	Bursts []Burst

	Loops int           // callers that each begin a call when the last has ended
	Think time.Duration // mean of the exponential time that they wait before
	Warm  time.Duration // over which the loops begin, evenly; 0: all at once

	Keys     int     // that calls are for, hashed to the shards; default 1024
	Hot      float64 // share of the calls that are for one of the keys
	LongPoll bool    // calls are long polls (R7)
}

// Burst is calls that begin at one instant, by each client in turn.
type Burst struct {
	At    time.Duration
	Calls int
}

// Layer is callers that each have an engine of their own, with its own quota.
type Layer struct {
	Callers  int           // 1 to 1,000,000
	Deadline time.Duration // of a call with all its retries
	Timeout  time.Duration // of one attempt; what it has asked for is not called back
	Latency  time.Duration // of the way to the layer below, and of the way back
	Once     bool          // these never retry, whatever the policy
}

// Server is what the last layer calls: shards that are alike and independent.
type Server struct {
	Shards  int // default 1
	Workers int // requests that a shard serves at a time; 0: any number
	Queue   int // requests that wait for a worker; one more is refused at once

	Service Service
	// Contention lengthens service by this share of it for each request in the
	// shard above the first, over Workers: what goes on at once makes all slower.
	Contention float64
	Patience   time.Duration // a request that has waited longer is refused when its turn comes
	// FullThrottles makes the refusals of a full queue throttling, not transient.
	FullThrottles bool

	Throttle Throttle
	Errors   Errors
	Cache    Cache
}

// Service is how long a worker takes for a request.
type Service struct {
	Mean  time.Duration
	Shape Shape
	Sigma float64 // of Lognormal: the deviation of its logarithm
}

// Shape is a distribution of service times.
type Shape uint8

// The shapes.
const (
	Fixed       Shape = iota // always the mean
	Exponential              // as of a queue M/M/n
	Lognormal                // a long tail
)

// Throttle is a token bucket in front of each shard; what it refuses is answered
// as throttled, at once and by no worker.
type Throttle struct {
	Rate  float64 // requests/s of one shard; 0: none
	Burst float64 // default one second's worth
}

// Errors are the shares of requests that fail at once, whatever the load.
type Errors struct {
	Transient, Throttling, Permanent float64
}

// Cache makes service slow after an outage: entries come back only with answers
// that somebody still waits for.
type Cache struct {
	Entries    float64 // of one shard; 0: no cache
	MissFactor float64 // how many times longer a miss takes
}

// Fault is something that befalls the server, or the load, for a time. When
// several of a kind overlap, shares and factors multiply.
type Fault struct {
	Kind   FaultKind
	Start  time.Duration
	Length time.Duration
	Shards float64 // the share of the shards that it befalls, from the first on; 0: all
	Amount float64 // what Kind says
}

// FaultKind is what happens.
type FaultKind uint8

// The kinds of faults.
const (
	Down      FaultKind = iota // every request is refused at once, as transient; the caches are cold afterwards
	Silent                     // requests are lost: nobody answers
	Failing                    // a share Amount fails at once, as transient
	Throttled                  // a share Amount is throttled
	Slow                       // service takes Amount times as long
	Crowd                      // Amount times as many calls arrive; open loop
	Tight                      // the throttle lets Amount times as many through
)

// faultNames are the kinds as files spell them.
var faultNames = [...]string{"down", "silent", "failing", "throttled", "slow", "crowd", "tight"}

// String returns the kind as a file of scenarios spells it.
func (k FaultKind) String() string {
	if int(k) < len(faultNames) {
		return faultNames[k]
	}
	return "unknown"
}
