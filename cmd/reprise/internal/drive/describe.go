package drive

import (
	"errors"
	"net/url"

	"github.com/reprise-go/reprise/cmd/reprise/internal/faulty"
	"github.com/reprise-go/reprise/cmd/reprise/internal/record"
	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
	"github.com/reprise-go/reprise/engine"
)

// describe fills in what the recorder does not know.
func (d *Drive) describe(res *record.Result, b baseline) {
	c := &d.config
	res.Setup = record.Setup{
		Target:           d.url,
		Embedded:         d.server != nil,
		Mode:             d.engine.Mode().String(),
		Service:          d.engine.Service(),
		MaxAttempts:      d.engine.MaxAttempts(),
		Calls:            c.Calls,
		DurationMS:       float64(c.Duration.Microseconds()) / 1e3,
		Workers:          c.Workers,
		RatePerSec:       c.Rate,
		DeadlineMS:       float64(c.Deadline.Microseconds()) / 1e3,
		AttemptTimeoutMS: float64(c.AttemptTimeout.Microseconds()) / 1e3,
		CoalesceMS:       float64(c.Coalesce.Microseconds()) / 1e3,
		Seed:             c.Seed,
	}
	res.Retries.Unsent = d.engine.Stats().UnsentRetries
	res.Quota.Enabled = res.Setup.Mode != "legacy"
	b.fill(&res.Allocs)
	if last := d.lastErr.Load(); last != nil {
		res.LastError = new(scenario.Printable(cause(*last)))
	}
	if d.server == nil {
		return
	}
	res.Setup.Faults = c.Faults.String()
	res.Setup.Outage = c.Outage.String()
	res.Setup.LatencyMS = float64(c.Latency.Microseconds()) / 1e3
	res.Setup.CapacityPerSec = c.Capacity
	if res.Capacity = d.capacity(); res.Capacity != nil {
		res.Capacity.ShareUsed = d.shareUsed
	}
	res.Server = &record.Server{Hits: d.server.Hits(), Faults: map[string]uint64{}}
	served := d.server.Served()
	for _, kind := range faulty.Kinds() {
		res.Server.Faults[kind.String()] = served[kind]
	}
}

// cause is err without what the table says anyway: the target, which http.Client
// puts before it, and why the call got no further attempt.
func cause(err error) string {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	if outer, ok := errors.AsType[*engine.Error](err); ok && outer.Err != nil {
		err = outer.Err
	}
	return err.Error()
}

// capacity is what the embedded server's capacity has done so far; nil if it
// has none.
func (d *Drive) capacity() *record.Capacity {
	if d.server == nil || d.config.Capacity == 0 {
		return nil
	}
	c := &record.Capacity{
		PerSecond: d.config.Capacity,
		Burst:     faulty.Burst(d.config.Capacity),
		Throttled: d.server.Throttled(),
	}
	for _, n := range d.server.Served() {
		c.Answered += n
	}
	return c
}
