package sim

import (
	"math"
	"time"

	"github.com/reprise-go/reprise/classify"
)

// shard is one server with its workers, queue, throttle and cache.
type shard struct {
	queue  waitingRoom
	busy   int
	cold   float64 // share of the cache's entries that is not there
	tokens float64 // of the throttle
	filled int64   // when tokens was right
	weather
}

// weather is what the faults under way make of a shard.
type weather struct {
	down, silent bool
	slow         float64 // times as long
	tight        float64 // times as many through the throttle
	fails        float64 // share that fails at once
	throttles    float64 // share that is throttled
}

// waitingRoom is a queue of requests, in the order in which they came.
type waitingRoom struct {
	ring       []queued
	head, tail uint32
}

type queued struct {
	request
	since int64
}

func (q *waitingRoom) len() int { return int(q.tail - q.head) }

func (q *waitingRoom) push(r queued) {
	if q.len() == len(q.ring) {
		ring := make([]queued, max(2*len(q.ring), 8))
		for i := q.head; i != q.tail; i++ {
			ring[i&uint32(len(ring)-1)] = q.ring[i&uint32(len(q.ring)-1)]
		}
		q.ring = ring
	}
	q.ring[q.tail&uint32(len(q.ring)-1)] = r
	q.tail++
}

func (q *waitingRoom) pop() queued {
	r := q.ring[q.head&uint32(len(q.ring)-1)]
	q.head++
	return r
}

// requestArrives is at a gateway, which makes a call of its own, or at the server.
func (w *world) requestArrives(e *event) {
	r := e.request
	if e.aux < uint32(len(w.layers)) {
		l := &w.layers[e.aux]
		w.begin(&l.callers[l.choose.below(uint32(len(l.callers)))], r, false)
		return
	}
	w.point.Arrived++
	s := &w.shards[r.shard]
	switch {
	case s.silent:
		w.point.Lost++
	case s.down:
		w.refuse(r, transient)
	case !w.passesThrottle(s):
		w.refuse(r, throttled)
	default:
		w.enter(s, r)
	}
}

func (w *world) refuse(r request, why result) {
	switch why {
	case throttled:
		w.point.Throttled++
	default:
		w.point.Failed++
	}
	w.reply(r, why)
}

// enter is the way past the errors to a worker or into the queue.
func (w *world) enter(s *shard, r request) {
	told := &w.Server.Errors
	fails := 1 - (1-told.Transient)*(1-s.fails)
	throttles := 1 - (1-told.Throttling)*(1-s.throttles)
	if fails+throttles+told.Permanent > 0 {
		switch draw := w.errors.share(); {
		case draw < fails:
			w.refuse(r, transient)
			return
		case draw < fails+throttles:
			w.refuse(r, throttled)
			return
		case draw < fails+throttles+told.Permanent:
			w.refuse(r, failed)
			return
		}
	}
	switch {
	case w.Server.Workers == 0 || s.busy < w.Server.Workers:
		w.serve(s, r)
	case s.queue.len() < w.Server.Queue:
		s.queue.push(queued{r, w.now})
	case w.Server.FullThrottles:
		w.refuse(r, throttled)
	default:
		w.refuse(r, transient)
	}
}

// passesThrottle takes a token, if there is one or no throttle.
func (w *world) passesThrottle(s *shard) bool {
	if w.Server.Throttle.Rate == 0 {
		return true
	}
	w.fillThrottle(s)
	if s.tokens < 1 {
		return false
	}
	s.tokens--
	return true
}

// fillThrottle puts in what has come since it was filled, at the rate of that time.
func (w *world) fillThrottle(s *shard) {
	t := &w.Server.Throttle
	s.tokens = min(t.Burst, s.tokens+t.Rate*s.tight*float64(w.now-s.filled)/float64(time.Second))
	s.filled = w.now
}

// missed marks the end of a service that the cache did not help.
const missed = 1

func (w *world) serve(s *shard, r request) {
	s.busy++
	aux := uint32(0)
	server := &w.Server
	takes := float64(server.Service.Mean)
	switch server.Service.Shape {
	case Exponential:
		takes *= w.services.exponential()
	case Lognormal:
		sigma := server.Service.Sigma
		takes *= math.Exp(sigma*w.services.normal() - sigma*sigma/2)
	}
	if server.Contention > 0 {
		takes *= 1 + server.Contention*float64(s.busy-1+s.queue.len())/float64(max(server.Workers, 1))
	}
	takes *= s.slow
	if server.Cache.Entries > 0 && s.cold > 0 && w.services.share() < s.cold {
		takes *= server.Cache.MissFactor
		aux = missed
	}
	w.later(w.now+int64(min(takes, float64(maxDuration))), serviceEnds, r, aux)
}

func (w *world) serviceEnds(e *event) {
	r := e.request
	s := &w.shards[r.shard]
	s.busy--
	w.point.Served++
	if !w.waits(r) {
		w.point.Wasted++
	} else {
		w.reply(r, succeeded)
		if e.aux == missed {
			s.cold = max(0, s.cold-1/w.Server.Cache.Entries)
		}
	}
	for s.queue.len() > 0 {
		next := s.queue.pop()
		if patience := w.Server.Patience; patience > 0 && w.now-next.since > int64(patience) {
			w.refuse(next.request, transient)
			continue
		}
		w.serve(s, next.request)
		return
	}
}

// A result says what classify's classes say, so that one is the other.
const (
	_ = uint(classify.Transient) - uint(transient)
	_ = uint(transient) - uint(classify.Transient)
	_ = uint(classify.Throttling) - uint(throttled)
	_ = uint(throttled) - uint(classify.Throttling)
)
