package sim

import (
	"math"
	"time"
)

// arrivals are the calls of the open loop, and who and what they are for. Loops, whose
// calls depend on what became of others, have a stream of their own.
type arrivals struct {
	times, callers, keys *stream
	loops                *stream
	peak                 float64 // calls/s that the rate does not exceed before the next fault changes
}

func (w *world) buildLoad() {
	load := &w.Load
	w.arrive = arrivals{times: newStream(w.Seed, forArrivals), callers: newStream(w.Seed, forCallers), keys: newStream(w.Seed, forKeys), loops: newStream(w.Seed, forLoops)}
	w.redrawArrival()
	for _, b := range load.Bursts {
		w.later(int64(b.At), burstArrives, request{}, uint32(b.Calls))
	}
	for i := range load.Loops {
		at := int64(float64(load.Warm) * float64(i) / float64(load.Loops))
		w.later(at, callBegins, request{}, uint32(i%len(w.layers[0].callers)))
	}
}

// rate is how many calls a second arrive now.
func (w *world) rate() float64 {
	rate := w.Load.Rate * w.crowd
	if w.Load.Swing > 0 {
		rate *= 1 + w.Load.Swing*math.Sin(2*math.Pi*float64(w.now)/float64(w.Load.Period))
	}
	return rate
}

// redrawArrival begins the stream of arrivals, or begins it anew when the crowd has
// changed: a Poisson stream does not remember how long nobody has come.
func (w *world) redrawArrival() {
	if l := &w.lanes[arrivalLane]; !l.empty() {
		l.pop()
		w.heads[arrivalLane].at = never
	}
	w.arrive.peak = w.Load.Rate * (1 + w.Load.Swing) * w.crowd
	if w.arrive.peak > 0 {
		w.drawArrival()
	}
}

// drawArrival schedules the next arrival: of a Poisson stream at the peak rate, of
// which callArrives leaves out what is too much.
func (w *world) drawArrival() {
	var wait float64
	if w.Load.Paced {
		wait = 1 / max(w.rate(), w.Load.Rate*w.crowd/1000)
	} else {
		wait = w.arrive.times.exponential() / w.arrive.peak
	}
	wait = min(wait*float64(time.Second)+0.5, float64(maxDuration)) // a rate may be that small
	if at := w.now + int64(wait); at < w.end {
		w.queue(arrivalLane, at, callArrives, request{}, 0)
	}
}

func (w *world) callArrives() {
	rate := w.rate()
	if w.Load.Paced || rate == w.arrive.peak || w.arrive.times.share()*w.arrive.peak < rate {
		w.offer(w.arrive.callers.below(uint32(len(w.layers[0].callers))), false)
	}
	w.drawArrival()
}

// offer begins a call of a client.
func (w *world) offer(client uint32, looped bool) {
	w.point.Offered++
	keys := w.arrive.keys
	if looped {
		keys = w.arrive.loops
	}
	w.begin(&w.layers[0].callers[client], request{shard: w.chooseShard(keys)}, looped)
}

func (w *world) chooseShard(keys *stream) uint32 {
	if len(w.shards) == 1 {
		return 0
	}
	if hot := w.Load.Hot; hot > 0 && keys.share() < hot {
		return w.shardOf(0)
	}
	return w.shardOf(keys.below(uint32(w.Load.Keys)))
}

func (w *world) shardOf(key uint32) uint32 {
	return uint32(mix(uint64(key)+1) % uint64(len(w.shards)))
}

// again goes on with a caller's loop. One whose call was refused before anything
// was sent does not turn faster than a round trip: in no time at all it would turn
// for ever.
func (w *world) again(client uint32, began int64) {
	think := int64(0)
	if w.Load.Think > 0 {
		think = int64(w.arrive.loops.exponential() * float64(w.Load.Think))
	}
	at := max(w.now, began+2*int64(w.layers[0].Latency))
	w.later(at+think, callBegins, request{}, client)
}
