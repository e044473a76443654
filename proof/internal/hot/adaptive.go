package hot

import (
	"context"
	"sync"
	"time"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// adaptive is calls in adaptive mode whose first attempt succeeds.
func adaptive() []Path {
	return []Path{
		// At a high rate most successes are only counted.
		{Name: "adaptive/throttled=never", Over: Bare, Rare: true, Make: sampled},
		{Name: "adaptive/throttled=never/rate=low", Over: Bare, Make: admitting(engine.WithMode(engine.Adaptive))},
		{Name: "adaptive/throttled=never/now=given", Over: Bare, Make: func() func(int) {
			return newRamp().loop(0)
		}},
		// The rate is twice what was measured, as it is for whoever is not at the limit: a success changes nothing.
		{Name: "adaptive/throttled=long-ago/now=given", Over: Bare, Make: func() func(int) {
			r := newRamp()
			r.halfSecond(100, true)
			r.now += 2 * time.Minute
			for r.e.Stats().Limiter.FillRate < 1<<16 {
				r.halfSecond(1<<20, false)
			}
			r.now += time.Second
			r.halfSecond(1, false)
			return r.loop(0)
		}},
		// The rate grows with every success.
		{Name: "adaptive/throttled=lately/now=given", Over: Bare, Make: func() func(int) {
			r := newRamp()
			r.halfSecond(1<<14, false)
			r.halfSecond(1<<14, true)
			r.now += 50 * time.Millisecond // some tokens, and all before the half second's end
			return r.loop(time.Second / 20_000)
		}},
	}
}

// busy is an engine at a high rate for more than a second, so that its limiter has
// measured it and leaves most successes uncounted by the clock until the half
// second ends.
var busy = sync.OnceValue(func() *engine.Engine {
	e := made(engine.New(engine.WithMode(engine.Adaptive)))
	for range 120 {
		spend(e, 1000)
		time.Sleep(10 * time.Millisecond)
	}
	return e
})

// sampled keeps it busy: the half second in which the loop runs may be another.
func sampled() func(int) {
	e := busy()
	spend(e, 20_000)
	return admitLoop(e)
}

// ramp is an adaptive engine and how far its time has come since it was made.
type ramp struct {
	e   *engine.Engine
	now time.Duration
}

func newRamp() *ramp {
	return &ramp{e: made(engine.New(engine.WithMode(engine.Adaptive), engine.WithClock(still{})))}
}

// halfSecond is at most so many calls in the next half second, as far as the
// limiter lets them be; the last is throttled, or none.
func (r *ramp) halfSecond(calls int, throttled bool) {
	r.now += time.Second / 2
	now := epoch.Add(r.now)
	for i := range calls {
		c := r.e.Begin()
		if c.AdmitAt(now) != 0 {
			return
		}
		if throttled && i == calls-1 {
			c.FailAt(now, engine.Outcome{Class: classify.Throttling})
			c.Abandon()
			return
		}
		c.SucceedAt(now)
	}
}

// loop is calls from now on, a step apart.
//
//go:noinline
func (r *ramp) loop(step time.Duration) func(int) {
	ctx := context.Background()
	return func(n int) {
		now := epoch.Add(r.now)
		for range n {
			c := r.e.Begin()
			if c.AdmitAt(now) != 0 {
				panic("delayed")
			}
			if _, err := op(ctx); err != nil {
				panic(err)
			}
			c.SucceedAt(now)
			now = now.Add(step)
		}
		r.now = now.Sub(epoch)
	}
}
