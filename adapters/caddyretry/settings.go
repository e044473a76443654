package caddyretry

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/reprise-go/reprise/adapters/promretry"
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// Quota is the retry quota of an upstream, in tokens; what is zero keeps its
// default (R6).
type Quota struct {
	// Capacity is the most tokens that it holds, and what it starts with. Default: 500.
	Capacity int `json:"capacity,omitempty"`
	// TransientCost is what a retry after a transient failure takes. Default: 14.
	TransientCost int `json:"transient_cost,omitempty"`
	// ThrottlingCost is what a retry after a throttling failure takes. Default: 5.
	ThrottlingCost int `json:"throttling_cost,omitempty"`
}

// Backoff is the bases and the cap of the delays; what is zero keeps its default
// (R4).
type Backoff struct {
	// Transient is the base after a transient failure. Default: 50ms.
	Transient caddy.Duration `json:"transient,omitempty"`
	// Throttling is the base after a throttling failure. Default: 1s.
	Throttling caddy.Duration `json:"throttling,omitempty"`
	// Max is the most that a delay can be, x-amz-retry-after aside. Default: 20s.
	Max caddy.Duration `json:"max,omitempty"`
}

// Classify says what answers mean: transient, throttling or non_retryable.
type Classify struct {
	// Statuses by number, 100 to 599, where no code is recognised.
	Statuses map[int]string `json:"statuses,omitempty"`
	// Codes by name.
	Codes map[string]string `json:"codes,omitempty"`
	// NXDomain is what a host name that does not exist is. Default: non_retryable.
	NXDomain string `json:"nxdomain,omitempty"`
}

// parseMode reads a mode; nothing is standard.
func parseMode(name string) (engine.Mode, bool) {
	if name == "" {
		return engine.Standard, true
	}
	mode, err := engine.ParseMode(name)
	return mode, err == nil
}

const classForm = "transient, throttling or non_retryable"

// parseClass reads a class.
func parseClass(name string) (classify.Class, bool) {
	for _, class := range []classify.Class{classify.NonRetryable, classify.Transient, classify.Throttling} {
		if class.String() == name {
			return class, true
		}
	}
	return 0, false
}

// overrides is c as the classifier takes it; the text is what is wrong, or "".
func (c *Classify) overrides() (o classify.Overrides, wrong string) {
	if c == nil {
		return o, ""
	}
	o.Statuses, o.Codes = make(map[int]classify.Class), make(map[string]classify.Class)
	read := func(name string) classify.Class {
		class, ok := parseClass(name)
		if !ok && wrong == "" {
			wrong = fmt.Sprintf("names a class %q: want %s", short(name), classForm)
		}
		return class
	}
	for status, name := range c.Statuses {
		o.Statuses[status] = read(name)
	}
	for code, name := range c.Codes {
		o.Codes[code] = read(name)
	}
	if c.NXDomain != "" {
		o.NXDomain = read(c.NXDomain)
	}
	return o, wrong
}

// defaultMaxUpstreams is how many upstreams have an engine at the most.
const defaultMaxUpstreams = 1024

// engineSettings are the settings that the engines of a name share, with defaults
// filled in where they are ours. As JSON they are what is compared and shown.
type engineSettings struct {
	Mode         string         `json:"mode"`
	Coalesce     caddy.Duration `json:"coalesce,omitempty"`
	MaxUpstreams int            `json:"max_upstreams"`

	Service     string    `json:"service,omitempty"`
	MaxAttempts int       `json:"max_attempts,omitempty"`
	Quota       *Quota    `json:"quota,omitempty"`
	Backoff     *Backoff  `json:"backoff,omitempty"`
	Classify    *Classify `json:"classify,omitempty"`
}

func (t *Transport) engineSettings() engineSettings {
	mode, _ := parseMode(t.Mode)
	s := engineSettings{
		Mode: mode.String(), Coalesce: t.Coalesce, MaxUpstreams: defaultMaxUpstreams,
		Service: t.Service, Quota: t.Quota, Backoff: t.Backoff, Classify: t.Classify,
	}
	if t.MaxUpstreams != nil {
		s.MaxUpstreams = *t.MaxUpstreams
	}
	if t.MaxAttempts != nil {
		s.MaxAttempts = *t.MaxAttempts
	}
	return s
}

// String is the settings as JSON.
func (s engineSettings) String() string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // it holds nothing that JSON does not
	}
	return string(text)
}

// fixed are the settings that calls under way cannot change.
type fixed struct {
	mode         string
	coalesce     caddy.Duration
	maxUpstreams int
}

func (s engineSettings) fixed() fixed { return fixed{s.Mode, s.Coalesce, s.MaxUpstreams} }

// options are the engine's.
func (s engineSettings) options() []engine.Option {
	mode, _ := parseMode(s.Mode)
	opts := []engine.Option{engine.WithMode(mode)}
	if s.Service != "" {
		opts = append(opts, engine.WithService(s.Service))
	}
	if s.MaxAttempts != 0 {
		opts = append(opts, engine.WithMaxAttempts(s.MaxAttempts))
	}
	if q := s.Quota; q != nil {
		opts = append(opts, engine.WithQuota(engine.Quota{Capacity: q.Capacity, TransientCost: q.TransientCost, ThrottlingCost: q.ThrottlingCost}))
	}
	if b := s.Backoff; b != nil {
		opts = append(opts, engine.WithSchedule(fastbackoff.Schedule{
			Transient: time.Duration(b.Transient), Throttling: time.Duration(b.Throttling), Max: time.Duration(b.Max),
		}))
	}
	if s.Coalesce != 0 {
		opts = append(opts, engine.WithThrottleCoalescing(time.Duration(s.Coalesce)))
	}
	return opts
}

// testOptions are for tests: a clock, a source, an observer.
var testOptions []engine.Option

// engine makes a template of the engines, which tell the recorder, if there is one.
func (s engineSettings) engine(r *promretry.Recorder, more ...engine.Option) (*engine.Engine, error) {
	opts := s.options()
	if r != nil {
		opts = append(opts, engine.WithObserver(r.Observer()))
	}
	opts = append(opts, testOptions...)
	if s.Classify != nil {
		o, wrong := s.Classify.overrides()
		if wrong != "" {
			return nil, &fault{"classify", wrong}
		}
		c, err := classify.Default.With(o)
		if err != nil {
			return nil, &fault{"classify", "is wrong: " + err.Error()}
		}
		opts = append(opts, engine.WithClassifier(c))
	}
	return engine.New(append(opts, more...)...)
}
