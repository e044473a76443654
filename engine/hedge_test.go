package engine_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// hedge asks for a hedge that is expected to be granted.
func hedge(t *testing.T, c *engine.Call) engine.Hedge {
	t.Helper()
	h, ok := c.Hedge()
	require.True(t, ok)
	return h
}

// R6: what becomes of a hedge's tokens, by how the two attempts ended. A hedge is
// a retry: its success gives back what it took and nothing else.
func TestHedgeTokens(t *testing.T) {
	for _, row := range []struct {
		name  string
		run   func(c *engine.Call)
		level int // of 500, of which 100 are gone at first
	}{
		{"the first attempt won", func(c *engine.Call) { hedge(t, c); c.Succeed() }, 400 - 14 + 1},
		{"the hedge won", func(c *engine.Call) { c.Adopt(hedge(t, c)); c.Succeed() }, 400},
		{"both failed, the retry won", func(c *engine.Call) {
			h := hedge(t, c)
			c.FailBeside(engine.Hedge{}, transient)
			c.Adopt(h)
			c.Fail(throttling)
			c.Admit()
			c.Succeed()
		}, 400 - 14},
		{"the hedge failed, the first attempt won", func(c *engine.Call) {
			c.FailBeside(hedge(t, c), transient)
			c.Succeed()
		}, 400 - 14 + 1},
		{"a retry won over its hedge", func(c *engine.Call) { c.Fail(throttling); c.Admit(); hedge(t, c); c.Succeed() }, 400 - 14},
		{"the hedge won over a retry", func(c *engine.Call) { c.Fail(throttling); c.Admit(); c.Adopt(hedge(t, c)); c.Succeed() }, 400 - 5},
		{"both failed, the retry was never sent", func(c *engine.Call) { hedge(t, c); c.Fail(throttling); c.Abandon() }, 400 - 14},
		{"the hedge's answer is final (R6.4)", func(c *engine.Call) { c.Adopt(hedge(t, c)); c.Fail(final) }, 400 - 14},
		{"given up while both were under way", func(c *engine.Call) { hedge(t, c); c.Abandon() }, 400 - 14},
	} {
		e := newEngine(t, engine.WithMaxAttempts(4), engine.WithTokens(400))
		c := e.Begin()
		c.Admit()
		row.run(&c)
		assert.Equal(t, row.level, level(e), row.name)
		assert.EqualValues(t, 1, e.Stats().Hedges, row.name)
	}
}

// A hedge is an attempt: it counts against MaxAttempts, and the backoff's
// exponent counts it too (R4.1).
func TestHedgeIsAnAttempt(t *testing.T) {
	var stops []engine.StopEvent
	var hedges []engine.HedgeEvent
	e := newEngine(t, engine.WithObserver(engine.Observer{
		Hedge: func(ev engine.HedgeEvent) { hedges = append(hedges, ev) },
		Stop:  func(ev engine.StopEvent) { stops = append(stops, ev) },
	}))
	c := e.Begin()
	c.Admit()
	h := hedge(t, &c)
	assert.Equal(t, 2, h.Attempt())
	assert.Zero(t, engine.Hedge{}.Attempt())
	d := c.Fail(transient)
	assert.Equal(t, engine.Decision{Reason: engine.ReasonRetry, Delay: 100*ms - near}, d)
	_, ok := c.Hedge()
	assert.False(t, ok)
	c.Admit()
	_, ok = c.Hedge()
	assert.False(t, ok, "the third attempt is the last")
	assert.Equal(t, engine.ReasonMaxAttempts, c.Fail(transient).Reason)
	_, ok = c.Hedge()
	assert.False(t, ok, "the call is over")
	assert.Equal(t, []engine.HedgeEvent{{Attempt: 2, Cost: 14, QuotaLeft: 486}}, hedges)
	assert.Equal(t, 3, stops[0].Attempts)
	assert.Equal(t, 500-28, level(e))

	_, ok = new(engine.Call).Hedge()
	assert.False(t, ok)

	c = newEngine(t, engine.WithMaxAttempts(9)).Begin()
	c.Admit()
	c.Fail(transient)
	_, ok = c.Hedge()
	assert.False(t, ok, "nothing is under way")
}

// Peer fault 22: a quota that refuses the hedge leaves the call as it is.
func TestHedgeRefusedByTheQuota(t *testing.T) {
	e := newEngine(t, engine.WithTokens(13))
	c := e.Begin()
	c.Admit()
	_, ok := c.Hedge()
	assert.False(t, ok)
	assert.Equal(t, 1, c.Attempts())
	c.Succeed()
	assert.Equal(t, 14, level(e), "the first attempt's token")
	assert.Zero(t, e.Stats().Hedges)
	assert.Zero(t, e.Stats().Stops)

	legacy := newEngine(t, engine.WithMode(engine.Legacy), engine.WithTokens(0))
	c = legacy.Begin()
	hedge(t, &c) // R1.4: no quota
}

// A stale hedge, a zero one and one of a call that has ended are nobody's.
func TestAdoptIgnoresStrangers(t *testing.T) {
	e := newEngine(t, engine.WithMaxAttempts(9), engine.WithTokens(400))
	c := e.Begin()
	c.Admit()
	h := hedge(t, &c)
	c.Fail(throttling) // both failed
	c.Adopt(h)         // granted, and not the hedge
	c.Admit()
	c.Adopt(h)
	c.Adopt(engine.Hedge{})
	c.Succeed()
	assert.Equal(t, 400-14, level(e), "the retry's 5 came back")
	c.Adopt(h)
	c.FailBeside(h, transient)
	c.Succeed()
	assert.Equal(t, 400-14, level(e))
}

// R8.1, R6.3: in adaptive mode a hedge needs the limiter's leave and does not
// wait for it; one that is not let go gives its tokens back. R2.2: the limiter
// hears of both answers.
func TestHedgeInAdaptiveMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := adaptive(t)
		throttled(t, e)
		quota := level(e)
		c := e.Begin()
		require.Equal(t, engine.ReasonRetry, c.AdmitWait(t.Context()).Reason)
		start := time.Now()
		_, ok := c.Hedge()
		assert.False(t, ok, "the limiter's token is taken")
		assert.Zero(t, time.Since(start))
		assert.Equal(t, quota, level(e))
		assert.Equal(t, 1, c.Attempts())
		pass(10 * time.Second)
		h := hedge(t, &c)
		assert.Equal(t, quota-14, level(e))

		before := e.Stats().Limiter
		c.FailBeside(engine.Hedge{}, throttling)
		assert.Less(t, e.Stats().Limiter.FillRate, before.FillRate+1e-9)
		assert.Zero(t, e.Stats().Limiter.SinceThrottle)
		pass(time.Second)
		c.FailBeside(h, transient)
		assert.Equal(t, time.Second, e.Stats().Limiter.SinceThrottle)
		c.Adopt(h)
		c.Succeed()
		assert.Equal(t, quota, level(e))
	})
}

// What coalescing asks of a hedge is when the hedge was admitted, and of the attempt
// beside it when that was.
func TestCoalescingKnowsWhenAHedgeWasAdmitted(t *testing.T) {
	for name, row := range map[string]struct {
		fail func(c *engine.Call, h engine.Hedge)
		cuts bool
	}{
		"the first, beside":  {func(c *engine.Call, _ engine.Hedge) { c.FailBeside(engine.Hedge{}, throttling) }, false},
		"the hedge, beside":  {func(c *engine.Call, h engine.Hedge) { c.FailBeside(h, throttling) }, true},
		"the first, as both": {func(c *engine.Call, _ engine.Hedge) { c.Fail(throttling) }, false},
		"the hedge, adopted": {func(c *engine.Call, h engine.Hedge) { c.Adopt(h); c.Fail(throttling) }, true},
	} {
		clock := &fakeClock{now: time.Unix(100, 0)}
		e := adaptive(t, engine.WithClock(clock), engine.WithMaxAttempts(2), engine.WithThrottleCoalescing(time.Hour))
		for range 4000 { // 1,000/s
			clock.now = clock.now.Add(ms)
			c := e.Begin()
			c.SucceedAt(clock.now)
		}
		c, first := e.Begin(), e.Begin()
		c.Admit()
		first.Admit()
		clock.now = clock.now.Add(ms)
		first.Fail(throttling)
		cut := e.Stats().Limiter.FillRate
		clock.now = clock.now.Add(100 * ms)
		h := hedge(t, &c)
		clock.now = clock.now.Add(ms)
		row.fail(&c, h)
		if row.cuts {
			cut *= 0.85
		}
		assert.InDelta(t, cut, e.Stats().Limiter.FillRate, 1e-9, name)
	}
}

// Peer fault 127: a hook that panics changes nothing; one that ends the goroutine
// leaves no token behind, as its hedge was never sent (R6.3).
func TestHedgeHook(t *testing.T) {
	e := newEngine(t, engine.WithObserver(engine.Observer{Hedge: func(engine.HedgeEvent) { panic("odd") }}))
	c := e.Begin()
	c.Admit()
	hedge(t, &c)
	assert.EqualValues(t, 1, e.Stats().HookPanics)

	e = newEngine(t, engine.WithObserver(engine.Observer{Hedge: func(engine.HedgeEvent) { runtime.Goexit() }}))
	done := make(chan struct{})
	go func() {
		defer close(done)
		c := e.Begin()
		defer c.Abandon()
		c.Admit()
		_, _ = c.Hedge()
	}()
	<-done
	assert.Equal(t, 500, level(e))
	assert.EqualValues(t, 1, e.Stats().UnsentRetries)
}

// Random calls with hedges agree with a plain count, token for token.
func TestHedgesAgainstModel(t *testing.T) {
	const attempts = 5
	rng := rand.New(rand.NewPCG(7, 1))
	e := newEngine(t, engine.WithMaxAttempts(attempts))
	want := 500
	give := func(n int) { want = min(500, want+n) }
	for range 50_000 {
		c := e.Begin()
		c.Admit()
		attempt, paid := 1, 1 // what a success gives
		for over := false; !over; {
			var h engine.Hedge
			if rng.IntN(3) == 0 {
				var ok bool
				h, ok = c.Hedge()
				require.Equal(t, attempt < attempts && want >= 14, ok)
				if ok {
					want -= 14
					attempt++
				}
			}
			if h.Attempt() != 0 {
				switch rng.IntN(4) {
				case 0:
					c.FailBeside(h, transient)
				case 1:
					c.FailBeside(engine.Hedge{}, throttling)
					fallthrough
				case 2:
					c.Adopt(h)
					paid = 14
				}
			}
			switch class := classify.Class(rng.IntN(4)); class {
			case classify.Transient, classify.Throttling:
				cost := map[classify.Class]int{classify.Transient: 14, classify.Throttling: 5}[class]
				granted := attempt < attempts && want >= cost
				require.Equal(t, granted, c.Fail(engine.Outcome{Class: class}).Reason == engine.ReasonRetry)
				if over = !granted; granted {
					want -= cost
					attempt++
					paid = cost
					if rng.IntN(8) == 0 {
						c.Abandon()
						give(cost)
						over = true
					}
					c.Admit()
				}
			case classify.NonRetryable:
				c.Fail(engine.Outcome{})
				over = true
			default:
				c.Succeed()
				give(paid)
				over = true
			}
			require.Equal(t, want, level(e))
		}
	}
}

// Hedges of many goroutines at once: what all of them take, all of them that win
// give back.
func TestHedgesConserveTokens(t *testing.T) {
	calls := 20_000
	if testing.Short() {
		calls = 2_000
	}
	e := newEngine(t, engine.WithTokens(300))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range calls {
				c := e.Begin()
				c.Admit()
				if h, ok := c.Hedge(); ok {
					c.Adopt(h)
					c.Succeed()
				}
			}
		})
	}
	wg.Wait()
	assert.Equal(t, 300, level(e))
	assert.Equal(t, e.Stats().Hedges, e.Stats().Recoveries)
}

// What a hedge does for whoever makes the attempts.
func ExampleCall_Hedge() {
	e, err := engine.New()
	if err != nil {
		panic(err)
	}
	c := e.Begin()
	c.Admit()
	// The first attempt is under way and takes long.
	if h, ok := c.Hedge(); ok {
		// The hedge is sent, and answers first; the first attempt is cancelled.
		c.Adopt(h)
	}
	c.Succeed()
	fmt.Println(c.Attempts(), e.Stats().QuotaLevel)
	// Output: 2 500
}
