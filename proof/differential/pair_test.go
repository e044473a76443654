package differential_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

const (
	delaySlack = 1  // ns; the SDK multiplies in seconds
	waitSlack  = 25 // ns; the SDK asks its limiter again each nanosecond
)

// pair is the SDK's client and ours, in step. It is the SDK's Retryer, in front of
// the real one, and the handler that the SDK's loop sends its attempts to.
type pair struct {
	aws.RetryerV2 // Standard or AdaptiveMode
	loop          *retry.Attempt
	quota         *ratelimit.TokenRateLimit
	limiter       *theirLimiter // nil in standard mode
	ours          *engine.Engine
	draws         *draws

	script *script
	seen   tally
	log    []event

	at        int // the call under way
	call      *engine.Call
	attempt   int
	step      *step
	decision  engine.Decision
	failedAt  time.Time
	raw       time.Duration // what the SDK drew, before the hint
	drawn     uint64        // its draw
	took      uint          // tokens that the SDK took for the latest retry
	granted   bool          // it did, and has not sent it
	strayed   bool          // it goes on where ours has stopped
	refused   bool          // by the limiter
	succeeded bool
	skew      time.Duration
	fill      float64 // before the latest update
}

// tally counts the differences, and what else was met, under metPrefix.
type tally map[string]int

const metPrefix = "met: "

func (y tally) met(what string) { y[metPrefix+what]++ }

func (y tally) steps() int { return y[metPrefix+"steps"] }

// event is what the SDK made of one attempt.
type event struct {
	call, step int
	outcome    string
	quota      int
	delay      time.Duration
	draw       uint64
}

// mismatch is a difference that nobody decided on.
type mismatch struct {
	call, attempt int
	what          string
}

func (m *mismatch) Error() string {
	return fmt.Sprintf("call %d, attempt %d: %s", m.call+1, m.attempt, m.what)
}

func (p *pair) fail(format string, args ...any) {
	if p.step != nil && kinds[p.step.Kind].parts && p.attempt > 0 {
		p.seen[kinds[p.step.Kind].differ]++
		panic(parted{})
	}
	panic(&mismatch{p.at, p.attempt, fmt.Sprintf(format, args...)})
}

// run plays a script. wrong are options that make the engine another one.
func run(t *testing.T, s *script, seen tally, wrong ...engine.Option) (m *mismatch, log []event) {
	synctest.Test(t, func(t *testing.T) {
		p := &pair{script: s, seen: seen, draws: setDraws(t, s.Seed)}
		defer func() {
			log = p.log
			switch r := recover().(type) {
			case nil, parted:
			case *mismatch:
				m = r
			default:
				panic(r)
			}
		}()
		pass(s.Phase)
		p.make(wrong)
		for i := range s.Calls {
			p.play(i)
		}
	})
	return m, log
}

// pass lets virtual time pass.
func pass(d time.Duration) { <-time.After(d) }

type bubbleClock struct{}

func (bubbleClock) Now() time.Time                                        { return time.Now() }
func (bubbleClock) Sleep(context.Context, time.Duration, <-chan struct{}) {}

func (p *pair) make(wrong []engine.Option) {
	s := p.script
	capacity := max(s.Capacity, 14)
	if s.Capacity < 14 {
		if _, err := engine.New(engine.WithQuota(engine.Quota{Capacity: s.Capacity})); err == nil {
			p.fail("New takes a capacity of %d", s.Capacity)
		}
		p.seen[smallCapacity]++
	}
	p.quota = ratelimit.NewTokenRateLimit(uint(capacity))
	_, _ = p.quota.GetToken(context.Background(), uint(capacity-s.Tokens))
	standard := func(o *retry.StandardOptions) {
		o.RateLimiter, o.MaxAttempts = p.quota, s.MaxAttempts
		if s.DynamoDB {
			o.BaseDelay = 25 * ms
		}
		if s.MaxAttempts == 0 {
			o.MaxAttempts = s.attempts()
		}
	}
	opts := []engine.Option{
		engine.WithQuota(engine.Quota{Capacity: capacity}), engine.WithTokens(s.Tokens),
		engine.WithSource(p.draws), engine.WithClock(bubbleClock{}),
	}
	if s.DynamoDB {
		opts = append(opts, engine.WithService("DynamoDB"))
	}
	if s.MaxAttempts < 0 {
		if _, err := engine.New(engine.WithMaxAttempts(s.MaxAttempts)); err == nil {
			p.fail("New takes %d attempts", s.MaxAttempts)
		}
		p.seen[negative]++
		opts = append(opts, engine.WithMaxAttempts(3))
	} else if s.MaxAttempts > 0 {
		opts = append(opts, engine.WithMaxAttempts(s.MaxAttempts))
	}
	if s.Adaptive {
		opts = append(opts, engine.WithMode(engine.Adaptive))
		a := retry.NewAdaptiveMode(func(o *retry.AdaptiveModeOptions) {
			o.FailOnNoAttemptTokens = s.NoWait
			o.StandardOptions = append(o.StandardOptions, standard)
		})
		p.RetryerV2, p.limiter = a, limiterOf(a)
	} else {
		p.RetryerV2 = retry.NewStandard(standard)
	}
	e, err := engine.New(append(opts, wrong...)...)
	if err != nil {
		panic(err)
	}
	p.ours = e
	p.loop = retry.NewAttemptMiddleware(p, func(request any) any { return request })
	if p.MaxAttempts() != e.MaxAttempts() {
		p.fail("attempts: SDK %d, ours %d", p.MaxAttempts(), e.MaxAttempts())
	}
}

// play runs one call through the SDK's loop, which calls the methods below.
func (p *pair) play(i int) {
	c := &p.script.Calls[i]
	pass(c.Gap)
	ctx := context.Background()
	var ours engine.Call
	if c.LongPoll {
		ctx = longPolling()
		ours = p.ours.BeginLongPoll()
	} else {
		ours = p.ours.Begin()
	}
	if c.Deadline > 0 {
		under, stop := context.WithTimeout(ctx, c.Deadline)
		defer stop()
		ctx = under
	}
	if c.Cancel > 0 {
		under, cancel := context.WithCancel(ctx)
		timer := time.AfterFunc(c.Cancel, cancel)
		defer cancel()
		defer timer.Stop()
		ctx = under
	}
	p.at, p.call, p.attempt, p.skew, p.step = i, &ours, 0, 0, nil
	p.granted, p.strayed, p.refused, p.succeeded = false, false, false, false
	_, _, err := p.loop.HandleFinalize(ctx, middleware.FinalizeInput{}, p)
	p.finish(ctx, err)
}

// GetAttemptToken is where an attempt asks to be sent: the first at once, the
// others after their delays.
func (p *pair) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	now := time.Now()
	if p.attempt > 0 {
		p.retried(now)
	}
	p.attempt++
	p.compareQuota()
	wait := p.call.AdmitAt(now)
	if p.limiter == nil {
		if wait != 0 {
			p.fail("admission: ours waits %v in standard mode", wait)
		}
		return p.RetryerV2.GetAttemptToken(ctx)
	}
	release, err := p.RetryerV2.GetAttemptToken(tick{ctx})
	waited := time.Since(now)
	switch {
	case err != nil && (wait == 0 || waited > wait+waitSlack):
		p.fail("admission: SDK %v after %v, ours waits %v", err, waited, wait)
	case err != nil:
		p.refused = true
		p.call.Abandon()
	case (waited-wait).Abs() > waitSlack || (waited == 0) != (wait == 0):
		p.fail("admission: SDK waits %v, ours %v", waited, wait)
	case wait > 0:
		p.seen.met("waits for the limiter")
		for rest := p.call.AdmitAt(time.Now()); rest > 0; rest = p.call.AdmitAt(time.Now()) {
			if rest > waitSlack {
				p.fail("admission: SDK admits after %v, ours waits %v more", waited, rest)
			}
			pass(rest)
		}
	}
	return release, err
}

// retried compares a retry of the SDK's with what ours has decided.
func (p *pair) retried(now time.Time) {
	delay := now.Sub(p.failedAt)
	p.note("retry", delay)
	if p.decision.Reason == engine.ReasonRetry {
		p.compareDelay(delay)
		return
	}
	p.excuse("retry")
	// The SDK goes on alone. What it took is put back, its attempt is answered with
	// an error that ends it, and a call of ours goes with it so that the limiters
	// stay the same.
	p.giveBack()
	p.strayed = true
	shadow := p.ours.Begin()
	p.call = &shadow
}

// HandleFinalize is the server: it answers the attempt, to the SDK and to ours.
func (p *pair) HandleFinalize(ctx context.Context, _ middleware.FinalizeInput) (
	out middleware.FinalizeOutput, metadata middleware.Metadata, err error,
) {
	p.granted = false
	p.seen.met("steps")
	if p.strayed {
		p.offBorder()
		p.call.FailAt(time.Now(), engine.Outcome{})
		return out, metadata, answered(&step{Status: 400}, &modelled{"ValidationException"})
	}
	p.step = &step{Kind: "ok"}
	if steps := p.script.Calls[p.at].Steps; p.attempt <= len(steps) {
		p.step = &steps[p.attempt-1]
	}
	sentAt := time.Now()
	if p.step.Latency > 0 {
		timer := time.NewTimer(p.step.Latency)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
	p.offBorder()
	now := time.Now()
	if make := kinds[p.step.Kind].make; ctx.Err() != nil && !p.step.Deaf {
		err = &smithy.CanceledError{Err: ctx.Err()}
	} else if make != nil {
		err = make(p.step)
	}
	if err == nil {
		p.succeeded = true
		p.call.SucceedAt(now)
		return out, metadata, nil
	}
	p.failedAt = now
	o, metadata := p.outcome(ctx, err, sentAt, now)
	p.decision = p.call.FailIn(ctx, o)
	silent := p.decision.Reason == engine.ReasonCancelled || p.decision.Reason == engine.ReasonDeadline && ctx.Err() != nil
	if p.limiter != nil && (o.Local || silent && o.Class != classify.Throttling) {
		p.seen[unheard]++
		lateWord := p.ours.Begin()
		lateWord.FailAt(now, engine.Outcome{})
	}
	return out, metadata, err
}

// outcome is what a door does: it finds out what an error means. R3.4 needs the
// SDK's types, R3.10 a client's skew; the SDK keeps it in the metadata.
func (p *pair) outcome(ctx context.Context, err error, sentAt, now time.Time) (o engine.Outcome, metadata middleware.Metadata) {
	s := p.step
	v := p.ours.Classifier().ExplainError(err)
	if s.Kind == "skew" {
		header := http.Header{}
		if s.Skew != 0 {
			header.Set("Date", now.Add(s.Skew).UTC().Format(http.TimeFormat))
		}
		_, metadata, _ = awsmiddleware.RecordResponseTiming{}.HandleDeserialize(ctx, middleware.DeserializeInput{}, response{header})
		candidate, known := classify.SkewCandidate(header.Get("Date"), false, now, now.Sub(sentAt))
		if ctx.Err() == nil || s.Deaf {
			v = p.ours.Classifier().ExplainSkewed(s.Status, s.Code, p.skew, candidate, known)
		}
		p.skew = candidate
	} else {
		p.skew = 0
	}
	o = engine.OutcomeOf(v)
	var known *modelled
	if v.Rule == classify.RuleThrottleStatus && errors.As(err, &known) {
		o.Class = classify.NonRetryable
	}
	if ctx.Err() != nil && cancelled(err) {
		o.Class, o.Cancelled = classify.NonRetryable, true
	}
	o.RetryAfter = engine.ParseRetryAfter(s.Hint)
	return o, metadata
}

// response is what RecordResponseTiming reads a Date from.
type response struct{ header http.Header }

func (r response) HandleDeserialize(context.Context, middleware.DeserializeInput) (
	out middleware.DeserializeOutput, metadata middleware.Metadata, err error,
) {
	out.RawResponse = &smithyhttp.Response{Response: &http.Response{Header: r.header}}
	return out, metadata, nil
}

func cancelled(err error) bool {
	var v interface{ CanceledError() bool }
	return errors.As(err, &v) && v.CanceledError()
}

// IsErrorRetryable comes right after the SDK has told its limiter.
func (p *pair) IsErrorRetryable(err error) bool {
	if p.limiter != nil && kinds[p.step.Kind].parts {
		p.fail("limiter: it hears of a throttle on one side") // and may not show it at once
	}
	p.compareLimiter()
	return p.RetryerV2.IsErrorRetryable(err)
}

// GetRetryToken notes what the SDK takes.
func (p *pair) GetRetryToken(ctx context.Context, err error) (func(error) error, error) {
	before := p.quota.Remaining()
	release, refusal := p.RetryerV2.GetRetryToken(ctx, err)
	if refusal == nil {
		p.took, p.granted = before-p.quota.Remaining(), true
	}
	return release, refusal
}

// RetryDelay notes what the SDK draws.
func (p *pair) RetryDelay(attempt int, err error) (time.Duration, error) {
	d, failure := p.RetryerV2.RetryDelay(attempt, err)
	p.raw = d
	p.drawn = p.draws.next
	p.draws.advance()
	return d, failure
}

func near(want, got float64) bool { return math.Abs(want-got) <= 1e-9*math.Max(1, math.Abs(want)) }
