package engine

import (
	"errors"
	"time"

	"github.com/reprise-go/reprise/atomicbucket"
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/fastbackoff"
	"github.com/reprise-go/reprise/internal/atomic"
	"github.com/reprise-go/reprise/internal/pad"
	"github.com/reprise-go/reprise/ratelimit"
)

// classCount is the number of classes, NonRetryable included.
const classCount = int(classify.Throttling) + 1

// The delays are looked up by the class of the failure.
const (
	_ = uint(fastbackoff.Transient) - uint(classify.Transient)
	_ = uint(classify.Transient) - uint(fastbackoff.Transient)
	_ = uint(fastbackoff.Throttling) - uint(classify.Throttling)
	_ = uint(classify.Throttling) - uint(fastbackoff.Throttling)
)

// Engine decides for the calls of one client whether, when and at what cost a
// failed attempt is sent again. It is safe for use by many goroutines, holds no
// lock, and is immutable but for its counters, quota and limiter, and for
// [Engine.Reconfigure]. Make one with [New] and keep it as long as the client:
// quota and limiter are what it has learned.
//
// The methods that return a part of what it was told, Mode to Classifier, are
// wait-free, allocate nothing and read no clock. A nil or zero Engine panics in
// [Engine.Begin], before anything was sent, and in those and [Engine.Stats] too;
// Derive and Reconfigure of one are an error.
type Engine struct {
	// policy is what the engine was told.
	//
	// Invariant: never nil; what it points to is immutable.
	// Writers:   Reconfigure CASes in one computed from the one it loaded; a lost
	//            CAS means that another Reconfigure succeeded, and it computes
	//            afresh. A call that is under way goes on with the new one.
	// Ordering:  publishes the policy's fields.
	policy atomic.Pointer[policy]

	quota   *atomicbucket.Bucket // own, or that of the engine it was derived from
	counts  *counters            // likewise
	limiter *ratelimit.Limiter   // likewise; nil but in adaptive mode
	payer   *Engine              // whose policy says what the quota holds and a retry costs: e, or that engine
	quick   *atomicbucket.Bucket // of a call's first attempt; nil in the zero Engine
	begin   callFlags            // of every call; zero in the zero Engine
	direct  *atomicbucket.Bucket // quick, if a first attempt needs nobody's leave; else nil
}

// state is what an engine owns and its derived engines share. The counters are
// written when an attempt has failed and never before, and lie apart from the
// quota's word and from what lies behind, so that calls which succeed at once do
// not feel them.
type state struct {
	quota  atomicbucket.Bucket
	_      [pad.CacheLine]byte
	counts counters
	_      [pad.CacheLine]byte
}

// policy is what an engine was told: immutable.
type policy struct {
	config   config // as given, for Derive
	mode     Mode
	attempts uint32             // at the most, the first included
	costs    [classCount]uint32 // tokens, by classify.Class
	schedule fastbackoff.Schedule
	quota    Quota
	observer Observer

	classifier *classify.Classifier
	source     fastbackoff.Source
	clock      Clock
	system     bool          // clock is the system's
	coalesce   time.Duration // throttles within it of a cut may not cut again
}

// changed returns the policy that the options make of p.
func (p *policy) changed(where scope, opts []Option) (*policy, error) {
	c := p.config
	c.scope, c.tokensSet = where, false // the level it started at is history
	if err := c.apply(opts); err != nil {
		return nil, err
	}
	if where == inDerive {
		c.derived = true
	}
	return c.policy()
}

// New returns an engine in standard mode with the defaults of R1.1, R4 and R6,
// changed by the options. The first option that is wrong, or does not go with
// another, is the error; it names the value and what would be right.
func New(opts ...Option) (*Engine, error) {
	var c config
	if err := c.apply(opts); err != nil {
		return nil, err
	}
	p, err := c.policy()
	if err != nil {
		return nil, err
	}
	own, e := new(state), new(Engine)
	e.begins(p, &own.quota, &own.counts)
	return e, nil
}

// Derive returns an engine that shares e's quota, limiter and counts and is
// otherwise e changed by the options: for calls that need other attempts, another
// schedule or another classifier and must still pay from the same quota (R6.2).
// Options that change what is shared (WithMode, WithQuota, WithTokens, and in
// adaptive mode WithClock) are an error. A later [Engine.Reconfigure] of one of
// the two leaves the other as it is, but for the quota: capacity and costs are
// those of the engine that New made, for all that pay from it. Reads no clock.
func (e *Engine) Derive(opts ...Option) (*Engine, error) {
	if e == nil || !e.made() {
		return nil, errors.New("reprise/engine: Derive on a nil or zero *Engine: make one with New")
	}
	p, err := e.policy.Load().changed(inDerive, opts)
	if err != nil {
		return nil, err
	}
	d := new(Engine)
	d.init(p, e.quota, e.counts, e.limiter, e.payer)
	return d, nil
}

// Reconfigure changes attempts, quota, schedule or classifier while calls are
// under way, all at once and without losing or minting a token: the level stays
// what it is, as far as a smaller capacity can hold it, and what a retry took it
// gives back, whatever retries cost by then. Other options are an error, as is
// WithQuota on a derived engine; an error changes nothing. Lock-free.
func (e *Engine) Reconfigure(opts ...Option) error {
	if e == nil || !e.made() {
		return errors.New("reprise/engine: Reconfigure on a nil or zero *Engine: make one with New")
	}
	for {
		old := e.policy.Load()
		p, err := old.changed(inReconfigure, opts)
		if err != nil {
			return err
		}
		if e.policy.CompareAndSwap(old, p) {
			return e.fitCapacity(p)
		}
	}
}

// fitCapacity makes the bucket's capacity that of p, or of the policy that has
// taken p's place: of two Reconfigures that run at once either may come here
// last, so each sets its own and then that of what stands, until it is the one
// that still stands. It ends: a policy that changed meanwhile is another
// Reconfigure's progress.
func (e *Engine) fitCapacity(p *policy) error {
	if p.config.derived {
		return nil
	}
	for {
		if err := e.quota.SetCapacity(uint32(p.quota.Capacity)); err != nil {
			return err
		}
		stands := e.policy.Load()
		if stands == p {
			return nil
		}
		p = stands
	}
}

// begins makes e an engine with a quota and counts of its own, and a limiter if
// its mode has one. Reads the clock for that alone.
func (e *Engine) begins(p *policy, quota *atomicbucket.Bucket, counts *counters) {
	capacity := p.quota.Capacity
	_ = quota.Init(uint32(capacity)) // the policy has made sure that it fits
	quota.TryTake(uint32(capacity - p.config.tokensOr(capacity)))
	var limiter *ratelimit.Limiter
	if p.mode == Adaptive {
		limiter = ratelimit.New(p.clock.Now())
	}
	e.init(p, quota, counts, limiter, e)
}

func (e *Engine) init(p *policy, quota *atomicbucket.Bucket, counts *counters, limiter *ratelimit.Limiter, payer *Engine) {
	e.quota, e.counts, e.limiter, e.payer, e.quick = quota, counts, limiter, payer, quota
	e.policy.Store(p)
	if limiter != nil {
		e.begin |= limited
		e.quick = outOfLine
	}
	if p.config.pacing {
		e.begin |= longPoll
	}
	if p.observer.Success != nil {
		e.begin |= observed
		e.quick = outOfLine
	}
	if limiter == nil {
		e.direct = e.quick
	}
}

// Begin starts a call. It panics if e is nil or was not made by [New], and only
// then. Wait-free, allocates nothing, reads no clock.
func (e *Engine) Begin() Call {
	if e == nil || e.quick == nil {
		panic(noEngine) // not by panicNoEngine: a call would cost whoever inlines this
	}
	return Call{engine: e, quick: e.quick}
}

// BeginLongPoll starts a call of a long-polling operation: if the quota refuses
// its retry, the normal backoff is waited before the error is returned (R7).
// Otherwise it is [Engine.Begin], panic and all.
func (e *Engine) BeginLongPoll() Call {
	if e == nil || e.quick == nil {
		panicNoEngine()
	}
	return Call{engine: e, quick: e.quick, flags: longPoll}
}

// made reports whether e comes from New.
func (e *Engine) made() bool { return e.quick != nil }

//go:noinline
func panicNoEngine() {
	panic(noEngine)
}

const noEngine = "reprise/engine: a call needs an engine made by New; this *Engine is nil or zero"

// Mode returns the engine's mode.
func (e *Engine) Mode() Mode { return e.policy.Load().mode }

// Service returns the service id given with [WithService], or "".
func (e *Engine) Service() string { return e.policy.Load().config.service }

// MaxAttempts returns the most attempts of a call, the first included (R1.1).
func (e *Engine) MaxAttempts() int { return int(e.policy.Load().attempts) }

// Schedule returns the schedule of the delays (R4).
func (e *Engine) Schedule() fastbackoff.Schedule { return e.policy.Load().schedule }

// Quota returns the capacity and costs of the retry quota (R6). Its level is in
// [Engine.Stats].
func (e *Engine) Quota() Quota { return e.payer.policy.Load().quota }

// cost returns the tokens that a retry after a failure of a class takes.
func (e *Engine) cost(p *policy, class classify.Class) uint32 {
	if e.payer != e {
		p = e.payer.policy.Load()
	}
	return p.costs[class]
}

// Classifier returns the classifier (R3). It is never nil.
func (e *Engine) Classifier() *classify.Classifier { return e.policy.Load().classifier }
