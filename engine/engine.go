package engine

import (
	"errors"

	"github.com/reprise-go/reprise/atomicbucket"
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/fastbackoff"
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
// lock, and is immutable but for its counters and its quota. Make one with
// [New] and keep it as long as the client: the quota is what it has learned. A
// nil or zero Engine panics in [Engine.Begin], before anything was sent.
type Engine struct {
	policy *policy
	quota  *atomicbucket.Bucket // own, or that of the engine it was derived from
	counts *counters            // likewise
	begin  callFlags            // of a call's first attempt
}

// state is what an engine owns and its derived engines share.
type state struct {
	quota  atomicbucket.Bucket
	counts counters
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
	own := new(state)
	if err := own.quota.Init(uint32(p.quota.Capacity)); err != nil {
		return nil, err
	}
	own.quota.TryTake(uint32(p.quota.Capacity - c.tokensOr(p.quota.Capacity)))
	return newEngine(p, &own.quota, &own.counts), nil
}

// Derive returns an engine that shares e's quota and counts and is otherwise e
// changed by the options: for calls that need other attempts, another schedule
// or another classifier and must still pay from the same quota (R6.2). Options
// that change what is shared (WithMode, WithQuota, WithTokens) are an error.
func (e *Engine) Derive(opts ...Option) (*Engine, error) {
	if e == nil || e.policy == nil {
		return nil, errors.New("reprise/engine: Derive on a nil or zero *Engine: make one with New")
	}
	c := e.policy.config
	c.derived = true
	if err := c.apply(opts); err != nil {
		return nil, err
	}
	p, err := c.policy()
	if err != nil {
		return nil, err
	}
	return newEngine(p, e.quota, e.counts), nil
}

func newEngine(p *policy, quota *atomicbucket.Bucket, counts *counters) *Engine {
	e := &Engine{policy: p, quota: quota, counts: counts, begin: live}
	if p.config.pacing {
		e.begin |= longPoll
	}
	if p.observer.Success != nil {
		e.begin |= observed
	}
	return e
}

// Begin starts a call. It panics if e is nil or was not made by [New], and only
// then. Wait-free, allocates nothing, reads no clock.
func (e *Engine) Begin() Call {
	if e == nil || e.begin == 0 {
		panicNoEngine()
	}
	return Call{engine: e, attempt: 1, flags: e.begin}
}

// BeginLongPoll starts a call of a long-polling operation: if the quota refuses
// its retry, the normal backoff is waited before the error is returned (R7).
// Otherwise it is [Engine.Begin].
func (e *Engine) BeginLongPoll() Call {
	if e == nil || e.begin == 0 {
		panicNoEngine()
	}
	return Call{engine: e, attempt: 1, flags: e.begin | longPoll}
}

//go:noinline
func panicNoEngine() {
	panic("reprise/engine: a call needs an engine made by New; this *Engine is nil or zero")
}

// Mode returns the engine's mode.
func (e *Engine) Mode() Mode { return e.policy.mode }

// Service returns the service id given with [WithService], or "".
func (e *Engine) Service() string { return e.policy.config.service }

// MaxAttempts returns the most attempts of a call, the first included (R1.1).
func (e *Engine) MaxAttempts() int { return int(e.policy.attempts) }

// Schedule returns the schedule of the delays (R4).
func (e *Engine) Schedule() fastbackoff.Schedule { return e.policy.schedule }

// Quota returns the capacity and costs of the retry quota (R6). Its level is in
// [Engine.Stats].
func (e *Engine) Quota() Quota { return e.policy.quota }

// Classifier returns the classifier (R3). It is never nil.
func (e *Engine) Classifier() *classify.Classifier { return e.policy.classifier }
