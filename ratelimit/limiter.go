package ratelimit

import (
	"errors"
	"fmt"
	"time"

	"github.com/reprise-go/reprise/internal/atomic"
	"github.com/reprise-go/reprise/internal/invariant"
	"github.com/reprise-go/reprise/internal/mono"
	"github.com/reprise-go/reprise/internal/pad"
	"github.com/reprise-go/reprise/internal/stripe"
)

// ErrCost says that a cost can never be paid: it is below 1 or above the
// capacity.
var ErrCost = errors.New("reprise/ratelimit: cost out of range")

// Limiter is R8's adaptive send limiter. Make one with [New]; the zero Limiter
// admits everything and ignores every response. It must not be copied.
type Limiter struct {
	// queue leads, and what follows it keeps its offsets even, because its words
	// and the gate's must lie on 8-byte borders on 32-bit machines too.
	queue queue
	_     [pad.CacheLine]byte

	gate  gate
	quiet quiet
	// current is the page that holds the state; nil in the zero Limiter.
	//
	// Invariant: once set, never nil; a page that was left never comes back.
	// Writers:   succeed, by one CAS from the frozen page to its successor; a lost
	//            CAS means that another operation's successor is there.
	// Ordering:  publishes the page's first slot.
	current atomic.Pointer[page]
	_       [pad.CacheLine]byte

	anchor mono.Anchor
	// phaseNanos is how far into a Unix second the anchor lies, 0..1e9-1 (R8.4).
	phaseNanos int64
	counts     stripe.Counter
}

// New returns a limiter that begins at now: nothing measured, nothing throttled,
// everything admitted (R8). The half-second buckets are laid on now's Unix time,
// once; after that only the monotonic time since now counts (R8.4).
//
// Give it time.Now(), or a virtual clock's instant if every later instant comes
// from that clock too.
func New(now time.Time) *Limiter {
	l := &Limiter{
		anchor:     mono.At(now),
		phaseNanos: int64(now.Nanosecond()),
		counts:     stripe.New(),
	}
	l.queue.init()
	l.quiet.withdraw(0)
	l.current.Store(newPage(snapshot{run: l.beginsAt(0)}, 0))
	return l
}

// Nanos returns the nanoseconds from the instant given to [New] to t: what the
// methods whose names end in Nanos take. Convert once when one instant goes to
// several of them. Reads no clock.
func (l *Limiter) Nanos(t time.Time) int64 {
	return l.anchor.Nanos(t)
}

// Now returns [Limiter.Nanos] of this instant, from the monotonic clock alone:
// about half the price of time.Now.
func (l *Limiter) Now() int64 {
	return l.anchor.Now()
}

// Enabled reports whether a throttle was seen, so that attempts are limited from
// then on (R8.3). Before, every attempt is admitted at any time. One load.
func (l *Limiter) Enabled() bool {
	return l.gate.enabled()
}

// Acquire is [Limiter.AcquireAt] at this instant. It reads the clock only once
// a throttle has been seen.
func (l *Limiter) Acquire() (wait time.Duration) {
	if !l.gate.enabled() {
		return 0
	}
	return l.AcquireNanos(l.anchor.Now())
}

// AcquireAt asks to send one attempt (R8.1). 0 admits it, and its token is
// taken; otherwise nothing is taken and the attempt must not be sent: the answer
// is the time after which to ask again, at least 1 ns. Before the first throttle
// everything is admitted, by one load.
//
// While others wait their turn ([Limiter.Wait]) an attempt that does not is
// admitted only out of tokens that they leave over, and the answer counts them
// in.
//
// Lock-free: a failed CAS means that another operation succeeded. Never blocks,
// reads no clock; a refusal stores nothing. A now before one that was already
// seen counts as the later one, and mints nothing.
func (l *Limiter) AcquireAt(now time.Time) (wait time.Duration) {
	if !l.gate.enabled() {
		return 0
	}
	return l.AcquireNanos(l.anchor.Nanos(now))
}

// AcquireNanos is [Limiter.AcquireAt] for a count of nanoseconds.
func (l *Limiter) AcquireNanos(nowNanos int64) (wait time.Duration) {
	if !l.gate.enabled() {
		return 0
	}
	// What take does, for one token and nobody waiting. It ends as take does: a
	// word that has changed is another operation's success.
	for {
		p := l.current.Load()
		word := p.word.Load()
		s := p.guessed(word)
		at, fill := s.at.Load(), rate(s.rate.Load())
		reach(betweenLoads)
		nanos := uint64(max(nowNanos-at, 0)) // an instant before at counts as at
		if nanos >= s.span.Load() || word&frozenBit != 0 || l.queue.waiting.Load() != 0 {
			return l.acquireSlow(nowNanos)
		}
		room := s.topTicks.Load() + fill.made(nanos) - int64(word&usedMask)
		level := min(room, s.capacityTicks.Load()) // the rest is spilled
		if level < ticksPerToken {
			if wait, ok := p.wait(word, nowNanos); ok {
				return wait
			}
			continue
		}
		reach(beforeAdmission)
		if p.word.CompareAndSwap(word, word+uint64(room-level+ticksPerToken)) {
			return 0
		}
	}
}

//go:noinline
func (l *Limiter) acquireSlow(nowNanos int64) (wait time.Duration) {
	wait, _ = l.take(nowNanos, ticksPerToken, l.queue.waiting.Load(), false)
	return wait
}

// TryAdmit is [Limiter.TryAdmitAt] at this instant. It reads the clock only once
// a throttle has been seen.
func (l *Limiter) TryAdmit(cost int) (wait time.Duration, err error) {
	if cost >= 1 && !l.gate.enabled() {
		return 0, nil
	}
	return l.TryAdmitAt(time.Now(), cost)
}

// TryAdmitAt is [Limiter.AcquireAt] for work that costs several tokens, all or
// none, such as a batch that a gateway passes on or answers 429 with the wait. A
// cost below 1 or above the capacity (when one is in force) is [ErrCost] at
// once, and changes nothing: no wait could help. Lock-free; never blocks, reads no
// clock; only the error is allocated.
func (l *Limiter) TryAdmitAt(now time.Time, cost int) (wait time.Duration, err error) {
	if cost < 1 {
		return 0, fmt.Errorf("%w: %d tokens: want at least 1", ErrCost, cost)
	}
	if !l.gate.enabled() {
		return 0, nil
	}
	costTicks := int64(min(cost, 2*maxTokens)) * ticksPerToken
	wait, ok := l.take(l.anchor.Nanos(now), costTicks, l.queue.waiting.Load(), false)
	if !ok {
		var s snapshot
		l.state(&s)
		return 0, fmt.Errorf("%w: %d tokens: want at most the capacity, %g now", ErrCost, cost, s.capacity())
	}
	return wait, nil
}

// take takes cost ticks if they are there besides a token for each of ahead
// others; a full bucket is enough for a caller that is overdue. It returns 0 if
// it took them, else the time until they may be there, and false if they never
// will, because the capacity is lower.
func (l *Limiter) take(nowNanos, cost, ahead int64, overdue bool) (wait time.Duration, ok bool) {
	nowNanos = min(max(nowNanos, 0), maxNanos)
	var s snapshot
	for {
		p, word := l.state(&s)
		if !s.enabled {
			return 0, true
		}
		if cost > s.capacityTicks {
			return 0, false
		}
		allowed, ok := s.allowed(nowNanos)
		if !ok {
			l.rebase(nowNanos)
			continue
		}
		reserve := ahead * ticksPerToken
		if overdue {
			reserve = min(reserve, s.capacityTicks-cost)
		}
		// What the bucket cannot hold is spilled, then the cost is taken.
		before := s.used(word)
		used := max(before, allowed-s.capacityTicks) + cost
		if used+reserve > allowed {
			return s.wait(nowNanos, used+ahead*ticksPerToken), true
		}
		reach(beforeAdmission)
		if word&frozenBit != 0 {
			ok = l.succeed(p, &s, used)
		} else {
			ok = p.word.CompareAndSwap(word, word+uint64(used-before))
		}
		if ok {
			if invariant.Enabled {
				invariant.Check(used <= allowed, "ratelimit: used above the allowance")
			}
			return 0, true
		}
	}
}
