package sim

import (
	"fmt"
	"slices"
)

// WithoutEffect returns what the scenario says that changes nothing, because of what
// it says elsewhere or leaves out: a deviation of times that are fixed, a queue before
// any number of workers. [Run] takes it as it is; whoever wrote it meant something.
// The scenario must be valid.
func (s Scenario) WithoutEffect() []*InvalidError {
	var c effects
	keys, burst := s.Load.Keys, s.Server.Throttle.Burst // as they were said
	s = s.WithDefaults()
	c.want(s.Sample <= s.Duration, "sample", "is %v and the duration %v: want no more than that, or there is no sample", s.Sample, s.Duration)
	s.effectsOfLoad(&c, keys)
	for i, l := range s.Layers {
		c.want(l.Deadline == 0 || l.Timeout < l.Deadline, fmt.Sprintf("layers[%d].timeout", i),
			"is %v and the deadline %v: an attempt never gets so long; want less, or none", l.Timeout, l.Deadline)
	}
	s.effectsOfServer(&c, burst)
	for i, f := range s.Faults {
		s.effectsOfFault(&c, fmt.Sprintf("faults[%d].", i), f)
	}
	return c
}

// effects are what has none.
type effects []*InvalidError

func (c *effects) want(ok bool, field, format string, args ...any) {
	if !ok {
		*c = append(*c, &InvalidError{field, fmt.Sprintf(format, args...)})
	}
}

func (s *Scenario) effectsOfLoad(c *effects, keys int) {
	l, shards := &s.Load, s.Server.Shards
	c.want(!l.Paced || l.Rate > 0, "load.paced", "is true and there is no rate: want the rate that is paced, or paced left out")
	c.want(l.Period == 0 || l.Swing > 0, "load.period", "is %v and there is no swing: want the share by which the rate swings, or no period", l.Period)
	c.want(l.Think == 0 || l.Loops > 0, "load.think", "is %v and there are no loops: want the loops that think, or no think", l.Think)
	c.want(l.Warm == 0 || l.Loops > 1, "load.warm", "is %v and loops %d: want two loops or more, which begin one after the other, or no warm", l.Warm, l.Loops)
	c.want(keys == 0 || shards > 1, "load.keys", "is %d and there is one shard, which has all keys: want server.shards, 2 or more, or no keys", keys)
	c.want(l.Hot == 0 || shards > 1, "load.hot", "is %v and there is one shard, which has all keys: want server.shards, 2 or more, or no hot key", l.Hot)
	c.want(l.Hot == 0 || l.Keys > 1, "load.hot", "is %v and there is one key: want 2 keys or more, or no hot one", l.Hot)
	c.want(!l.LongPoll || !s.Layers[0].Once, "load.long_poll", "is true and layers[0] never retries: a long poll waits where the quota refuses a retry; want once left out, or long_poll")
}

func (s *Scenario) effectsOfServer(c *effects, burst float64) {
	v := &s.Server
	timed := v.Service.Mean > 0
	busy := v.Workers > 0 && timed
	c.want(v.Workers == 0 || timed, "server.workers", "is %d and service takes no time: want service.mean, or no workers", v.Workers)
	c.want(v.Queue == 0 || v.Workers > 0, "server.queue", "is %d before any number of workers: want workers, or no queue", v.Queue)
	c.want(v.Patience == 0 || v.Workers > 0 && v.Queue > 0, "server.patience", "is %v and nothing waits: want workers and a queue, or no patience", v.Patience)
	c.want(!v.FullThrottles || v.Workers > 0, "server.full_throttles", "is true and any number of workers is never full: want workers, or full_throttles left out")
	c.want(v.Contention == 0 || timed, "server.contention", "is %v and service takes no time: want service.mean, or no contention", v.Contention)
	c.want(v.Contention == 0 || v.Workers != 1 || v.Queue > 0, "server.contention", "is %v and a shard has one request at a time: want a queue or more workers, or no contention", v.Contention)
	c.want(v.Service.Shape == Fixed || timed, "server.service.shape", "is that of times whose mean is 0s: want a mean, or no shape")
	c.want(v.Service.Shape != Lognormal || v.Service.Sigma > 0, "server.service.sigma", "is 0, so that lognormal times are all alike: want it above 0, such as 1, or the shape fixed")
	c.want(v.Service.Sigma == 0 || v.Service.Shape == Lognormal, "server.service.sigma", "is %v and the shape is not lognormal: want shape lognormal with it, or no sigma", v.Service.Sigma)
	c.want(burst == 0 || v.Throttle.Rate > 0, "server.throttle.burst", "is %v and there is no rate: want the rate of the throttle, or no burst", burst)

	falls := slices.ContainsFunc(s.Faults, func(f Fault) bool { return f.Kind == Down })
	cold := v.Cache.Entries > 0 && timed && falls
	c.want(v.Cache.Entries == 0 || timed, "server.cache.entries", "is %v and service takes no time: want service.mean, or no cache", v.Cache.Entries)
	c.want(v.Cache.Entries == 0 || falls, "server.cache.entries", "is %v and nothing makes the cache cold: want a fault of the kind down, or no cache", v.Cache.Entries)
	c.want(v.Cache.MissFactor == 0 || v.Cache.Entries > 0, "server.cache.miss_factor", "is %v and there is no cache: want its entries, or no miss_factor", v.Cache.MissFactor)
	c.want(v.Cache.MissFactor != 1, "server.cache.miss_factor", "is 1, as if there were no cache: want more, or no cache")

	some := slices.ContainsFunc(s.Faults, func(f Fault) bool { return f.befalls(v.Shards) < v.Shards })
	c.want(v.Shards == 1 || busy || v.Throttle.Rate > 0 || v.Contention > 0 || cold || some, "server.shards",
		"is %d and no shard has anything of its own: want workers, a throttle, contention, a cache or a fault of some shards, or one shard", v.Shards)
}

func (s *Scenario) effectsOfFault(c *effects, at string, f Fault) {
	v := &s.Server
	c.want(f.Shards == 0 || v.Shards > 1, at+"shards", "is %v and there is one shard: want server.shards, 2 or more, or this left out, for all of the server", f.Shards)
	switch f.Kind {
	case Failing, Throttled:
		c.want(f.Amount > 0, at+"amount", "is 0: want the share of the requests that it befalls, up to 1")
	case Slow:
		c.want(f.Amount > 0 && f.Amount != 1, at+"amount", "is %v: want how many times as long service takes, such as 10", f.Amount)
		c.want(v.Service.Mean > 0, at+"kind", "is slow and service takes no time: want server.service.mean, which it multiplies")
	case Crowd:
		c.want(f.Amount != 1, at+"amount", "is 1: want how many times as many calls come, such as 3")
		c.want(f.Start < s.Duration, at+"start", "is %v, when no more calls begin: want less than the duration, %v", f.Start, s.Duration)
	case Tight:
		c.want(f.Amount != 1, at+"amount", "is 1: want how many times as many the throttle lets through, such as 0.5")
		c.want(v.Throttle.Rate > 0, at+"kind", "is tight and there is no throttle: want server.throttle.rate, which it multiplies")
	}
}
