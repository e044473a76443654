package promretry

import (
	"errors"
	"fmt"
	"iter"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reprise-go/reprise/engine"
)

// Collector is a prometheus.Collector: register it, and unregister it when the
// engine is no longer in use. Two in one registry need different names; the second
// registration of one is prometheus.AlreadyRegisteredError. Make one with [New],
// [NewGroup] or [NewSet]; the zero Collector shows nothing and registers as an
// unchecked one. It is safe for use by many goroutines.
type Collector struct {
	descs     *descs
	described []*prometheus.Desc
	collect   func(sink)
}

// New returns a collector of one engine, which it shows under a name: not empty,
// valid UTF-8, the same after each start. A nil or zero engine is an error.
func New(name string, e *engine.Engine, opts ...Option) (*Collector, error) {
	o, err := optionsOf("New", name, opts)
	if err != nil {
		return nil, err
	}
	if o.keyLimit != 0 || o.keyLabel != nil {
		return nil, errors.New("reprise/promretry: New with WithKeyLimit or WithKeyLabel: one engine has no keys; they are for NewGroup")
	}
	if !made(e) {
		return nil, fmt.Errorf("reprise/promretry: New(%q) with a nil or zero *engine.Engine: make one with engine.New", name)
	}
	d := newDescs(name)
	return &Collector{descs: d, described: described(d.ofEngine(), o.recorder, d), collect: func(s sink) {
		s.row("", rowOf(e.Stats()))
		s.recorder(o.recorder)
	}}, nil
}

func described(own []*prometheus.Desc, r *Recorder, d *descs) []*prometheus.Desc {
	if r != nil {
		own = append(own, d.ofRecorder()...)
	}
	return own
}

// Source is an engine of a [NewSet], its name, and its recorder, which may be nil.
type Source struct {
	Name     string         // value of the label engine; who sends requests must not be able to choose it
	Engine   *engine.Engine // one that is nil or zero is left out
	Recorder *Recorder      // of this engine, and nil if there is none
}

// NewSet returns a collector of engines that come and go: sources is iterated at
// each scrape, by several goroutines at once if scrapes come so, and yields what
// there is then. Of two with the same name the first is shown, and what is no UTF-8
// in a name is replaced. Their number is the caller's to bound. A registry takes one
// set, and no other Collector beside it: the label engine is fixed there and differs
// from metric to metric here, which a registry does not let be mixed. A nil sources
// is an error.
func NewSet(sources iter.Seq[Source]) (*Collector, error) {
	if sources == nil {
		return nil, errors.New("reprise/promretry: NewSet with nil sources: want what yields the engines")
	}
	d := newDescs("")
	return &Collector{descs: d, described: append(d.ofEngine(), d.ofRecorder()...), collect: func(s sink) {
		shown := make(map[string]bool)
		for source := range sources {
			name := labelOf(source.Name)
			stats, ok := statsOf(source.Engine)
			if shown[name] || !ok {
				continue
			}
			shown[name] = true
			s.labels = []string{name}
			s.row("", rowOf(stats))
			s.recorder(source.Recorder)
		}
	}}, nil
}

// Describe sends what Collect can send. It implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.described {
		to <- d
	}
}

// Collect reads what there is now. It implements prometheus.Collector. Lock-free
// for engines; the scrapes of one group take turns.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	if c.collect != nil {
		c.collect(sink{descs: c.descs, to: to})
	}
}

// made reports whether e comes from engine.New.
func made(e *engine.Engine) bool {
	if e == nil {
		return false
	}
	_, err := e.Derive()
	return err == nil
}

// statsOf is e.Stats, and false for an engine that is nil or zero.
func statsOf(e *engine.Engine) (stats engine.Stats, ok bool) {
	defer func() {
		if !ok {
			_ = recover()
		}
	}()
	return e.Stats(), true
}

// Option changes what a collector shows.
type Option func(*options) error

type options struct {
	recorder *Recorder
	keyLimit int
	keyLabel any // func(K) string
}

// WithRecorder shows what r has counted as well: calls, attempts and delays. nil is
// an error. Default: none of these.
func WithRecorder(r *Recorder) Option {
	return func(o *options) error {
		if r == nil {
			return errors.New("reprise/promretry: WithRecorder(nil): want one from NewRecorder, whose Observer the engine has")
		}
		o.recorder = r
		return nil
	}
}

// maxKeyLimit bounds what a scrape can hold, some 20 series a key.
const maxKeyLimit = 10_000

// WithKeyLimit says how many keys of a group are shown by name, 1 to 10,000; all
// others are shown together. Default 100.
func WithKeyLimit(n int) Option {
	return func(o *options) error {
		if n < 1 || n > maxKeyLimit {
			return fmt.Errorf("reprise/promretry: WithKeyLimit(%d): want 1 to %d keys", n, maxKeyLimit)
		}
		o.keyLimit = n
		return nil
	}
}

// WithKeyLabel says how a key of a group is shown. K must be the group's; label is
// called in scrapes, and must be quick. A panic of it counts as an empty label, and
// so does "": the key is shown with the others. Default: a string as it is, another
// key as fmt.Sprint spells it. nil is an error.
func WithKeyLabel[K comparable](label func(K) string) Option {
	return func(o *options) error {
		if label == nil {
			return errors.New("reprise/promretry: WithKeyLabel(nil): want what makes a label of a key")
		}
		o.keyLabel = label
		return nil
	}
}

func optionsOf(in, name string, opts []Option) (options, error) {
	var o options
	if name == "" || !utf8.ValidString(name) {
		return o, fmt.Errorf("reprise/promretry: %s(%q): want a name for the label engine, valid UTF-8 and not empty", in, name)
	}
	for i, opt := range opts {
		if opt == nil {
			return o, fmt.Errorf("reprise/promretry: option %d of %d is nil", i+1, len(opts))
		}
		if err := opt(&o); err != nil {
			return o, err
		}
	}
	return o, nil
}
