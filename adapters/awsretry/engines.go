package awsretry

import (
	"context"
	"iter"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// Key says which engine a call has.
type Key struct {
	Service string // service id, such as "DynamoDB"
	Region  string // "" if the client has none
	Name    string // what WithKey, PerOperation or PerTable named the call; else ""
}

// Engines are the engines of one [Apply]. It is safe for use by many goroutines.
type Engines struct {
	template *engine.Engine
	shared   bool
	key      func(Operation) string
	class    func(error) (classify.Class, bool)

	// The config's RetryMaxAttempts, 0 if it has none, and the template's attempts
	// when Apply was called: while they are the same the config's count.
	configAttempts, firstAttempts int

	services sync.Map // *settled by service id
	group    *engine.Group[Key]
}

func newEngines(e *engine.Engine, c config, configAttempts int) (*Engines, error) {
	s := &Engines{template: e, shared: c.shared, key: c.key, class: c.class, configAttempts: configAttempts, firstAttempts: e.MaxAttempts()}
	var err error
	s.group, err = engine.NewGroupFunc(func(k Key) *engine.Engine { return s.of(k.Service) }, c.limit)
	return s, err
}

// EnginesOf returns the engines behind a Retryer that [Apply] has set: that of a
// config, cfg.Retryer(), or of a client, client.Options().Retryer. It reports
// false for any other, one that a client's RetryMaxAttempts has wrapped
// included.
func EnginesOf(r aws.Retryer) (*Engines, bool) {
	own, ok := r.(*loopRetryer)
	if !ok {
		return nil, false
	}
	return own.engines, true
}

// For returns the engine of the calls with the key, which it makes if there is
// none yet (see engine.Group). It is never nil.
func (s *Engines) For(key Key) *engine.Engine {
	if s.shared {
		return s.of(key.Service)
	}
	return s.group.For(key)
}

// All yields the engines that there are, for metrics. With [WithSharedEngine]
// that is the shared one, under the zero Key.
func (s *Engines) All() iter.Seq2[Key, *engine.Engine] {
	if s.shared {
		return func(yield func(Key, *engine.Engine) bool) { yield(Key{}, s.template) }
	}
	return s.group.All()
}

// Stats returns what the group of the engines has counted; with
// [WithSharedEngine] there is none, and all is zero.
func (s *Engines) Stats() engine.GroupStats { return s.group.Stats() }

// Reconfigure changes the settings of all engines, those that are yet to be made
// included, while calls are under way: see engine.Group's Reconfigure, and with
// [WithSharedEngine] engine.Engine's.
func (s *Engines) Reconfigure(opts ...engine.Option) error {
	if s.shared {
		return s.template.Reconfigure(opts...)
	}
	return s.group.Reconfigure(opts...)
}

// settled is the template with the settings of a service.
type settled struct {
	engine *engine.Engine
	from   changeable // the template's, when it was derived
}

// changeable are the settings of the template that can change.
type changeable struct {
	attempts   int
	schedule   fastbackoff.Schedule
	classifier *classify.Classifier
}

func changeableOf(e *engine.Engine) changeable {
	return changeable{e.MaxAttempts(), e.Schedule(), e.Classifier()}
}

// of returns the template with the settings of a service, where it was not told
// others. It is derived anew when the template was reconfigured.
func (s *Engines) of(service string) *engine.Engine {
	now := changeableOf(s.template)
	if known, ok := s.services.Load(service); ok && known.(*settled).from == now {
		return known.(*settled).engine
	}
	var opts []engine.Option
	if strings.TrimSpace(service) != "" && (!s.shared || s.template.Service() == "") {
		opts = append(opts, engine.WithService(service))
	}
	if s.configAttempts != 0 && now.attempts == s.firstAttempts {
		opts = append(opts, engine.WithMaxAttempts(s.configAttempts))
	}
	e, err := s.template.Derive(opts...)
	if err != nil || s.shared && changeableOf(e) == now {
		e = s.template
	}
	s.services.Store(service, &settled{engine: e, from: now})
	return e
}

// forCall returns the engine of the call that ctx belongs to.
func (s *Engines) forCall(ctx context.Context) *engine.Engine {
	op := operationOf(ctx)
	key := Key{Service: op.Service, Region: op.Region}
	if s.key != nil {
		key.Name = s.key(op)
	}
	return s.For(key)
}
