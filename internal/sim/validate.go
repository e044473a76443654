package sim

import (
	"fmt"
	"math"
	"slices"
	"time"
)

const (
	maxDuration = 30 * 24 * time.Hour
	maxSamples  = 100_000
	maxLayers   = 16
	maxCallers  = 1_000_000
	maxShards   = 1<<24 - 1
	maxRate     = 1e8
	maxAtOnce   = 10_000_000 // calls that begin at one instant: each is kept until it ends
)

// WithDefaults returns the scenario with what is zero and has a default filled in.
func (s Scenario) WithDefaults() Scenario {
	if s.Sample == 0 {
		s.Sample = max(s.Duration/200, time.Millisecond)
	}
	if s.Load.Keys == 0 {
		s.Load.Keys = 1024
	}
	if s.Server.Shards == 0 {
		s.Server.Shards = 1
	}
	if t := &s.Server.Throttle; t.Burst == 0 {
		t.Burst = max(t.Rate, 1)
	}
	return s
}

// InvalidError is a field of a scenario that is wrong.
type InvalidError struct {
	Field string // such as "server.workers" or "faults[0].amount"
	Text  string // what it is and what would be right
}

func (e *InvalidError) Error() string { return "reprise/sim: " + e.Field + " " + e.Text }

// checker notes the first thing that is wrong.
type checker struct{ err *InvalidError }

func (c *checker) want(ok bool, field, format string, args ...any) {
	if !ok && c.err == nil {
		c.err = &InvalidError{field, fmt.Sprintf(format, args...)}
	}
}

func (c *checker) time(field string, d time.Duration) {
	c.want(d >= 0 && d <= maxDuration, field, "is %v: want 0s to %v", d, maxDuration)
}

func (c *checker) share(field string, v float64) {
	c.want(v >= 0 && v <= 1, field, "is %v: want a share, 0 to 1", v)
}

func (c *checker) number(field string, v, most float64) {
	c.want(v >= 0 && v <= most, field, "is %v: want 0 to %g", v, most)
}

func (c *checker) count(field string, n, least, most int) {
	c.want(n >= least && n <= most, field, "is %d: want %d to %d", n, least, most)
}

// Validate returns an *InvalidError for the first field that is wrong, else nil.
func (s Scenario) Validate() error {
	s = s.WithDefaults()
	var c checker
	c.want(s.Duration > 0 && s.Duration <= maxDuration, "duration", "is %v: want more than 0s, up to %v", s.Duration, maxDuration)
	c.time("sample", s.Sample)
	c.want(s.Sample > 0 && s.Duration/max(s.Sample, 1) <= maxSamples, "sample", "is %v: want more than 0s and no more than %d in the duration", s.Sample, maxSamples)
	s.checkLoad(&c)
	c.count("layers", len(s.Layers), 1, maxLayers)
	for i, l := range s.Layers {
		at := fmt.Sprintf("layers[%d].", i)
		c.count(at+"callers", l.Callers, 1, maxCallers)
		c.time(at+"deadline", l.Deadline)
		c.time(at+"timeout", l.Timeout)
		c.time(at+"latency", l.Latency)
	}
	s.checkServer(&c)
	for i, f := range s.Faults {
		s.checkFault(&c, fmt.Sprintf("faults[%d].", i), f)
	}
	s.checkCrowds(&c)
	if c.err != nil {
		return c.err
	}
	return nil
}

func (s *Scenario) checkLoad(c *checker) {
	l := &s.Load
	c.number("load.rate", l.Rate, maxRate)
	c.share("load.swing", l.Swing)
	c.time("load.period", l.Period)
	c.want(l.Swing == 0 || l.Period > 0, "load.period", "is %v: want the period of the swing", l.Period)
	c.want(l.Swing == 0 || l.Rate > 0, "load.swing", "is %v and the rate 0: want a rate that swings", l.Swing)
	calls, atOnce := 0, make(map[time.Duration]int)
	for i, b := range l.Bursts {
		at := fmt.Sprintf("load.bursts[%d].", i)
		c.want(b.At >= 0 && b.At <= s.Duration, at+"at", "is %v: want 0s to the duration, %v", b.At, s.Duration)
		c.count(at+"calls", b.Calls, 1, maxAtOnce)
		atOnce[b.At] += b.Calls
		c.want(atOnce[b.At] <= maxAtOnce, at+"calls", "are %d with those of the same instant: want %d at the most", atOnce[b.At], maxAtOnce)
		calls += b.Calls
	}
	c.count("load.loops", l.Loops, 0, maxAtOnce)
	c.want(l.Rate > 0 || l.Loops > 0 || calls > 0, "load", "has neither rate nor loops nor bursts: want one of them, above 0")
	c.time("load.think", l.Think)
	c.time("load.warm", l.Warm)
	if l.Loops > 0 && l.Think == 0 && len(s.Layers) > 0 {
		c.want(s.Layers[0].Latency > 0, "load.think", "is 0s, as is the latency of the clients: want one above 0s, or a loop never waits")
	}
	c.count("load.keys", l.Keys, 1, math.MaxInt32)
	c.share("load.hot", l.Hot)
}

func (s *Scenario) checkServer(c *checker) {
	v := &s.Server
	c.count("server.shards", v.Shards, 1, maxShards)
	c.count("server.workers", v.Workers, 0, math.MaxInt32)
	c.count("server.queue", v.Queue, 0, 1<<30)
	c.time("server.service.mean", v.Service.Mean)
	c.want(v.Service.Shape <= Lognormal, "server.service.shape", "is %d: want Fixed, Exponential or Lognormal", v.Service.Shape)
	c.number("server.service.sigma", v.Service.Sigma, 10)
	c.number("server.contention", v.Contention, 1e6)
	c.time("server.patience", v.Patience)
	c.number("server.throttle.rate", v.Throttle.Rate, maxRate)
	c.number("server.throttle.burst", v.Throttle.Burst, maxRate)
	c.want(v.Throttle.Rate == 0 || v.Throttle.Burst >= 1, "server.throttle.burst", "is %v: want 1 or more, or nothing ever passes", v.Throttle.Burst)
	e := v.Errors
	c.share("server.errors.transient", e.Transient)
	c.share("server.errors.throttling", e.Throttling)
	c.share("server.errors.permanent", e.Permanent)
	c.want(e.Transient+e.Throttling+e.Permanent <= 1, "server.errors", "are %v together: want shares of 1", e.Transient+e.Throttling+e.Permanent)
	c.number("server.cache.entries", v.Cache.Entries, 1e12)
	c.want(v.Cache.Entries == 0 || v.Cache.MissFactor >= 1 && v.Cache.MissFactor <= 1e6, "server.cache.miss_factor", "is %v: want 1 to 1e+06", v.Cache.MissFactor)
}

func (s *Scenario) checkFault(c *checker, at string, f Fault) {
	c.want(int(f.Kind) < len(faultNames), at+"kind", "is %d: want one of the kinds of faults", f.Kind)
	c.want(f.Start >= 0 && f.Start <= s.Duration, at+"start", "is %v: want 0s to the duration, %v", f.Start, s.Duration)
	c.want(f.Length > 0 && f.Length <= maxDuration, at+"length", "is %v: want more than 0s, up to %v", f.Length, maxDuration)
	c.share(at+"shards", f.Shards)
	switch f.Kind {
	case Failing, Throttled:
		c.share(at+"amount", f.Amount)
	case Slow, Crowd, Tight:
		c.number(at+"amount", f.Amount, 1e6)
		c.want(f.Kind != Crowd || f.Shards == 0, at+"shards", "is %v: a crowd has none", f.Shards)
		c.want(f.Kind != Crowd || s.Load.Rate > 0, at+"kind", "is crowd and the load has no rate: want a rate that it multiplies")
	case Silent:
		waits := slices.ContainsFunc(s.Layers, func(l Layer) bool { return l.Timeout > 0 || l.Deadline > 0 })
		c.want(waits, at+"kind", "is silent and nobody gives up: want a timeout or a deadline of a layer, or calls never end")
		fallthrough
	default:
		c.want(f.Amount == 0, at+"amount", "is %v: %s has none", f.Amount, f.Kind)
	}
}

// checkCrowds bounds the rate that crowds come to: of more calls than one in ten
// nanoseconds so many begin at one instant that the next one never comes.
func (s *Scenario) checkCrowds(c *checker) {
	for i, f := range s.Faults {
		if f.Kind != Crowd {
			continue
		}
		rate := s.Load.Rate
		for _, other := range s.Faults {
			if other.Kind == Crowd && other.on(int64(f.Start)) {
				rate *= other.Amount
			}
		}
		c.want(rate <= maxRate, fmt.Sprintf("faults[%d].amount", i), "is %v, which makes the rate %g calls/s, with the other crowds of that time: want %g at the most", f.Amount, rate, float64(maxRate))
	}
}
