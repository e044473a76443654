package engine

import (
	"github.com/reprise-go/reprise/internal/atomic"
)

// maxMemo bounds the policies that an overlay remembers. More are only made when
// the templates of a group are many engines that New made one by one; then each
// key's engine has a policy of its own.
const maxMemo = 256

// overlay is what the Reconfigures of a [Group] have said so far, all together.
// What it says never changes.
type overlay struct {
	// generation counts a group's overlays, from 1: an engine's policy holds that
	// of the overlay it knows. Not a pointer, which would keep every overlay that
	// ever was, each through the policies its successor remembers.
	generation uint64
	config     config // only what its said names counts

	// memo makes engines with the same settings share one policy: recipe to
	// *policy. memoised bounds it.
	memo     atomic.Map
	memoised atomic.Int32
}

// recipe is what a policy of a group's engine is made from.
type recipe struct {
	own   *policy // says what cannot be changed while calls are under way
	from  *policy // says the rest but for the quota; nil: no retries
	payer *policy // says the quota
}

// recipeOf is the recipe for an engine like t; t nil means no retries.
func recipeOf(own *policy, t *Engine) recipe {
	if t == nil {
		return recipe{own: own}
	}
	from := t.policy.Load()
	r := recipe{own: own, from: from, payer: from}
	if own == nil {
		r.own = from
	}
	if t.payer != t {
		r.payer = t.payer.policy.Load()
	}
	return r
}

// changed returns the overlay with the options on top.
func (o *overlay) changed(opts []Option) (*overlay, error) {
	next := &overlay{generation: o.generation + 1, config: o.config}
	next.config.scope = inReconfigure
	if err := next.config.apply(opts); err != nil {
		return nil, err
	}
	return next, nil
}

// policy returns the policy of a recipe under the overlay.
func (o *overlay) policy(r recipe) *policy {
	if p, ok := o.memo.Load(r); ok {
		return p.(*policy)
	}
	p := o.cook(r)
	if o.memoised.Load() >= maxMemo {
		return p
	}
	first, loaded := o.memo.LoadOrStore(r, p)
	if !loaded {
		o.memoised.Inc()
	}
	return first.(*policy)
}

func (o *overlay) cook(r recipe) *policy {
	c := r.own.config
	c.group, c.derived = o.generation, false
	if r.from != nil {
		c.maxAttempts = r.from.config.maxAttempts
		c.schedule = r.from.config.schedule
		c.classifier = r.from.config.classifier
		c.quota = r.payer.config.quota
	}
	set := &o.config
	if set.said&saidMaxAttempts != 0 {
		c.maxAttempts = set.maxAttempts
	}
	if set.said&saidQuota != 0 {
		c.quota = set.quota
	}
	if set.said&saidSchedule != 0 {
		c.schedule = set.schedule
	}
	if set.said&saidClassifier != 0 {
		c.classifier = set.classifier
	}
	if r.from == nil {
		c.maxAttempts = 1
	}
	c.tokens = min(c.tokens, c.quota.withDefaults().Capacity)
	p, err := c.policy()
	if err != nil {
		// Its parts were valid and none depends on another.
		panic("reprise/engine: settings of a group: " + err.Error())
	}
	return p
}
