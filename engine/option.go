package engine

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/fastbackoff"
)

// Option is one setting of an engine, read once by [New], [Engine.Derive] or
// [Engine.Reconfigure]; what does not go there is an error.
// Of two that set the same thing the later one counts.
type Option func(*config) error

// WithMode sets the mode (R1). Default: [Standard].
func WithMode(m Mode) Option {
	return func(c *config) error {
		if err := c.onlyIn("WithMode", inNew); err != nil {
			return err
		}
		if m >= modeCount {
			return fmt.Errorf("reprise/engine: WithMode(%v): want Standard, Adaptive or Legacy", m)
		}
		c.mode = m
		return nil
	}
}

// WithService names the service that is called, by its AWS service id, and so
// selects its defaults: "DynamoDB" and "DynamoDB Streams", in any case and with
// or without the blank, make 4 attempts with a transient base of 25 ms (R1.1,
// R4.1). Every other id has the general defaults. Explicit options win,
// whatever their order. Default: no service.
func WithService(id string) Option {
	return func(c *config) error {
		if err := c.onlyIn("WithService", inNew, inDerive); err != nil {
			return err
		}
		if strings.TrimSpace(id) == "" {
			return errors.New("reprise/engine: WithService: the service id is empty")
		}
		c.service = id
		return nil
	}
}

// WithMaxAttempts sets the most attempts of a call, the first included: 1
// switches retries off. Zero and below, and more than 2147483647, are an error
// (R1.3). Default: 3, for DynamoDB 4 (R1.1), in legacy mode 5 (R1.4).
func WithMaxAttempts(n int) Option {
	return func(c *config) error {
		if n < 1 || int64(n) > math.MaxInt32 {
			return fmt.Errorf("reprise/engine: WithMaxAttempts(%d): want 1 (no retries) to %d, the first attempt included", n, math.MaxInt32)
		}
		c.maxAttempts = n
		c.said |= saidMaxAttempts
		return nil
	}
}

// WithQuota sets the retry quota's capacity and costs, in tokens (R6); a field
// that is zero keeps its default, one out of [Quota]'s range is an error.
// Without effect in legacy mode, where retries are free (R1.4). Default:
// [DefaultQuota].
func WithQuota(q Quota) Option {
	return func(c *config) error {
		if err := c.onlyIn("WithQuota", inNew, inReconfigure); err != nil {
			return err
		}
		if c.derived {
			return errors.New("reprise/engine: WithQuota: the quota is shared with the engine this one is derived from: reconfigure that")
		}
		if err := q.withDefaults().validate(); err != nil {
			return err
		}
		c.quota = q
		c.said |= saidQuota
		return nil
	}
}

// WithTokens sets the level at which the quota starts, 0 to its capacity, for
// tests and for carrying a level over a restart. Default: the capacity (R6).
func WithTokens(n int) Option {
	return func(c *config) error {
		if err := c.onlyIn("WithTokens", inNew); err != nil {
			return err
		}
		if n < 0 {
			return fmt.Errorf("reprise/engine: WithTokens(%d): want 0 or more tokens", n)
		}
		c.tokens, c.tokensSet = n, true
		return nil
	}
}

// WithSchedule sets the bases and the cap of the delays (R4); a field that is
// zero keeps its default, a negative one is an error. Default:
// [fastbackoff.Default], for DynamoDB [fastbackoff.DynamoDB], in legacy mode
// 1 s for either class, at most 20 s (R1.4).
func WithSchedule(s fastbackoff.Schedule) Option {
	return func(c *config) error {
		if s.Transient < 0 || s.Throttling < 0 || s.Max < 0 {
			return fmt.Errorf("reprise/engine: WithSchedule(%+v): want durations above zero, or zero for the default", s)
		}
		c.schedule = s
		c.said |= saidSchedule
		return nil
	}
}

// WithClassifier sets what errors and responses mean (R3). Default:
// [classify.Default].
func WithClassifier(classifier *classify.Classifier) Option {
	return func(c *config) error {
		if classifier == nil {
			return errors.New("reprise/engine: WithClassifier(nil): want a classifier; leave the option out for the default")
		}
		c.classifier = classifier
		c.said |= saidClassifier
		return nil
	}
}

// WithObserver sets the hooks. Default: none.
func WithObserver(o Observer) Option {
	return func(c *config) error {
		if err := c.onlyIn("WithObserver", inNew, inDerive); err != nil {
			return err
		}
		c.observer = o
		return nil
	}
}

// WithSource sets where the jitter's draws come from. Default: a
// [fastbackoff.Shards] that all engines of the process share.
func WithSource(s fastbackoff.Source) Option {
	return func(c *config) error {
		if err := c.onlyIn("WithSource", inNew, inDerive); err != nil {
			return err
		}
		if s == nil {
			return errors.New("reprise/engine: WithSource(nil): want a source; leave the option out for the default")
		}
		c.source = s
		return nil
	}
}

// WithClock sets the clock that deadlines are compared with and waits are slept
// on, and by which adaptive mode's limiter goes. Default: the system's.
func WithClock(clock Clock) Option {
	return func(c *config) error {
		if err := c.onlyIn("WithClock", inNew, inDerive); err != nil {
			return err
		}
		if c.scope == inDerive && c.mode == Adaptive {
			return errors.New("reprise/engine: WithClock: adaptive mode's limiter goes by the clock of the engine this one is derived from: set it in New")
		}
		if clock == nil {
			return errors.New("reprise/engine: WithClock(nil): want a clock; leave the option out for the system's")
		}
		c.clock = clock
		return nil
	}
}

// WithPacing makes every call of the engine wait the normal backoff before a
// retry refused by the quota returns its error, as R7 has it for long polling.
// Callers that loop then slow down when the server is in trouble; callers that
// should fail fast should not ask for it. Ours, not on the page. Default: off.
func WithPacing() Option {
	return func(c *config) error {
		if err := c.onlyIn("WithPacing", inNew, inDerive); err != nil {
			return err
		}
		c.pacing = true
		return nil
	}
}

// WithThrottleCoalescing makes the adaptive limiter cut its rate once for a burst
// of throttles, by 15 %, and drop the tokens that it had saved up. A throttle that
// answers an attempt admitted before the last cut, and that comes within window of
// that cut, tells nothing new: it is counted and does not cut again. A minute is
// right for most: longer than any attempt takes. The first cut of all waits until
// there is a rate to cut: half a second to a second after calls begin, or begin
// again after a pause.
//
// Without this option each throttle in flight when the server begins to throttle
// cuts by 30 % (R8.2). That leaves half of the server and more idle where a round
// trip is long for the rate, and at a start under full load: see "One cut for a
// burst" in package ratelimit, with numbers.
//
// Ours, not on the page; without effect out of adaptive mode. A window of zero or
// below is an error. Default: off, every throttle cuts (R8.2).
func WithThrottleCoalescing(window time.Duration) Option {
	return func(c *config) error {
		if err := c.onlyIn("WithThrottleCoalescing", inNew, inDerive); err != nil {
			return err
		}
		if window <= 0 {
			return fmt.Errorf("reprise/engine: WithThrottleCoalescing(%v): want a window above zero; leave the option out to cut at every throttle", window)
		}
		c.coalesce = window
		return nil
	}
}
