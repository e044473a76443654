package size

import (
	"math"
	"time"
)

// Estimate is what a plan comes to, by calculation.
type Estimate struct {
	Success       float64 // share of calls
	Unbounded     float64 // the same if the quota paid for all
	Amplification float64 // requests per call
	Outage        float64 // the same in an outage
	Drift         float64 // of the level, tokens a call, while the quota pays for all
	Level         float64 // mean, of the capacity
	P50, P99      time.Duration
}

// estimate calculates what p comes to.
func (q *Question) estimate(p Plan, t *timing) Estimate {
	e := Estimate{Unbounded: q.unbounded(p.Attempts, t), Drift: q.drift(p), Outage: q.outage(p)}
	c := chain{q: q, p: p, t: t}
	var weights []float64
	e.Success, e.Amplification, e.Level, weights = c.run()
	e.P50, e.P99 = t.latency(0.5, weights), t.latency(0.99, weights)
	return e
}

// unbounded is the success rate of n attempts that a quota always pays for.
func (q *Question) unbounded(n int, t *timing) (success float64) {
	p, reach := q.Failing(), 1.
	for k := range n {
		success += reach * t.answered[k] * (1 - p)
		reach *= q.Transient*t.sent[k][transient] + q.Throttling*t.sent[k][throttling]
	}
	return success
}

// drift is R6.5's, for n attempts and the mean cost of two classes.
func (q *Question) drift(plan Plan) float64 {
	p := q.Failing()
	if p == 0 {
		return 1
	}
	cost := (q.Transient*float64(plan.Quota.TransientCost) + q.Throttling*float64(plan.Quota.ThrottlingCost)) / p
	lost := 0.
	for k := 2; k <= plan.Attempts; k++ {
		lost += math.Pow(p, float64(k))
	}
	return 1 - p - cost*lost
}

// outage is the amplification while every attempt fails as transient: a full quota
// pays for so many retries of each client, and nothing comes back.
func (q *Question) outage(p Plan) float64 {
	retries := float64(q.Clients) * float64(p.Quota.Capacity/p.Quota.TransientCost)
	return 1 + min(float64(p.Attempts-1), retries/(q.Rate*q.Outage.Seconds()))
}

// mostCapacity is the largest with which an outage amplifies by no more than allowed.
func (q *Question) mostCapacity(attempts, cost int) int {
	if float64(attempts) <= q.Amplification {
		return capacityLimit
	}
	retries := math.Floor((q.Amplification - 1) * q.Rate * q.Outage.Seconds() / float64(q.Clients))
	return int(min(float64(cost)*(retries+1)-1, capacityLimit))
}

// capacityLimit is the largest that is tried.
const capacityLimit = 10_000

// chain is the level of one client's quota from call to call.
type chain struct {
	q *Question
	p Plan
	t *timing
}

// course is what a call that begins at some level comes to.
type course struct {
	success, requests float64
	weights           [mostAttempts]float64 // successes, by attempt
	drops             []float64             // probability that the level falls by so much, from 1 on
}

// call follows a call that begins at a level, over all that may befall it.
func (c *chain) call(level int) course {
	costs := [2]int{c.p.Quota.TransientCost, c.p.Quota.ThrottlingCost}
	shares := [2]float64{c.q.Transient, c.q.Throttling}
	well := 1 - c.q.Failing()
	out := course{drops: make([]float64, c.reach()+1)}
	// reached are the ways to an attempt: by the retries paid for after throttling
	// failures, of those before it, and the class of the last one.
	reached := [mostAttempts][2]float64{}
	reached[0][transient] = 1
	for k := range c.p.Attempts {
		var next [mostAttempts][2]float64
		for throttled := range k + 1 {
			for last, here := range reached[throttled] {
				if here == 0 {
					continue
				}
				spent := (k-throttled)*costs[transient] + throttled*costs[throttling]
				answered := here * c.t.answered[k]
				out.requests += here
				out.success += answered * well
				out.weights[k] += answered * well
				out.drops[spent] += here - answered // out of time: what was sent is paid
				if k > 0 {
					out.drops[spent-costs[last]] += answered * well
				}
				for class, share := range shares {
					failed := answered * share
					if k+1 == c.p.Attempts || level-spent < costs[class] {
						out.drops[spent] += failed
						continue
					}
					sent := failed * c.t.sent[k][class]
					out.drops[spent] += failed - sent
					next[throttled+class][class] += sent
				}
			}
		}
		reached = next
	}
	return out
}

// reach is how far a call lets the level fall at the most.
func (c *chain) reach() int {
	return max(c.p.Quota.TransientCost, c.p.Quota.ThrottlingCost) * (c.p.Attempts - 1)
}

// run finds how often each level is met and adds up what calls come to. Between two
// levels the flow up, a first attempt that succeeded, equals the flow down from all
// levels above: so the levels follow from the top.
func (c *chain) run() (success, requests, level float64, weights []float64) {
	capacity, reach := c.p.Quota.Capacity, c.reach()
	high := c.call(max(capacity, reach)) // where the quota pays for all
	fallsOf := func(from course) []float64 {
		falls := make([]float64, reach+2) // by so much or more
		for d := reach; d >= 1; d-- {
			falls[d] = falls[d+1] + from.drops[d]
		}
		return falls
	}
	highFalls := fallsOf(high)
	lows, lowFalls := make([]course, min(reach, capacity+1)), make([][]float64, min(reach, capacity+1))
	for l := range lows {
		lows[l] = c.call(l)
		lowFalls[l] = fallsOf(lows[l])
	}
	up := high.weights[0]
	met := make([]float64, capacity+1)
	met[capacity] = 1
	for l := capacity - 1; l >= 0; l-- {
		for from := l + 1; from <= min(l+reach, capacity); from++ {
			falls := highFalls
			if from < len(lows) {
				falls = lowFalls[from]
			}
			met[l] += met[from] * falls[from-l]
		}
		if met[l] /= up; met[l] > 1e200 {
			for i := l; i <= capacity; i++ {
				met[i] /= 1e200
			}
		}
	}
	total := 0.
	weights = make([]float64, c.p.Attempts)
	for l, share := range met {
		from := high
		if l < len(lows) {
			from = lows[l]
		}
		total += share
		success += share * from.success
		requests += share * from.requests
		level += share * float64(l)
		for k := range weights {
			weights[k] += share * from.weights[k]
		}
	}
	for k := range weights {
		weights[k] /= total
	}
	return success / total, requests / total, level / total / float64(capacity), weights
}
