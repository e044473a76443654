package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"go.uber.org/atomic"
	"go.uber.org/goleak"

	"github.com/reprise-go/reprise/engine"
)

const (
	// maxSleeperBytes is what a goroutine asleep in Do may take from the system, its stack included.
	maxSleeperBytes = 10 << 10
	cancelGroups    = 10
	outageAsleep    = 2 * time.Second
)

// spoken is an error of the server's: what the classifier looks at are its methods.
type spoken struct {
	status     int
	code       string
	retryAfter time.Duration
}

func (e *spoken) Error() string             { return fmt.Sprint(e.status, " ", e.code) }
func (e *spoken) HTTPStatusCode() int       { return e.status }
func (e *spoken) ErrorCode() string         { return e.code }
func (e *spoken) RetryAfter() time.Duration { return e.retryAfter }

var (
	unavailable = &spoken{status: 503}
	throttled   = &spoken{status: 400, code: "SlowDown"}
	hinted      = &spoken{status: 503, retryAfter: 90 * time.Second}
	denied      = &spoken{status: 403, code: "AccessDenied"}
	errLeft     = errors.New("the caller has left")
)

// dorm is the goroutines of one run and what they have seen.
type dorm struct {
	engine *engine.Engine
	clock  *nightClock
	seed   uint64

	tokens                                         atomic.Int64
	sent, successes, recoveries, cancelled, unsent atomic.Int64
	panics, spent, final, no                       atomic.Int64
}

// sleepAll has goroutines in Do at once, all of which fail in an outage and sleep; some are cancelled in their sleep, the
// others wake, fail again or succeed, until none is left.
func sleepAll(out io.Writer, goroutines int, mode engine.Mode) error {
	start := time.Now()
	ignore := goleak.IgnoreCurrent()
	clock := newNightClock(goroutines)
	tokens := 40 * goroutines // each can have its retries; what is spent shows
	e, err := engine.New(engine.WithMode(mode), engine.WithMaxAttempts(4), engine.WithClock(clock),
		engine.WithQuota(engine.Quota{Capacity: 2 * tokens}), engine.WithTokens(tokens))
	if err != nil {
		return err
	}
	d := &dorm{engine: e, clock: clock, seed: uint64(mode)}
	groups := make([]*group, cancelGroups)
	contexts := make([]context.Context, cancelGroups)
	for i := range groups {
		groups[i] = new(group)
		ctx, cancel := context.WithCancelCause(context.WithValue(context.Background(), groupKey{}, groups[i]))
		groups[i].cancel, contexts[i] = cancel, ctx
	}
	system := systemBytes()
	var all sync.WaitGroup
	for i := range goroutines {
		ctx := context.Background()
		if i%10 == 0 { // a tenth of them belongs to a group that will be cancelled
			ctx = contexts[i/10%cancelGroups]
		}
		all.Go(func() {
			defer clock.end()
			d.one(ctx, uint64(i))
		})
	}
	clock.settle(nil)
	bytes := float64(systemBytes()-system) / float64(goroutines)
	asleepNow := clock.most
	sentBefore := d.sent.Load()
	levelAsleep := e.Stats().QuotaLevel
	taken := tokens - levelAsleep

	var bound rateBound
	look := func() error {
		if mode != engine.Adaptive {
			return nil
		}
		return bound.look(clock.now(), e.Stats().Limiter, d.sent.Load())
	}
	if err := look(); err != nil {
		return err
	}
	for _, g := range groups {
		g.cancel(errLeft)
		clock.settle(g)
	}
	refunded := e.Stats().QuotaLevel - levelAsleep
	steps := 0
	for clock.pass() {
		clock.settle(nil)
		if err := look(); err != nil {
			return err
		}
		steps++
	}
	all.Wait()
	leak := goleak.Find(ignore)
	runtime.GC()

	s := e.Stats()
	fmt.Fprintf(out, "%v: %d goroutines asleep in Do at once, %.0f bytes each; the last ended after %v of virtual time\n", mode, asleepNow, bytes, clock.now())
	fmt.Fprintf(out, "  %d attempts: %d calls succeeded, %d cancelled in their sleep, %d panicked, %d out of attempts, %d not retryable, %d otherwise\n",
		d.sent.Load(), d.successes.Load(), d.cancelled.Load(), d.panics.Load(), d.spent.Load(), d.final.Load(), d.no.Load())
	fmt.Fprintf(out, "  quota: began at %d, %d taken by those asleep, %d given back by the cancelled, ended at %d, by the callers' sum %d\n",
		tokens, taken, refunded, s.QuotaLevel, int64(tokens)+d.tokens.Load())
	if mode == engine.Adaptive {
		fmt.Fprintf(out, "  limiter: %d admitted since the first throttle, R8 allows %.0f; fill rate %.0f/s at the end\n", d.sent.Load()-bound.admitted, bound.allowed, s.Limiter.FillRate)
	}
	fmt.Fprintf(out, "  goroutines left: %v; %d instants, %v of wall time, %s\n", leak, steps, time.Since(start).Round(time.Millisecond), memory())

	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	want(asleepNow == goroutines && (mode == engine.Adaptive || sentBefore == int64(goroutines)), "%d were asleep at once after %d attempts", asleepNow, sentBefore)
	want(int64(s.QuotaLevel) == int64(tokens)+d.tokens.Load(), "the quota holds %d tokens and must hold %d", s.QuotaLevel, int64(tokens)+d.tokens.Load())
	want(s.UnsentRetries == uint64(d.unsent.Load()), "unsent retries %d, counted %d", s.UnsentRetries, d.unsent.Load())
	want((mode == engine.Adaptive || refunded > 0) && d.cancelled.Load() == int64(goroutines/10), "%d cancelled, %d tokens back", d.cancelled.Load(), refunded)
	want(s.Stops[engine.ReasonMaxAttempts] == uint64(d.spent.Load()), "out of attempts %d, counted %d", s.Stops[engine.ReasonMaxAttempts], d.spent.Load())
	want(s.Recoveries == uint64(d.recoveries.Load()), "recoveries %d, counted %d", s.Recoveries, d.recoveries.Load())
	want(d.no.Load() == 0, "%d ended in another way", d.no.Load())
	want(s.Limiter.Waiting == 0, "%d places left in line", s.Limiter.Waiting)
	want(bytes <= maxSleeperBytes, "%.0f bytes per goroutine, want at most %d", bytes, maxSleeperBytes)
	want(leak == nil, "%v", leak)
	return errors.Join(errs...)
}

// one is a call from its start to its end, as its caller sees it.
func (d *dorm) one(ctx context.Context, i uint64) {
	c := caller{dorm: d, draw: mix(i ^ d.seed<<32)}
	defer c.end()
	c.err = engine.Run(ctx, d.engine, c.op)
	c.returned = true
}

// caller keeps what R6 says it has given less what it has taken.
type caller struct {
	dorm     *dorm
	draw     uint64
	tokens   int32
	cost     int32 // of the retry that the latest failure may bring
	paid     int32 // by the latest retry
	attempts uint8
	returned bool
	err      error
}

func (c *caller) op(context.Context) error {
	d := c.dorm
	d.sent.Inc()
	c.attempts++
	if c.attempts > 1 {
		c.paid = c.cost // the retry was granted and sent
		c.tokens -= c.paid
	}
	c.draw = mix(c.draw)
	p, first, now := c.draw%1000, c.attempts == 1, d.clock.now()
	out := now < outageAsleep
	err := error(nil)
	switch {
	case out && first && p >= 900:
		err = hinted
	case out && p < 600, p < 5:
		err = unavailable
	case out && p < 950:
		err = throttled
	case p < 10:
		err = denied
	case p < 20:
		panic(errLeft)
	}
	c.cost = 14
	if err == throttled {
		c.cost = 5
	}
	return err
}

func (c *caller) end() {
	d := c.dorm
	if !c.returned {
		if recover() != errLeft {
			d.no.Inc()
		}
		d.panics.Inc()
	} else {
		switch {
		case c.err == nil:
			d.successes.Inc()
			if c.attempts == 1 {
				c.tokens++
			} else {
				c.tokens += c.paid // of the latest retry alone (R6)
				d.recoveries.Inc()
			}
		case errors.Is(c.err, engine.ErrCancelled) && errors.Is(c.err, errLeft):
			d.cancelled.Inc()
			if c.attempts > 0 { // it slept before a retry
				d.unsent.Inc()
			}
		case errors.Is(c.err, engine.ErrMaxAttempts):
			d.spent.Inc()
		case c.err == error(denied) || errors.Is(c.err, denied):
			d.final.Inc()
		default:
			d.no.Inc()
		}
	}
	d.tokens.Add(int64(c.tokens))
}

// mix is a step of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
