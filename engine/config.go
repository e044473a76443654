package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/fastbackoff"
)

// config is what the options said, before defaults.
type config struct {
	scope   scope  // what the options are for
	derived bool   // the quota and the limiter are another engine's
	last    bool   // a group's last resort: one attempt, whatever the options say
	said    said   // what Reconfigure can change and was told, in any scope
	group   uint64 // the generation of the group's overlay that these know; 0: of no group

	mode        Mode
	service     string
	maxAttempts int // 0: not said
	quota       Quota
	tokens      int
	tokensSet   bool
	schedule    fastbackoff.Schedule
	classifier  *classify.Classifier
	observer    Observer
	source      fastbackoff.Source
	clock       Clock
	pacing      bool
	coalesce    time.Duration
}

// said is a set of the settings that can be changed while calls are under way.
type said uint8

const (
	saidMaxAttempts said = 1 << iota
	saidQuota
	saidSchedule
	saidClassifier
)

// scope is where options are applied: not every option goes everywhere.
type scope uint8

const (
	inNew scope = iota
	inDerive
	inReconfigure
)

// onlyIn returns an error if the options are for a place that an option does not
// go to, or would change what a derived engine shares.
func (c *config) onlyIn(option string, where ...scope) error {
	if slices.Contains(where, c.scope) {
		return nil
	}
	if c.scope == inDerive {
		return fmt.Errorf("reprise/engine: %s: it is shared with the engine this one is derived from: set it in New", option)
	}
	return fmt.Errorf("reprise/engine: %s cannot be changed while calls are under way: set it in New", option)
}

func (c *config) apply(opts []Option) error {
	for i, opt := range opts {
		if opt == nil {
			return fmt.Errorf("reprise/engine: option %d of %d is nil", i+1, len(opts))
		}
		if err := opt(c); err != nil {
			return err
		}
	}
	return nil
}

func (c *config) tokensOr(capacity int) int {
	if c.tokensSet {
		return c.tokens
	}
	return capacity
}

// defaultJitter serves every engine that was given no source.
var defaultJitter = new(fastbackoff.Shards)

// policy fills in the defaults and checks what only shows when the options are
// together.
func (c config) policy() (*policy, error) {
	p := &policy{
		config:     c,
		mode:       c.mode,
		attempts:   3,
		schedule:   fastbackoff.Default(),
		quota:      c.quota.withDefaults(),
		observer:   c.observer,
		classifier: classify.Default,
		source:     defaultJitter,
		clock:      systemClock{},
		system:     c.clock == nil,
		coalesce:   c.coalesce,
	}
	switch {
	case c.mode == Legacy:
		p.attempts, p.schedule = 5, legacySchedule
	case isDynamoDB(c.service):
		p.attempts, p.schedule = 4, fastbackoff.DynamoDB()
	}
	if c.maxAttempts != 0 {
		p.attempts = uint32(c.maxAttempts)
	}
	if c.last {
		p.attempts = 1
	}
	if c.schedule.Transient != 0 {
		p.schedule.Transient = c.schedule.Transient
	}
	if c.schedule.Throttling != 0 {
		p.schedule.Throttling = c.schedule.Throttling
	}
	if c.schedule.Max != 0 {
		p.schedule.Max = c.schedule.Max
	}
	if c.classifier != nil {
		p.classifier = c.classifier
	}
	if c.source != nil {
		p.source = c.source
	}
	if c.clock != nil {
		p.clock = c.clock
	}
	if err := p.quota.validate(); err != nil {
		return nil, err
	}
	if c.tokensSet && c.tokens > p.quota.Capacity {
		return nil, fmt.Errorf("reprise/engine: WithTokens(%d): want 0 to the capacity, %d tokens", c.tokens, p.quota.Capacity)
	}
	if c.mode == Legacy {
		return p, nil // no quota: every retry is free (R1.4)
	}
	p.costs[classify.Transient] = uint32(p.quota.TransientCost)
	p.costs[classify.Throttling] = uint32(p.quota.ThrottlingCost)
	return p, nil
}

// legacySchedule is R1.4's: min(20 s, 1 s * 2^i) whatever the class.
var legacySchedule = fastbackoff.Schedule{Transient: time.Second, Throttling: time.Second, Max: 20 * time.Second}

// isDynamoDB reports whether a service id, however spelt, has DynamoDB's preset
// (R1.1, R4.1).
func isDynamoDB(service string) bool {
	id := unspelt.Replace(strings.ToLower(service))
	return id == "dynamodb" || id == "dynamodbstreams"
}

// unspelt takes out what service ids are spelt with or without.
var unspelt = strings.NewReplacer(" ", "", "-", "", "_", "")
