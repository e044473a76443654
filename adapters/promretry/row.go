package promretry

import "github.com/reprise-go/reprise/engine"

// counts are what an engine has counted: they only rise.
type counts struct {
	transient, throttling, hedges, unsent, recoveries, panics uint64
	stops                                                     [len(engine.Stats{}.Stops)]uint64
}

func countsOf(s engine.Stats) counts {
	return counts{
		transient: s.TransientRetries, throttling: s.ThrottlingRetries, hedges: s.Hedges, unsent: s.UnsentRetries,
		recoveries: s.Recoveries, panics: s.HookPanics, stops: s.Stops,
	}
}

// combined returns c with f applied to each count of it and the same of o.
func (c counts) combined(o counts, f func(a, b uint64) uint64) counts {
	c.transient, c.throttling = f(c.transient, o.transient), f(c.throttling, o.throttling)
	c.hedges, c.unsent = f(c.hedges, o.hedges), f(c.unsent, o.unsent)
	c.recoveries, c.panics = f(c.recoveries, o.recoveries), f(c.panics, o.panics)
	for i := range c.stops {
		c.stops[i] = f(c.stops[i], o.stops[i])
	}
	return c
}

func (c counts) plus(o counts) counts {
	return c.combined(o, func(a, b uint64) uint64 { return a + b })
}

func (c counts) minus(o counts) counts {
	return c.combined(o, func(a, b uint64) uint64 { return a - b })
}

// troubles are the retries and failures in c: what makes a key worth a name.
func (c counts) troubles() uint64 {
	sum := c.transient + c.throttling + c.hedges
	for _, n := range c.stops {
		sum += n
	}
	return sum
}

// row is what is shown of one engine, or of several together.
type row struct {
	counts counts

	quotas          int // engines that have one
	level, capacity int // tokens

	limiters, enabled                  int // engines that have one; whose something was throttled
	fill, measured, tokens, tokensMost float64
	waiting                            int
}

func rowOf(s engine.Stats) row {
	r := row{counts: countsOf(s)}
	if s.Mode != engine.Legacy {
		r.quotas, r.level, r.capacity = 1, s.QuotaLevel, s.QuotaCapacity
	}
	if l := s.Limiter; s.Mode == engine.Adaptive {
		r.limiters, r.fill, r.measured, r.tokens, r.tokensMost, r.waiting = 1, l.FillRate, l.MeasuredRate, l.Level, l.Capacity, l.Waiting
		if l.Enabled {
			r.enabled = 1
		}
	}
	return r
}

// addGauges adds what the engines of o have now, but not what they have counted.
func (r *row) addGauges(o row) {
	r.quotas, r.level, r.capacity = r.quotas+o.quotas, r.level+o.level, r.capacity+o.capacity
	r.limiters, r.enabled, r.waiting = r.limiters+o.limiters, r.enabled+o.enabled, r.waiting+o.waiting
	r.fill, r.measured = r.fill+o.fill, r.measured+o.measured
	r.tokens, r.tokensMost = r.tokens+o.tokens, r.tokensMost+o.tokensMost
}
