package awsretry

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
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

	services sync.Map // *engine.Engine by service id: the template with its settings
	group    sync.Map
}

func newEngines(e *engine.Engine, c config) (*Engines, error) {
	return &Engines{template: e, shared: c.shared, key: c.key, class: c.class}, nil
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
// none yet. It is never nil.
func (s *Engines) For(key Key) *engine.Engine {
	if s.shared {
		return s.of(key.Service)
	}
	if e, ok := s.group.Load(key); ok {
		return e.(*engine.Engine)
	}
	e, _ := s.group.LoadOrStore(key, s.of(key.Service))
	return e.(*engine.Engine)
}

// of returns the template with the settings of a service, where it was not told
// others.
func (s *Engines) of(service string) *engine.Engine {
	if service == "" || s.shared && s.template.Service() != "" {
		return s.template
	}
	if e, ok := s.services.Load(service); ok {
		return e.(*engine.Engine)
	}
	e, err := s.template.Derive(engine.WithService(service))
	if err != nil { // a blank service id
		return s.template
	}
	known, _ := s.services.LoadOrStore(service, e)
	return known.(*engine.Engine)
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
