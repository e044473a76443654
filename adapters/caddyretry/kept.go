package caddyretry

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"

	"github.com/reprise-go/reprise/adapters/promretry"
	"github.com/reprise-go/reprise/engine"
)

// kept is the engines of a name. They live as long as a transport of that name is
// in some configuration: Caddy sets the next one up before it tears the old one
// down, so a reload finds them with their tokens, limiters and counts.
type kept struct {
	name string
	// fleet is what calls use; nil until the first one.
	fleet atomic.Pointer[fleet]

	// recorder counts calls and attempts, of all fleets that there will be.
	recorder *promretry.Recorder

	mu      sync.Mutex // held when configurations change, never by a call
	config  any        // the configuration that is being set up, or was last
	load    uint64     // its number, from 1
	asked   string     // the engine settings that its transports want
	adopted uint64     // the number of the one whose settings the fleet has
}

// fleet is engines with the same mode, by upstream.
type fleet struct {
	group   *engine.Group[string]
	metrics *promretry.Collector // of group
	fixed   fixed
	asked   string // the settings that it has
}

// pool holds *kept by name. A configuration that fails lets go of what it took.
var pool = caddy.NewUsagePool()

// enter returns the engines of a name. leave must follow.
func enter(name string) (*kept, error) {
	k, _, err := pool.LoadOrNew(name, func() (caddy.Destructor, error) { return &kept{name: name, recorder: promretry.NewRecorder()}, nil })
	if err != nil {
		return nil, err
	}
	return k.(*kept), nil
}

func (k *kept) leave() { _, _ = pool.Delete(k.name) }

// Destruct is called when no transport of the name is left.
func (k *kept) Destruct() error { return nil }

// claim says that a transport of a configuration wants the engines with settings
// s, and returns the configuration's number. Two of one configuration that want
// different ones are an error: nobody knows which should hold.
func (k *kept) claim(config any, s engineSettings) (uint64, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	text := s.String()
	if k.config == config && k.asked != text {
		return 0, &fault{"name", fmt.Sprintf("is %q in two transports that want engines with different settings, %s and %s: want the same settings in both, or another name in one",
			k.name, k.asked, text)}
	}
	if k.config != config {
		k.config = config
		k.load++
	}
	k.asked = text
	return k.load, nil
}

// adopt gives the engines the settings of a configuration, when its first request
// is there. What is older than the engines' changes nothing. Where mode, coalesce
// or max_upstreams is another, the engines are new ones, at the level of the old.
func (k *kept) adopt(load uint64, s engineSettings, log *zap.Logger) {
	k.mu.Lock()
	defer k.mu.Unlock()
	old, text := k.fleet.Load(), s.String()
	if old != nil && (load < k.adopted || old.asked == text) {
		k.adopted = max(k.adopted, load)
		return
	}
	template, err := s.engine(k.recorder)
	if err != nil {
		panic(err) // Provision has made sure that it can be made
	}
	next := &fleet{fixed: s.fixed(), asked: text}
	if old != nil && old.fixed == next.fixed {
		next.group, next.metrics = old.group, old.metrics
		// Resolved, so that the defaults of a service, and of what is no longer said, count too.
		err = old.group.Reconfigure(engine.WithMaxAttempts(template.MaxAttempts()), engine.WithQuota(template.Quota()),
			engine.WithSchedule(template.Schedule()), engine.WithClassifier(template.Classifier()))
	} else {
		next.group, err = k.newGroup(s, template, old)
		if err == nil {
			next.metrics, err = promretry.NewGroup(k.name, next.group, promretry.WithRecorder(k.recorder))
		}
	}
	if err != nil {
		panic(err)
	}
	k.fleet.Store(next)
	k.adopted = load
	if old != nil {
		log.Info("the engines have new settings", zap.String("name", k.name), zap.String("settings", text), zap.Bool("made_anew", next.group != old.group))
	}
}

// newGroup returns engines like template. Where old lacked tokens, the new one lacks
// as many.
func (k *kept) newGroup(s engineSettings, template *engine.Engine, old *fleet) (*engine.Group[string], error) {
	lacking := make(map[string]*engine.Engine) // never written to again
	if old != nil {
		capacity := template.Quota().Capacity
		for upstream, e := range old.group.All() {
			stats := e.Stats()
			if stats.Mode == engine.Legacy || stats.QuotaLevel >= stats.QuotaCapacity {
				continue
			}
			at, err := s.engine(k.recorder, engine.WithTokens(min(stats.QuotaLevel, capacity)))
			if err != nil {
				return nil, err
			}
			lacking[upstream] = at
		}
	}
	return engine.NewGroupFunc(func(upstream string) *engine.Engine {
		if at := lacking[upstream]; at != nil {
			return at
		}
		return template
	}, s.MaxUpstreams)
}
