package sim

import (
	"time"

	"github.com/reprise-go/reprise/engine"
)

// sampledCallers bounds how many engines of a layer a sample looks at: those of a
// large layer stand for the others.
const sampledCallers = 256

// sample notes how things stand.
func (w *world) sample() {
	p := w.point
	p.At = time.Duration(w.now)
	p.InFlight = w.flights.live
	p.Waiting = w.waiting
	p.Quota = 1
	for i := range w.shards {
		s := &w.shards[i]
		p.Queued += s.queue.len()
		p.Busy += s.busy
		p.Cold += s.cold / float64(len(w.shards))
	}
	for i := range w.layers {
		w.sampleLayer(&p, &w.layers[i])
	}
	w.result.Counts.add(&p.Counts)
	w.result.Points = append(w.result.Points, p)
	w.point = Point{}
	if w.watch.Sampled != nil && !w.watch.Sampled(p) {
		w.stop = true
	}
}

func (w *world) sampleLayer(p *Point, l *layer) {
	if l.Once {
		return
	}
	seen := min(len(l.callers), sampledCallers)
	level, fill, limited := 0.0, 0.0, 0
	for i := range seen {
		c := &l.callers[i*len(l.callers)/seen]
		if c.engine == nil {
			level += c.own.Level()
			continue
		}
		stats := c.engine.Stats()
		level += float64(stats.QuotaLevel) / float64(stats.QuotaCapacity)
		if stats.Limiter.Enabled {
			limited++
			fill += stats.Limiter.FillRate
		}
	}
	p.Quota = min(p.Quota, level/float64(seen))
	if l.index == 0 {
		all := float64(len(l.callers)) / float64(seen)
		p.FillRate = fill * all
		p.Limited = int(float64(limited) * all)
	}
}

// finish adds up what is left.
func (w *world) finish() {
	r := &w.result
	r.Counts.add(&w.point.Counts)
	if w.stop {
		r.EndedAt = time.Duration(w.now)
	}
	for i := range w.layers {
		if w.layers[i].Once {
			continue // a quota that nobody asks
		}
		for j := range w.layers[i].callers {
			e := w.layers[i].callers[j].engine
			if e == nil || e.Mode() == engine.Legacy {
				continue // it has none
			}
			stats, quota := e.Stats(), e.Quota()
			r.TokensLeft += uint64(stats.QuotaLevel)
			r.TokensCapacity += uint64(stats.QuotaCapacity)
			r.TokensTaken += stats.TransientRetries*uint64(quota.TransientCost) + stats.ThrottlingRetries*uint64(quota.ThrottlingCost)
		}
	}
	r.Unended = r.Offered - r.Ended
	r.Recovery = w.recovery(r.Points)
}
