package promretry

import (
	"fmt"
	"time"

	"github.com/reprise-go/reprise/engine"
)

// NewGroup returns a collector of a group's engines, by key (see the package's
// comment on keys), and of the group itself. The name is as in [New]. A nil group is
// an error.
func NewGroup[K comparable](name string, g *engine.Group[K], opts ...Option) (*Collector, error) {
	o, err := optionsOf("NewGroup", name, opts)
	if err != nil {
		return nil, err
	}
	if g == nil {
		return nil, fmt.Errorf("reprise/promretry: NewGroup(%q) with a nil *engine.Group: make one with engine.NewGroup", name)
	}
	k := newKeys(g)
	if o.keyLimit != 0 {
		k.limit = o.keyLimit
	}
	if o.keyLabel != nil {
		label, ok := o.keyLabel.(func(K) string)
		if !ok {
			return nil, fmt.Errorf("reprise/promretry: NewGroup(%q) with WithKeyLabel of a %T: want a func(%T) string", name, o.keyLabel, *new(K))
		}
		k.label = label
	}
	d := newDescs(name)
	return &Collector{descs: d, described: described(append(d.ofEngine(), d.ofGroup()...), o.recorder, d), collect: func(s sink) {
		shown, lowest := k.scrape(time.Now())
		for _, key := range shown {
			s.row(key.label, key.row)
		}
		stats := g.Stats()
		s.gauge(s.engines, float64(stats.Engines))
		s.gauge(s.limit, float64(stats.Limit))
		s.counter(s.made, stats.Made)
		s.counter(s.dropped, stats.Dropped)
		s.counter(s.expired, stats.Expired)
		s.counter(s.overflows, stats.Overflowed)
		s.counter(s.unkeyed, stats.Unkeyed)
		s.counter(s.templatePanics, stats.Panics)
		s.gauge(s.lowest, lowest)
		s.recorder(o.recorder)
	}}, nil
}
