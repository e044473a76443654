package engine

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"

	"github.com/reprise-go/reprise/internal/atomic"
	"github.com/reprise-go/reprise/internal/mono"
	"github.com/reprise-go/reprise/internal/pad"
)

// Group is an engine per key, made on first use, and at most as many as its
// limit: for a client of many upstreams, tenants or operations that must not pay
// for each other's failures (R6.2). Make one with [NewGroup] or [NewGroupFunc];
// the zero Group gives every key one attempt and no retry. It is safe for use by
// many goroutines, holds no lock of its own, and must not be copied.
//
// # At the limit
//
// A key that comes when the group is full gets the place of another that has not
// been looked up for 10 s and whose engine equals a new one: its quota is full,
// and in adaptive mode nothing was throttled. If there is none, the place of one
// that has not been looked up for 5 minutes, whatever its quota. If there is none
// either, [Group.For] returns the overflow engine: one attempt, never a retry,
// never a delay, and so nobody's quota. GroupStats counts each of these; many
// Overflowed want a larger limit.
//
// The search for a place looks at 64 engines at the most, the next ones in a
// ring, and in doing so finds out which are in use: their times count from there.
// So a peer that invents keys makes no request dear and takes no engine that was
// looked up in the last 10 s. What it can do is to keep new keys from getting
// one, for as long as it goes on and, if its keys fail, 5 minutes more.
//
// When several come for one new key at once, each takes a place until one of them
// has made the engine. So where few places are left some of them may get the
// overflow engine, that once.
//
// A key whose engine was dropped begins anew: with a full quota, with counts at
// zero, and without what the old engine was told by [Engine.Reconfigure]. Calls
// that are under way go on with the old engine, pay from it and give back to it,
// so no token is lost. Each new beginning mints at most one capacity: what the old
// quota lacked, and what calls under way, begun at least 10 s ago, still take from
// it. That is at most one capacity in 10 s for a key whose quota is full when it
// is dropped, and in 5 minutes for one whose quota is not, as while retries are
// out.
//
// # Memory
//
// In standard mode less than 512 bytes a key, short string and map included, in a
// group of a million; in adaptive mode less than 4 KiB. Settings are shared by all
// keys with the same template.
type Group[K comparable] struct {
	counts groupCounts // leads: 64-bit words
	slots  slots
	_      [pad.CacheLine]byte // behind it is what look-ups read

	// members is *member by key: what is found there and not gone is the key's
	// engine.
	members atomic.Map
	// odd: a key may be such that no map can hold it.
	odd bool
	// text: keys are strings.
	text bool

	template func(key K) *Engine
	// overlay is what Reconfigure has said.
	//
	// Invariant: never nil but in the zero Group.
	// Writers:   Reconfigure CASes in one computed from the one it loaded; a lost
	//            CAS means that another Reconfigure succeeded, and it computes
	//            afresh.
	// Ordering:  a member is in the map before its maker, or whoever finds it not
	//            referenced, loads the overlay; Reconfigure publishes the overlay
	//            before it goes over the map: one sees the other.
	overlay atomic.Pointer[overlay]
	// overflow is for keys that have no engine; nil in the zero Group.
	overflow *Engine
	// anchor is where the sweeps' time begins: the first of them sets it, once.
	anchor atomic.Pointer[mono.Anchor]
}

// noRetries is the engine of keys that have none, in the zero Group.
var noRetries = newLastResort(config{})

// newLastResort returns an engine whose calls have one attempt, whatever
// Reconfigure or Derive say, with what is left of the settings in c.
func newLastResort(c config) *Engine {
	p, err := config{
		last:       true,
		service:    c.service,
		classifier: c.classifier,
		observer:   c.observer,
		source:     c.source,
		clock:      c.clock,
	}.policy()
	if err != nil {
		panic(err) // nothing in it can be wrong
	}
	own, e := new(state), new(Engine)
	e.begins(p, &own.quota, &own.counts)
	return e
}

// NewGroup returns an empty group whose engines copy the settings of template as
// they are when an engine is made; the template's quota, limiter and counts stay
// its own. A nil or zero template is an error, as is a limit outside of 1 to
// 67,108,864 engines.
func NewGroup[K comparable](template *Engine, limit int) (*Group[K], error) {
	if template == nil || !template.made() {
		return nil, errors.New("reprise/engine: NewGroup with a nil or zero template: make one with New")
	}
	return newGroup(func(K) *Engine { return template }, newLastResort(template.policy.Load().config), limit)
}

// NewGroupFunc is [NewGroup] with settings that differ by key: template says
// which engine's settings the key's engine copies. nil, or a zero Engine, means
// that calls of this key are not retried; so does a panic, which is counted. It
// is asked where a key has no engine, and by [Group.Reconfigure]; it may be
// called by many goroutines at once, must not wait for the group, and should
// return one of a few engines that are kept: keys with the same template share
// the settings' memory. All templates should have the same [Clock].
func NewGroupFunc[K comparable](template func(key K) *Engine, limit int) (*Group[K], error) {
	if template == nil {
		return nil, errors.New("reprise/engine: NewGroupFunc with a nil template func: want one that returns an engine for a key")
	}
	return newGroup(template, newLastResort(config{}), limit)
}

func newGroup[K comparable](template func(K) *Engine, overflow *Engine, limit int) (*Group[K], error) {
	if limit < 1 || limit > maxLimit {
		return nil, fmt.Errorf("reprise/engine: limit of a Group is %d: want 1 to %d engines", limit, maxLimit)
	}
	kind := reflect.TypeFor[K]()
	g := &Group[K]{
		template: template,
		overflow: overflow,
		odd:      holdsInterface(kind),
		text:     kind.Kind() == reflect.String,
	}
	g.slots.init(limit)
	g.overlay.Store(&overlay{generation: 1})
	return g, nil
}

// holdsInterface reports whether a value of a comparable type may hold one that
// is not.
func holdsInterface(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Array:
		return holdsInterface(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if holdsInterface(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}

// For returns the engine of a key, made now if the key has none. It is never
// nil, and For never panics, unless the template's Clock does.
//
// Keep the engine for a call, not for longer: an engine that was dropped goes on
// working for whoever holds it, but no longer is the key's.
//
// The engine of a key in use is one look-up in a sync.Map and one load: it never
// blocks, allocates nothing, writes nothing and reads no clock. The first look-up
// after a search has passed by, which happens at most once a second, writes one
// word. Making an engine may block for a moment on the locks that sync.Map has in
// its nodes; it reads the template's clock if the group is full, and in adaptive
// mode.
//
// The group keeps the key as long as the engine. A string is copied first, so it
// may lie in a buffer that is used again; strings inside of a struct are not.
// Keys that no map can hold, or finds again (a slice in an interface, NaN), get
// the overflow engine.
func (g *Group[K]) For(key K) *Engine {
	if g != nil && !g.odd {
		if v, ok := g.members.Load(key); ok {
			if m := v.(*member); m.mark.Load()&stateBits == referenced {
				return &m.engine
			}
		}
	}
	return g.forSlow(key)
}

//go:noinline
func (g *Group[K]) forSlow(key K) *Engine {
	if g == nil || g.template == nil {
		return noRetries
	}
	if !keyed(key) {
		g.counts.unkeyed.Inc()
		return g.overflow
	}
	for {
		if v, ok := g.members.Load(key); ok {
			m := v.(*member)
			g.settle(m)
			if m.touch() {
				return &m.engine
			}
			g.members.CompareAndDelete(key, m) // as whoever made it gone is about to
		}
		if e := g.make(key); e != nil {
			return e
		}
	}
}

// keyed reports whether a map finds key again: NaN is not equal to itself, and
// to compare what cannot be compared is a panic.
func keyed[K comparable](key K) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	same := key
	return key == same
}

// make makes the engine of a key that has none, or returns the overflow engine;
// nil if another was quicker.
func (g *Group[K]) make(key K) *Engine {
	o := g.overlay.Load() // before the template's settings: who sees this one again has missed nothing
	t := g.ask(key)
	if t == nil {
		return g.overflow
	}
	p := o.policy(recipeOf(nil, t))
	slot, ok := g.place(p)
	if !ok {
		if _, made := g.members.Load(key); made {
			return nil // another has made it in the last place
		}
		g.counts.overflowed.Inc()
		return g.overflow
	}
	kept := false
	defer func() {
		if !kept {
			g.slots.free(slot)
		}
	}()
	m := newMember(g.own(key), p)
	if _, loaded := g.members.LoadOrStore(m.key, m); loaded {
		return nil
	}
	kept = true
	g.counts.enter(g.slots.limit)
	g.slots.put(slot, m)
	g.settle(m)
	m.touch()
	return &m.engine
}

// own returns the key as the map keeps it: a string is copied, since the caller's
// may be a part of a large one, or of a buffer that is used again.
func (g *Group[K]) own(key K) any {
	if g.text {
		v := reflect.ValueOf(&key).Elem()
		v.SetString(strings.Clone(v.String()))
	}
	return key
}

// ask returns the template of a key; nil means that it is not retried.
func (g *Group[K]) ask(key K) (t *Engine) {
	defer func() {
		if recover() != nil {
			g.counts.panics.Inc()
			t = nil
		}
	}()
	if t = g.template(key); t != nil && t.made() {
		return t
	}
	return nil
}

// place takes a slot, that of a retired engine if need be.
func (g *Group[K]) place(p *policy) (slot int, ok bool) {
	if slot, ok = g.slots.take(); ok {
		return slot, true
	}
	m, slot, equal := g.slots.retire(g.nanos(p.clock))
	if m == nil {
		return 0, false
	}
	g.members.CompareAndDelete(m.key, m)
	g.slots.put(slot, nil)
	g.counts.leave(equal)
	return slot, true
}

// nanos is the sweeps' present.
func (g *Group[K]) nanos(clock Clock) int64 {
	now := clock.Now()
	anchor := g.anchor.Load()
	if anchor == nil {
		at := mono.At(now)
		g.anchor.CompareAndSwap(nil, &at)
		anchor = g.anchor.Load()
	}
	return anchor.Nanos(now)
}

// settle gives m's engine the settings that the group has now.
func (g *Group[K]) settle(m *member) {
	g.follow(&m.engine, func() *Engine {
		key, _ := m.key.(K) // not ok is a nil interface, which is the zero K
		return g.ask(key)
	})
}

// follow is settle for an engine whose template is what ask returns. When several
// do it at once the newest overlay wins, because each loads the policy that it
// replaces before the overlay. It ends: a lost CAS, or another generation, means
// that another Reconfigure succeeded.
func (g *Group[K]) follow(e *Engine, ask func() *Engine) {
	for {
		old := e.policy.Load()
		o := g.overlay.Load()
		if old.config.group == o.generation {
			return
		}
		p := o.policy(recipeOf(old, ask()))
		if e.policy.CompareAndSwap(old, p) {
			_ = e.fitCapacity(p) // the policy has made sure that it fits
		}
	}
}

// Reconfigure changes the settings of all engines of the group, those that it
// will make included, as [Engine.Reconfigure] does of one: no token is lost or
// minted, an option that it does not take is an error, and an error changes
// nothing. What several calls say adds up; the templates stay what they are.
//
// Each engine takes its template's settings as they are now, as far as they can
// be changed while calls are under way, with the group's on top: so Reconfigure
// without options makes the engines follow templates that were changed, and what
// an engine was told by itself is gone. A key whose template says so is not
// retried from then on.
//
// Whoever asks for an engine after Reconfigure has returned gets the new
// settings. It takes as long as there are engines. Lock-free; reads no clock.
func (g *Group[K]) Reconfigure(opts ...Option) error {
	if g == nil || g.template == nil {
		return errors.New("reprise/engine: Reconfigure on a nil or zero *Group: make one with NewGroup")
	}
	for {
		old := g.overlay.Load()
		next, err := old.changed(opts)
		if err != nil {
			return err
		}
		if g.overlay.CompareAndSwap(old, next) {
			break
		}
	}
	g.follow(g.overflow, func() *Engine { return nil })
	g.members.Range(func(_, v any) bool {
		g.settle(v.(*member))
		return true
	})
	return nil
}

// Len returns how many engines the group holds now, 0 to its limit. Wait-free.
func (g *Group[K]) Len() int { return int(g.counts.engines.Load()) }

// All yields the keys that have an engine and their engines, in no order and at
// no one instant, for metrics. It does not count as a look-up. Lock-free.
func (g *Group[K]) All() iter.Seq2[K, *Engine] {
	return func(yield func(K, *Engine) bool) {
		g.members.Range(func(_, v any) bool {
			m := v.(*member)
			if m.mark.Load()&stateBits == gone {
				return true
			}
			key, _ := m.key.(K)
			return yield(key, &m.engine)
		})
	}
}
