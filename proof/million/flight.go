package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

const (
	tick         = 5 * time.Millisecond
	wheelSlots   = 1 << 13 // 41 s, longer than any delay of R5
	maxCallBytes = 128
	capacity     = 1 << 30 // so large that no credit is ever dropped: the sum is exact
)

var epoch = time.Unix(1_800_000_000, 0)

// handClock is moved from outside; nobody sleeps on it.
type handClock struct{ nanos atomic.Int64 }

func (c *handClock) Now() time.Time { return epoch.Add(time.Duration(c.nanos.Load())) }

func (*handClock) Sleep(context.Context, time.Duration, <-chan struct{}) {}

// flight is one call in flight.
type flight struct {
	call engine.Call
	next int32 // in the same slot of the wheel, +1; 0 is the end
	cost uint8 // tokens that its latest retry took
	sent bool  // an answer is awaited; else it waits to be sent
}

// tally is what the callers themselves have seen. tokens is what they have given less what they have taken.
type tally struct {
	tokens                                         int64
	begun, admitted, successes, recoveries, unsent int64
	cancelled, panics, polls                       int64
	retries                                        [3]int64
	stops                                          [8]int64
	late                                           int64 // successes in the last ten seconds before closing
	early                                          int64 // and in those before the outage
}

func (t *tally) add(o *tally) {
	t.tokens += o.tokens
	t.begun += o.begun
	t.admitted += o.admitted
	t.successes += o.successes
	t.recoveries += o.recoveries
	t.unsent += o.unsent
	t.cancelled += o.cancelled
	t.panics += o.panics
	t.polls += o.polls
	t.late += o.late
	t.early += o.early
	for i, n := range o.retries {
		t.retries[i] += n
	}
	for i, n := range o.stops {
		t.stops[i] += n
	}
}

// pilot is one processor's share of the flights, in a timer wheel of its own.
type pilot struct {
	tally
	engine  *engine.Engine
	weather *weather
	rng     *rand.Rand
	flights []flight
	wheel   [wheelSlots]int32
	now     time.Duration
	live    int
}

// course is how long things take.
func course(calls int, mode engine.Mode) *weather {
	w := &weather{outage: 15 * time.Second, recovery: 25 * time.Second, well: 35 * time.Second, sent: 10 * time.Second}
	if mode == engine.Adaptive {
		w.sent = 2 * time.Second // the limiter counts answers: the sooner they come, the sooner it has recovered
	}
	rate := float64(calls) / w.sent.Seconds()
	w.room = rate / 3
	w.closing = w.well + 25*time.Second
	if mode == engine.Adaptive {
		w.closing += time.Duration(1.3 * math.Cbrt(rate/0.4) * float64(time.Second)) // R8.2's cubic
	}
	return w
}

// fly has calls in flight at once until closing, each followed by the next, and then until the last has ended.
func fly(out io.Writer, calls int, mode engine.Mode) error {
	start := time.Now()
	before := heapBytes()
	var hookPanics atomic.Uint64
	var clock handClock
	tokens := calls / 3
	e, err := engine.New(
		engine.WithMode(mode), engine.WithQuota(engine.Quota{Capacity: capacity}), engine.WithTokens(tokens),
		engine.WithClock(&clock),
		engine.WithObserver(engine.Observer{Retry: func(event engine.RetryEvent) {
			if event.QuotaLeft%1000 == 0 {
				hookPanics.Inc()
				panic("a hook of the million's")
			}
		}}))
	if err != nil {
		return err
	}
	sky := course(calls, mode)
	pilots := make([]*pilot, runtime.GOMAXPROCS(0))
	for i := range pilots {
		share := calls / len(pilots)
		if i == 0 {
			share += calls % len(pilots)
		}
		pilots[i] = newPilot(e, sky, share, uint64(i))
	}
	bytes := float64(heapBytes()-before) / float64(calls)

	sum := func() (all tally, live int) {
		for _, p := range pilots {
			all.add(&p.tally)
			live += p.live
		}
		return all, live
	}
	var bound rateBound
	lowest, now := tokens, time.Duration(0)
	for live := calls; live > 0; {
		now += tick
		clock.nanos.Store(int64(now))
		sky.served.Store(0)
		var all sync.WaitGroup
		for _, p := range pilots {
			all.Go(func() { p.advance(now) })
		}
		all.Wait()
		var seen tally
		seen, live = sum()
		if now < sky.closing && live != calls {
			return fmt.Errorf("%v: %d calls in flight", now, live)
		}
		lowest = min(lowest, e.Stats().QuotaLevel)
		if mode == engine.Adaptive {
			if err := bound.look(now, e.Stats().Limiter, seen.admitted); err != nil {
				return err
			}
		}
		if now > time.Hour {
			return fmt.Errorf("%d calls never end", live)
		}
	}
	all, _ := sum()
	s := e.Stats()
	fmt.Fprintf(out, "%v: %d calls in flight at once for %v of virtual time on %d processors, the last ended at %v\n",
		mode, calls, sky.closing.Round(time.Second), len(pilots), now)
	fmt.Fprintf(out, "  %.1f bytes per call; %d calls, %d attempts, %d successes, %d recoveries, %d cancelled, %d panics, %d hook panics\n",
		bytes, all.begun, all.admitted, all.successes, all.recoveries, all.cancelled, all.panics, s.HookPanics)
	fmt.Fprintf(out, "  quota: began at %d, lowest %d, ended at %d, by the callers' sum %d; retries %d transient, %d throttling, %d unsent; %d refused\n",
		tokens, lowest, s.QuotaLevel, int64(tokens)+all.tokens, all.retries[1], all.retries[2], all.unsent, all.stops[engine.ReasonQuota])
	if mode == engine.Adaptive {
		fmt.Fprintf(out, "  limiter: %d admitted since the first throttle, R8 allows %.0f; refused and asked again %d times\n",
			all.admitted-bound.admitted, bound.allowed, all.polls)
	}
	fmt.Fprintf(out, "  %.0f successes/s before the outage, %.0f/s in the last ten seconds; %v of wall time, %s\n",
		float64(all.early)/10, float64(all.late)/10, time.Since(start).Round(time.Millisecond), memory())

	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	want(int64(s.QuotaLevel) == int64(tokens)+all.tokens, "the quota holds %d tokens and must hold %d", s.QuotaLevel, int64(tokens)+all.tokens)
	want(s.TransientRetries == uint64(all.retries[1]) && s.ThrottlingRetries == uint64(all.retries[2]), "retries %d, %d; counted %v", s.TransientRetries, s.ThrottlingRetries, all.retries)
	want(s.UnsentRetries == uint64(all.unsent), "unsent %d, counted %d", s.UnsentRetries, all.unsent)
	want(s.Recoveries == uint64(all.recoveries), "recoveries %d, counted %d", s.Recoveries, all.recoveries)
	want(s.HookPanics == hookPanics.Load(), "hook panics %d, counted %d", s.HookPanics, hookPanics.Load())
	for reason, n := range s.Stops {
		want(n == uint64(all.stops[reason]), "stops for %v: %d, counted %d", engine.Reason(reason), n, all.stops[reason])
	}
	want(bytes <= maxCallBytes, "%.1f bytes per call, want at most %d", bytes, maxCallBytes)
	want(lowest < 14, "the quota never ran out: lowest %d", lowest)
	want(all.late*10 >= all.early*9, "not recovered: %d successes before the outage, %d at the end", all.early, all.late)
	return errors.Join(errs...)
}

func newPilot(e *engine.Engine, sky *weather, share int, seed uint64) *pilot {
	p := &pilot{engine: e, weather: sky, rng: rand.New(rand.NewPCG(seed, 20)), flights: make([]flight, share), live: share}
	for i := range p.flights {
		p.begin(int32(i))
		p.after(int32(i), time.Duration(p.rng.Int64N(int64(sky.sent))))
	}
	return p
}

func (p *pilot) begin(i int32) {
	f := &p.flights[i]
	f.cost, f.sent = 0, false
	if p.begun++; p.begun%16 == 0 {
		f.call = p.engine.BeginLongPoll()
	} else {
		f.call = p.engine.Begin()
	}
}

// after puts a flight into the wheel, at least one tick away.
func (p *pilot) after(i int32, d time.Duration) {
	ticks := min(max((d+tick-1)/tick, 1), wheelSlots-1)
	slot := &p.wheel[(p.now/tick+ticks)%wheelSlots]
	p.flights[i].next = *slot
	*slot = i + 1
}

// advance does all that is due.
func (p *pilot) advance(now time.Duration) {
	p.now = now
	slot := &p.wheel[now/tick%wheelSlots]
	due := *slot
	*slot = 0
	for due != 0 {
		i := due - 1
		due = p.flights[i].next
		if p.flights[i].sent {
			p.answered(i)
		} else {
			p.send(i)
		}
	}
}

func (p *pilot) send(i int32) {
	f := &p.flights[i]
	if p.rng.IntN(300) == 0 {
		p.giveUp(f)
		p.end(i)
		return
	}
	if wait := f.call.AdmitAt(epoch.Add(p.now)); wait > 0 {
		p.polls++
		p.after(i, min(wait, time.Second)+time.Duration(p.rng.Int64N(int64(4*time.Second)))) // so that not all ask at once
		return
	}
	p.admitted++
	f.sent = true
	p.after(i, time.Duration(p.rng.Int64N(2*int64(p.weather.sent))))
}

// giveUp abandons a call; one whose retry was not sent gets its tokens back (R6.3).
func (p *pilot) giveUp(f *flight) {
	if !f.sent && f.cost > 0 {
		p.tokens += int64(f.cost)
		p.unsent++
	}
	f.call.Abandon()
	p.cancelled++
	p.stops[engine.ReasonCancelled]++
}

func (p *pilot) answered(i int32) {
	f := &p.flights[i]
	switch p.rng.IntN(1000) {
	case 0, 1, 2:
		p.giveUp(f)
		p.end(i)
		return
	case 3:
		p.blowUp(f)
		p.end(i)
		return
	}
	now := epoch.Add(p.now)
	o := p.weather.answer(p.now, tick, p.rng)
	if o == nil {
		f.call.SucceedAt(now)
		p.succeeded(f)
		p.end(i)
		return
	}
	if p.rng.IntN(50) == 0 {
		o.Deadline = now.Add(time.Duration(p.rng.Int64N(int64(time.Second))))
	}
	d := f.call.FailAt(now, *o)
	if d.Reason != engine.ReasonRetry {
		p.stops[d.Reason]++
		p.end(i)
		return
	}
	f.cost, f.sent = uint8(costs[o.Class]), false
	p.tokens -= costs[o.Class]
	p.retries[o.Class]++
	p.after(i, d.Delay)
}

func (p *pilot) succeeded(f *flight) {
	p.successes++
	switch {
	case p.now >= 5*time.Second && p.now < 15*time.Second:
		p.early++
	case p.now >= p.weather.closing-10*time.Second && p.now < p.weather.closing:
		p.late++
	}
	if f.cost == 0 {
		p.tokens++
		return
	}
	p.tokens += int64(f.cost)
	p.recoveries++
}

// blowUp is an attempt that panics under a caller who has deferred Abandon.
func (p *pilot) blowUp(f *flight) {
	defer func() {
		if recover() != nil {
			p.panics++
			p.stops[engine.ReasonCancelled]++
		}
	}()
	defer f.call.Abandon()
	panic("an attempt of the million's")
}

func (p *pilot) end(i int32) {
	if p.now >= p.weather.closing {
		p.live--
		return
	}
	p.begin(i)
	p.after(i, 0)
}

// The classes index costs and tallies.
const _ = uint(len(costs)) - uint(classify.Throttling) - 1
