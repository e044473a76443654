package path

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/reprise-go/reprise/bench/internal/measure"
	"github.com/reprise-go/reprise/bench/internal/peer"
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/ratelimit"
)

// A limiter that is told the time learns from two seconds at five million
// responses each, and meets a throttle. Then it rests a minute and lives for a
// while at the pace of its goroutines together, as a client does that sends less
// than it may. Our engine and the mutex are brought there; the SDK's reads its own
// clock and has to live through it, see warmed.
var learnt = 200 * time.Nanosecond // less thoroughly in a test

const (
	slower = 10 // times, is the pace of a goroutine
	round  = 16 // calls for which an event loop takes the time once
)

func pace() time.Duration { return slower * learnt }

func history(procs int, answer func(now time.Time, throttled bool), now time.Time) time.Time {
	for range 2 * time.Second / learnt {
		now = now.Add(learnt)
		answer(now, false)
	}
	answer(now, true)
	now = now.Add(time.Minute)
	step := pace() / time.Duration(procs)
	for range 1200 * time.Millisecond / step {
		now = now.Add(step)
		answer(now, false)
	}
	return now
}

// clock is the time of goroutines that are told it. Each keeps its own while it
// runs and begins with the latest, so that none falls behind by more than the
// tokens of a moment.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) latest(now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.After(c.now) {
		c.now = now
	}
	return c.now
}

// enabled is an engine in adaptive mode that was throttled, and what time it is
// there.
func enabled(procs int) (*engine.Engine, time.Time) {
	e := peer.Engine(engine.WithMode(engine.Adaptive))
	return e, history(procs, func(now time.Time, throttled bool) {
		c := e.Begin()
		if throttled {
			c.FailAt(now, engine.Outcome{Class: classify.Throttling})
			return
		}
		c.SucceedAt(now)
	}, time.Now())
}

// enabledMutex is the same of the limiter behind a mutex.
func enabledMutex(procs int) (l *peer.Limiter, anchor, now time.Time) {
	l, anchor = new(peer.Limiter), time.Now()
	return l, anchor, history(procs, func(now time.Time, throttled bool) { l.Update(int64(now.Sub(anchor)), throttled) }, anchor)
}

// dry is an instant at which a limiter has no token left.
func dry(acquire func(now time.Time) time.Duration, now time.Time) time.Time {
	for acquire(now) == 0 {
	}
	return now
}

func awsAdaptive() peer.AWSTokens {
	return peer.AWSTokens{Impl: "aws-adaptive", R: peer.Adaptive(full, full)}
}

func limiters() []Path {
	off := func(name string, make func() peer.Doer) Side { return lived(call(name, make, succeeding)) }
	return []Path{
		{
			Name: "limiter-off",
			What: "A call in adaptive mode that succeeds at once; nothing was ever throttled.",
			Sides: []Side{
				off("bare", func() peer.Doer { return peer.Bare{} }),
				off("reprise", func() peer.Doer { return peer.Reprise{E: peer.Engine(engine.WithMode(engine.Adaptive))} }),
				off("reprise-call", func() peer.Doer { return peer.RepriseAdaptiveCall{E: peer.Engine(engine.WithMode(engine.Adaptive))} }),
				off("mutex", func() peer.Doer { return peer.NewMutexAdaptive() }),
				off("aws-adaptive", func() peer.Doer { return awsAdaptive() }),
			},
		},
		{
			Name: "limiter-on",
			What: "The same after a throttle: admitted by the limiter, then told of the success. reprise, mutex and aws-adaptive read the clock; reprise-call and mutex-told are told the time; reprise-limiter is the limiter without a call and its quota; x-time is an admission alone.",
			Sides: []Side{
				call("bare", func() peer.Doer { return peer.Bare{} }, succeeding),
				warmed("reprise", func() (peer.Doer, func()) {
					e := peer.Engine(engine.WithMode(engine.Adaptive))
					return peer.Reprise{E: e}, func() {
						c := e.Begin()
						c.Fail(engine.Outcome{Class: classify.Throttling})
					}
				}),
				{Impl: "reprise-call", New: func(procs int) Instance {
					e, start := enabled(procs)
					clock := &clock{now: start}
					return Instance{Loops: each(procs, func() measure.Loop {
						return func(n int) {
							now := clock.latest(start)
							for i := range n {
								if i%round == 0 {
									now = now.Add(round * pace())
								}
								c := e.Begin()
								if c.AdmitAt(now) != 0 {
									panic("not admitted")
								}
								c.SucceedAt(now)
							}
							clock.latest(now)
						}
					})}
				}},
				{Impl: "reprise-limiter", New: func(procs int) Instance {
					l, anchor := ratelimit.New(time.Now()), time.Now()
					start := history(procs, l.UpdateAt, anchor)
					clock := &clock{now: start}
					return Instance{Loops: each(procs, func() measure.Loop {
						return func(n int) {
							begun := clock.latest(start)
							now := l.Nanos(begun)
							for i := range n {
								if i%round == 0 {
									now += int64(round * pace())
								}
								if l.AcquireNanos(now) != 0 {
									panic("not admitted")
								}
								l.UpdateNanos(now, false)
							}
							clock.latest(begun.Add(time.Duration(now - l.Nanos(begun))))
						}
					})}
				}},
				warmed("mutex", func() (peer.Doer, func()) {
					m := peer.NewMutexAdaptive()
					return m, m.Throttle
				}),
				{Impl: "mutex-told", New: func(procs int) Instance {
					l, anchor, start := enabledMutex(procs)
					m, clock := peer.NewMutex(full, full), &clock{now: start}
					return Instance{Loops: each(procs, func() measure.Loop {
						return func(n int) {
							now := clock.latest(start)
							for i := range n {
								if i%round == 0 {
									now = now.Add(round * pace())
								}
								if l.Acquire(int64(now.Sub(anchor))) != 0 {
									panic("not admitted")
								}
								l.Update(int64(now.Sub(anchor)), false)
								m.Bucket.Give(1)
							}
							clock.latest(now)
						}
					})}
				}},
				warmed("aws-adaptive", func() (peer.Doer, func()) {
					a := awsAdaptive()
					return a, func() { awsThrottle(a) }
				}),
				call("x-time", func() peer.Doer { return peer.NewXTime() }, succeeding),
			},
		},
		{
			Name: "limiter-refused",
			What: "An attempt that the limiter does not admit: how long to wait is the answer, or an error.",
			Sides: []Side{
				side("reprise-call", func() measure.Loop {
					e, now := enabled(1)
					c := e.Begin()
					now = dry(c.AdmitAt, now)
					return func(n int) {
						for range n {
							c := e.Begin()
							if c.AdmitAt(now) == 0 {
								panic("admitted")
							}
						}
					}
				}),
				side("mutex", func() measure.Loop {
					l, anchor, end := enabledMutex(1)
					acquire := func(now time.Time) time.Duration { return l.Acquire(int64(now.Sub(anchor))) }
					now := dry(acquire, end)
					return func(n int) {
						for range n {
							if l.Acquire(int64(now.Sub(anchor))) == 0 {
								panic("admitted")
							}
						}
					}
				}),
				// Throttled before it has measured anything, its rate is one in two seconds.
				{Impl: "aws-adaptive", New: func(procs int) Instance {
					a, ctx := awsAdaptive(), context.Background()
					awsThrottle(a)
					loop := func(n int) {
						granted := 0
						for range n {
							if _, err := a.R.GetAttemptToken(ctx); err == nil {
								granted++
							}
						}
						if granted > 1 {
							panic("admitted")
						}
					}
					return Instance{Loops: each(procs, func() measure.Loop { return loop })}
				}},
				side("x-time", func() measure.Loop {
					l := rate.NewLimiter(1e-3, 1)
					l.Allow()
					return func(n int) {
						for range n {
							if l.Allow() {
								panic("admitted")
							}
						}
					}
				}),
			},
		},
		{
			Name: "throttle-storm",
			What: "The answer of an attempt that was sent before the limiter closed, and was throttled as all the others: classified, and the limiter told. reprise-call decides about a retry too.",
			Sides: []Side{
				side("reprise", func() measure.Loop {
					l, err := ratelimit.New(time.Now()), peer.Throttled()
					return func(n int) {
						for range n {
							l.Update(classify.Default.Error(err) == classify.Throttling)
						}
					}
				}),
				side("reprise-call", func() measure.Loop {
					e, err := peer.Engine(engine.WithMode(engine.Adaptive), engine.WithTokens(0)), peer.Throttled()
					return func(n int) {
						for range n {
							c := e.Begin()
							c.Fail(engine.OutcomeOf(e.Classifier().ExplainError(err)))
						}
					}
				}),
				side("mutex", func() measure.Loop {
					l, anchor, err := new(peer.Limiter), time.Now(), peer.Throttled()
					return func(n int) {
						for range n {
							l.Update(int64(time.Since(anchor)), classify.Default.Error(err) == classify.Throttling)
						}
					}
				}),
				side("aws-adaptive", func() measure.Loop {
					a, err := awsAdaptive(), peer.Throttled()
					release, tokenErr := a.R.GetAttemptToken(context.Background())
					if tokenErr != nil {
						panic(tokenErr)
					}
					return func(n int) {
						for range n {
							if e := release(err); e != nil {
								panic(e)
							}
						}
					}
				}),
			},
		},
	}
}
