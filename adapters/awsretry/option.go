package awsretry

import (
	"errors"
	"fmt"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// Option is one setting of [Apply] or [NewRetryer], read once. Of two that set
// the same thing the later one counts.
type Option func(*config) error

// config is what the options said.
type config struct {
	caller  string // "Apply" or "NewRetryer"
	replace bool
	shared  bool
	key     func(Operation) string
	limit   int
	class   func(error) (classify.Class, bool)
}

// defaultEngineLimit is how many engines there are at the most.
const defaultEngineLimit = 1024

func newConfig(e *engine.Engine, caller string, opts []Option) (config, error) {
	c := config{caller: caller, limit: defaultEngineLimit}
	if e == nil {
		return c, fmt.Errorf("reprise/awsretry: %s needs an engine; this one is nil (engine.New makes one)", caller)
	}
	if _, err := e.Derive(); err != nil {
		return c, fmt.Errorf("reprise/awsretry: %s needs an engine made by engine.New; this one is the zero Engine", caller)
	}
	for i, opt := range opts {
		if opt == nil {
			return c, fmt.Errorf("reprise/awsretry: option %d of %d is nil", i+1, len(opts))
		}
		if err := opt(&c); err != nil {
			return c, err
		}
	}
	if c.shared && c.key != nil {
		return c, errors.New("reprise/awsretry: WithSharedEngine and a key of engines (WithKey, PerOperation, PerTable) exclude each other: want one engine for all, or one for each key")
	}
	return c, nil
}

// onlyApply is the error of an option that a Retryer cannot keep.
func (c *config) onlyApply(option string) error {
	if c.caller == "Apply" {
		return nil
	}
	return fmt.Errorf("reprise/awsretry: %s is for Apply: a Retryer has the one engine that it is given", option)
}

// ReplaceRetryer lets [Apply] replace a Retryer that the config already has, its
// own of an earlier Apply included. Default: that is an error.
func ReplaceRetryer() Option {
	return func(c *config) error {
		c.replace = true
		return c.onlyApply("ReplaceRetryer")
	}
}

// WithSharedEngine makes every call, of whatever service and region, pay from
// the quota of the engine that [Apply] is given, and in adaptive mode wait for
// its limiter. Unless that engine names a service, each call still has its
// service's attempts and delays. Default: an engine for each service and region.
func WithSharedEngine() Option {
	return func(c *config) error {
		c.shared = true
		return c.onlyApply("WithSharedEngine")
	}
}

// WithKey makes an engine for each service, region, and name that key gives the
// call. key is asked before the call's first attempt, by many goroutines at
// once; what it returns for one call must not depend on which attempt is made.
// Default: no name, an engine for each service and region.
func WithKey(key func(Operation) string) Option {
	return func(c *config) error {
		if key == nil {
			return errors.New("reprise/awsretry: WithKey(nil): want a function; leave the option out for an engine for each service and region")
		}
		c.key = key
		return c.onlyApply("WithKey")
	}
}

// PerOperation is [WithKey] by the operation's name.
func PerOperation() Option { return WithKey(func(op Operation) string { return op.Name }) }

// PerTable is [WithKey] by the one table that the call's input names (see
// [Operation.Table]); calls that name none, or several, have the service's
// engine.
func PerTable() Option { return WithKey(Operation.Table) }

// WithEngineLimit sets how many engines there are at the most, 1 and up. What
// happens beyond it is engine.Group's rule: engines that have nothing to
// remember make room, and a call that finds none is made once and not retried.
// Default: 1024.
func WithEngineLimit(n int) Option {
	return func(c *config) error {
		if n < 1 {
			return fmt.Errorf("reprise/awsretry: WithEngineLimit(%d): want 1 engine or more", n)
		}
		c.limit = n
		return c.onlyApply("WithEngineLimit")
	}
}

// WithClass asks class first what a failed attempt means; where it says ok the
// class stands, else the engine's classifier decides (R3). It is where one
// service's error means more than its code says, such as DynamoDB's
// TransactionCanceledException, which is worth a retry only if its reasons are.
// It is not asked about a call that the caller has given up, but that
// [NewRetryer] cannot tell a caller's deadline from an attempt's own. What is no
// class of package classify does not count. It must be safe for use by many
// goroutines. Default: none.
func WithClass(class func(err error) (class classify.Class, ok bool)) Option {
	return func(c *config) error {
		if class == nil {
			return errors.New("reprise/awsretry: WithClass(nil): want a function; leave the option out for the engine's classifier alone")
		}
		c.class = class
		return nil
	}
}
