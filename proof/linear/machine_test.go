package linear

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"
	"pgregory.net/rapid"

	"github.com/reprise-go/reprise/atomicbucket"
	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// TestMain lets rapid try more than its hundred cases, if nobody has said how many.
func TestMain(m *testing.M) {
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "rapid.checks" })
	if !said {
		_ = flag.Set("rapid.checks", strconv.Itoa(count(5000)))
	}
	m.Run()
}

// Any sequence of operations on a bucket is the model's (R6.1), also with capacities
// and counts at the ends of their ranges.
func TestBucketMachine(t *testing.T) {
	count := rapid.OneOf(rapid.Uint32Range(0, 40), rapid.Uint32Range(atomicbucket.MaxCapacity-3, atomicbucket.MaxCapacity+3), rapid.Uint32())
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.OneOf(rapid.Uint32Range(0, 40), rapid.Uint32Range(0, atomicbucket.MaxCapacity)).Draw(t, "capacity")
		b, err := atomicbucket.New(capacity)
		require.NoError(t, err)
		s := tokens{capacity, capacity}
		t.Repeat(map[string]func(*rapid.T){
			"TryTake": func(t *rapid.T) {
				n := count.Draw(t, "tokens")
				next, ok := s.take(n)
				require.Equal(t, ok, b.TryTake(n))
				s = next
			},
			"Give": func(t *rapid.T) {
				n := count.Draw(t, "tokens")
				b.Give(n)
				s = s.give(n)
			},
			"SetCapacity": func(t *rapid.T) {
				n := count.Draw(t, "capacity")
				if err := b.SetCapacity(n); n > atomicbucket.MaxCapacity {
					require.Error(t, err)
				} else {
					require.NoError(t, err)
					s = s.resize(n)
				}
			},
			"Has": func(t *rapid.T) {
				n := count.Draw(t, "tokens")
				require.Equal(t, s.level >= n, b.Has(n))
			},
			"": func(t *rapid.T) {
				level, capacity := b.Load()
				require.Equal(t, s, tokens{level, capacity})
				require.Equal(t, s, tokens{b.Level(), b.Capacity()})
				require.Equal(t, s.level == s.capacity, b.Full())
			},
		})
	})
}

// Any sequence of attempts, responses and looks on a limiter is R8's, with instants
// that are older than what was seen among them.
func TestLimiterMachine(t *testing.T) {
	// Odd lengths: rapid likes round ones, and where a level crosses a token in the very nanosecond in which a half
	// second ends, float64 and fixed point may tell the order of the two differently.
	odd := func(units int64) int64 { return 100_019 + units*1_009 }
	pause := rapid.Map(rapid.OneOf(rapid.Int64Range(0, 1e3), rapid.Int64Range(0, 1e6), rapid.Int64Range(0, 6e7)), odd)
	rapid.Check(t, func(t *rapid.T) {
		phase := odd(rapid.Int64Range(0, 990_000).Draw(t, "phase"))
		l, s, now := newReal(phase), r8{}, int64(0)
		instant := func(t *rapid.T) int64 {
			now += pause.Draw(t, "pause")
			if rapid.IntRange(0, 4).Draw(t, "stale") == 0 {
				return max(now-pause.Draw(t, "by"), 0)
			}
			return now
		}
		hear := func(t *rapid.T, throttled bool, times int) {
			at := instant(t)
			for range times {
				l.update(at, throttled)
				s.heard++
				s = s.hear(at, phase, throttled, s.heard)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"acquire": func(t *rapid.T) {
				at := instant(t)
				wait := l.acquire(at)
				next, ok := s.acquires(at, wait)
				require.True(t, ok, "at %d: %v from %+v", at, wait, s)
				s = next
			},
			"succeed":  func(t *rapid.T) { hear(t, false, rapid.IntRange(1, 40).Draw(t, "times")) },
			"throttle": func(t *rapid.T) { hear(t, true, rapid.IntRange(1, 3).Draw(t, "times")) },
			"": func(t *rapid.T) {
				if got, want := l.look(now), s.look(now); !want.near(got) {
					require.Equal(t, want, got)
				}
			},
		})
	})
}

// callModel is R2.1 and R6 for one call.
type callModel struct {
	attempt, paid    int
	unsent, longPoll bool
	over             bool
}

// quotaModel is an engine's quota and settings.
type quotaModel struct {
	tokens
	attempts, transient, throttling int
}

func (m *quotaModel) reconfigure(q engine.Quota, attempts int) {
	m.tokens = m.resize(uint32(q.Capacity))
	m.transient, m.throttling, m.attempts = q.TransientCost, q.ThrottlingCost, attempts
}

// fail is R2.1: retryable, attempts, quota, backoff.
func (m *quotaModel) fail(c *callModel, class classify.Class) engine.Reason {
	c.unsent = false
	cost := map[classify.Class]int{classify.Transient: m.transient, classify.Throttling: m.throttling}[class]
	c.over = true
	switch {
	case cost == 0:
		return engine.ReasonNonRetryable
	case c.attempt >= m.attempts:
		return engine.ReasonMaxAttempts
	case m.level < uint32(cost):
		return engine.ReasonQuota
	}
	m.level -= uint32(cost)
	c.over, c.paid, c.unsent = false, cost, true
	c.attempt++
	return engine.ReasonRetry
}

func (m *quotaModel) succeed(c *callModel) {
	back := c.paid
	if c.attempt == 1 {
		back = 1
	}
	m.tokens, c.over = m.give(uint32(back)), true
}

func (m *quotaModel) abandon(c *callModel) {
	if c.unsent {
		m.tokens = m.give(uint32(c.paid))
	}
	c.over = true
}

func drawQuota(t *rapid.T) engine.Quota {
	capacity := rapid.IntRange(1, 60).Draw(t, "capacity")
	return engine.Quota{
		Capacity:       capacity,
		TransientCost:  rapid.IntRange(1, capacity).Draw(t, "transient"),
		ThrottlingCost: rapid.IntRange(1, capacity).Draw(t, "throttling"),
	}
}

// Any sequence of steps of calls that overlap, with the settings changed in between,
// takes and gives back what R6 says, and stops for the reason of R2.1.
func TestCallMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const most = 6
		q, attempts := drawQuota(t), rapid.IntRange(1, 5).Draw(t, "attempts")
		e, err := engine.New(engine.WithQuota(q), engine.WithMaxAttempts(attempts))
		require.NoError(t, err)
		m := quotaModel{tokens: tokens{uint32(q.Capacity), uint32(q.Capacity)}}
		m.reconfigure(q, attempts)
		derived, err := e.Derive() // pays from the same quota
		require.NoError(t, err)
		var calls [most]engine.Call
		var models [most]callModel
		for i := range models {
			models[i].over = true
		}
		pick := func(t *rapid.T) (*engine.Call, *callModel) {
			i := rapid.IntRange(0, most-1).Draw(t, "call")
			if models[i].over && rapid.IntRange(0, 3).Draw(t, "after its end") != 0 {
				longPoll := rapid.Bool().Draw(t, "long poll")
				calls[i], models[i] = e.Begin(), callModel{attempt: 1, longPoll: longPoll}
				if longPoll {
					calls[i] = e.BeginLongPoll()
				}
			}
			return &calls[i], &models[i]
		}
		t.Repeat(map[string]func(*rapid.T){
			"Succeed": func(t *rapid.T) {
				c, call := pick(t)
				c.Succeed()
				if !call.over {
					m.succeed(call)
				}
			},
			"Fail": func(t *rapid.T) {
				c, call := pick(t)
				class := rapid.SampledFrom([]classify.Class{classify.NonRetryable, classify.Transient, classify.Throttling}).Draw(t, "class")
				d := c.Fail(engine.Outcome{Class: class})
				if call.over {
					require.Equal(t, engine.Decision{}, d)
					return
				}
				require.Equal(t, m.fail(call, class), d.Reason)
				if d.Reason != engine.ReasonRetry && (d.Reason != engine.ReasonQuota || !call.longPoll) {
					require.Zero(t, d.Delay)
				}
			},
			"Admit": func(t *rapid.T) {
				c, call := pick(t)
				c.Admit()
				call.unsent = false
			},
			"Abandon": func(t *rapid.T) {
				c, call := pick(t)
				c.Abandon()
				if !call.over {
					m.abandon(call)
				}
			},
			"Reconfigure": func(t *rapid.T) {
				q, attempts := drawQuota(t), rapid.IntRange(1, 5).Draw(t, "attempts")
				require.NoError(t, e.Reconfigure(engine.WithQuota(q), engine.WithMaxAttempts(attempts)))
				m.reconfigure(q, attempts)
			},
			"Reconfigure in vain": func(t *rapid.T) {
				bad := rapid.SampledFrom([]engine.Option{
					engine.WithMaxAttempts(-1), engine.WithMaxAttempts(0), engine.WithQuota(engine.Quota{Capacity: -1}),
					engine.WithQuota(engine.Quota{Capacity: 5, TransientCost: 6}), engine.WithTokens(1), nil,
				}).Draw(t, "bad")
				require.Error(t, e.Reconfigure(engine.WithMaxAttempts(5), bad), "and nothing is changed")
			},
			"": func(t *rapid.T) {
				s := e.Stats()
				require.Equal(t, m.tokens, tokens{uint32(s.QuotaLevel), uint32(s.QuotaCapacity)})
				require.Equal(t, m.attempts, e.MaxAttempts())
				require.Equal(t, engine.Quota{Capacity: int(m.capacity), TransientCost: m.transient, ThrottlingCost: m.throttling}, e.Quota())
				require.Equal(t, e.Quota(), derived.Quota())
			},
		})
	})
}

// handClock is moved by hand.
type handClock struct{ nanos atomic.Int64 }

func (c *handClock) Now() time.Time                                        { return time.Time{}.Add(time.Duration(c.nanos.Load())) }
func (c *handClock) Sleep(context.Context, time.Duration, <-chan struct{}) {}

// Any sequence of look-ups, calls, waits and Reconfigures of a group keeps its rules: at
// most as many engines as the limit; a key that was looked up in the last 10 s keeps its
// engine; each engine's quota is its own calls'; settings are the last that were said;
// and the counts add up.
func TestGroupMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		clock := new(handClock)
		q, attempts := engine.Quota{Capacity: 30, TransientCost: 14, ThrottlingCost: 5}, 3
		template, err := engine.New(engine.WithClock(clock), engine.WithQuota(q))
		require.NoError(t, err)
		g, err := engine.NewGroup[string](template, limit)
		require.NoError(t, err)

		type held struct {
			e    *engine.Engine
			m    *quotaModel
			seen int64
		}
		keys := make(map[string]held)
		ever := make(map[*engine.Engine]*quotaModel) // dropped ones too: their calls go on
		var overflow *engine.Engine
		find := func(t *rapid.T) (*engine.Engine, *quotaModel) {
			key := fmt.Sprint(rapid.IntRange(0, 2*limit+1).Draw(t, "key"))
			e, now := g.For(key), clock.nanos.Load()
			had, ok := keys[key]
			switch m, known := ever[e]; {
			case e == overflow || e.MaxAttempts() == 1 && !known:
				overflow = e
				require.False(t, ok && now-had.seen < int64(10*time.Second), "key %s had an engine %d ns ago", key, now-had.seen)
				require.Equal(t, limit, g.Len(), "only a full group overflows")
				return e, nil
			case known:
				require.Same(t, had.e, e, "an engine that was dropped, or another key's, is given to %s", key)
				keys[key] = held{e, m, now}
				return e, m
			default:
				require.False(t, ok && now-had.seen < int64(10*time.Second), "key %s had another engine %d ns ago", key, now-had.seen)
				m := &quotaModel{tokens: tokens{uint32(q.Capacity), uint32(q.Capacity)}}
				m.reconfigure(q, attempts)
				ever[e], keys[key] = m, held{e, m, now}
				return e, m
			}
		}
		lookUps := 0
		t.Repeat(map[string]func(*rapid.T){
			"For": func(t *rapid.T) { lookUps++; find(t) },
			"a call": func(t *rapid.T) {
				lookUps++
				e, m := find(t)
				call := e.Begin()
				if m == nil {
					require.NotEqual(t, engine.ReasonRetry, call.Fail(engine.Outcome{Class: classify.Transient}).Reason)
					return
				}
				c := &callModel{attempt: 1}
				for !c.over {
					switch rapid.IntRange(0, 3).Draw(t, "outcome") {
					case 0:
						call.Succeed()
						m.succeed(c)
					case 1:
						call.Abandon()
						m.abandon(c)
					case 2:
						require.Equal(t, m.fail(c, classify.Throttling), call.Fail(engine.Outcome{Class: classify.Throttling}).Reason)
						call.Admit()
						c.unsent = false
					default:
						require.Equal(t, m.fail(c, classify.Transient), call.Fail(engine.Outcome{Class: classify.Transient}).Reason)
					}
				}
			},
			"time": func(t *rapid.T) {
				clock.nanos.Add(rapid.OneOf(rapid.Int64Range(0, 3e9), rapid.Int64Range(0, 400e9)).Draw(t, "ns"))
			},
			"Reconfigure": func(t *rapid.T) {
				capacity := rapid.IntRange(14, 60).Draw(t, "capacity")
				q.Capacity, attempts = capacity, rapid.IntRange(2, 5).Draw(t, "attempts")
				require.NoError(t, g.Reconfigure(engine.WithQuota(q), engine.WithMaxAttempts(attempts)))
				for _, e := range g.All() {
					ever[e].reconfigure(q, attempts)
				}
			},
			"": func(t *rapid.T) {
				s, n := g.Stats(), 0
				for key, e := range g.All() {
					n++
					require.Same(t, keys[key].e, e, key)
					m, stats := ever[e], e.Stats()
					require.Equal(t, m.tokens, tokens{uint32(stats.QuotaLevel), uint32(stats.QuotaCapacity)}, key)
					require.Equal(t, attempts, e.MaxAttempts(), key)
					require.Equal(t, q, e.Quota(), key)
				}
				require.Equal(t, n, g.Len())
				require.Equal(t, n, s.Engines)
				require.LessOrEqual(t, n, limit)
				require.Equal(t, limit, s.Limit)
				require.EqualValues(t, len(ever), s.Made)
				require.EqualValues(t, n, s.Made-s.Dropped-s.Expired)
				require.LessOrEqual(t, s.Overflowed, uint64(lookUps))
			},
		})
	})
}
