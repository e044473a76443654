package ratelimit_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/ratelimit"
)

// model is R8 as RETRY.md writes it: one thread, float64 rates and levels.
// Instants are nanoseconds since the whole second before the limiter began, and
// only their differences become seconds: a float64 of seconds could not tell a
// nanosecond from the next after a few months.
type model struct {
	fill, capacity, level    float64
	enabled                  bool
	measured, count, lastMax float64
	kept                     float64 // by the last cut, of the rate before it
	lastBucket               int64   // half seconds
	start, run               int64   // of the limiter; of the traffic that is going on
	held                     bool    // a throttle has waited for the rate of that
	lastThrottle, lastRefill int64
}

func newModel(now int64) *model {
	return &model{kept: 0.7, start: now, run: now, lastBucket: 2 * (now / 1e9), lastThrottle: now, lastRefill: now}
}

func span(from, to int64) float64 { return float64(to-from) / 1e9 }

func (m *model) refill(now int64) {
	m.level = math.Min(m.capacity, m.level+span(m.lastRefill, now)*m.fill)
	m.lastRefill = now
}

// acquire is R8.1: 0, or the seconds to wait.
func (m *model) acquire(now int64) (wait float64) {
	if !m.enabled {
		return 0
	}
	m.refill(now)
	if m.level >= 1 {
		m.level--
		return 0
	}
	return (1 - m.level) / m.fill
}

// update is R8.2.
func (m *model) update(throttled bool, now int64) {
	m.measure(now)
	m.respond(throttled, now, 0.7)
}

// coalesce is ours, of a throttle: R8.2 but for what [ratelimit.Limiter.ThrottleAt]
// says.
func (m *model) coalesce(now, admitted, window int64) (cut bool) {
	m.measure(now)
	switch {
	case m.enabled && admitted < m.lastThrottle && now-m.lastThrottle < window:
		return false
	case !m.enabled && m.lastBucket*halfSecond-m.run < halfSecond:
		m.held = true
		return false
	}
	m.respond(true, now, 0.85)
	if m.fill > 0.5 {
		m.level = 0
	}
	return true
}

func (m *model) measure(now int64) {
	b := now / 5e8
	m.count++
	if b > m.lastBucket {
		if b-max(m.lastBucket, m.start/halfSecond) > 1 && !m.held { // a whole half second had no response
			m.run = now
		}
		rate := m.count / (float64(b-m.lastBucket) / 2)
		m.measured = 0.8*rate + 0.2*m.measured
		m.count, m.lastBucket = 0, b
	}
}

func (m *model) respond(throttled bool, now int64, keep float64) {
	var calc float64
	if throttled {
		r := m.measured
		if m.enabled {
			r = math.Min(m.measured, m.fill)
		}
		m.lastMax = r
		m.lastThrottle = now
		m.enabled = true
		m.kept = keep
		calc = keep * r
	} else {
		k := math.Cbrt((1 - m.kept) * m.lastMax / 0.4)
		calc = 0.4*math.Pow(span(m.lastThrottle, now)-k, 3) + m.lastMax
	}
	rate := math.Min(calc, 2*m.measured)
	m.refill(now)
	m.fill = math.Max(rate, 0.5)
	m.capacity = math.Max(rate, 1)
	m.level = math.Min(m.level, m.capacity)
}

// pair drives a limiter and its model side by side, in nanoseconds after a
// start that lies phase into a second.
type pair struct {
	t     testing.TB
	l     *ratelimit.Limiter
	m     *model
	phase int64
}

func newPair(t testing.TB, phase int64) *pair {
	return &pair{t: t, l: ratelimit.New(epoch.Add(time.Duration(phase))), m: newModel(phase), phase: phase}
}

func (p *pair) at(now int64) time.Time {
	return epoch.Add(time.Duration(p.phase + now))
}

// near is equality to 1e-9 relative, or absolute below 1.
func near(want, got float64) bool {
	return math.Abs(want-got) <= 1e-9*math.Max(1, math.Abs(want))
}

func (p *pair) acquire(now int64) time.Duration {
	wait := p.l.AcquireNanos(now)
	want := p.m.acquire(p.phase + now)
	if (wait == 0) != (want == 0) || math.Abs(wait.Seconds()-want) > 1e-7+1e-9*want {
		require.FailNow(p.t, "admission differs", "at %v: wait %v, model %v s, level %v", time.Duration(now), wait, want, p.m.level)
	}
	return wait
}

func (p *pair) update(now int64, throttled bool) {
	p.l.UpdateNanos(now, throttled)
	p.m.update(throttled, p.phase+now)
	p.compare(now)
}

func (p *pair) compare(now int64) {
	s := p.l.SnapshotAt(p.at(now))
	level := math.Min(p.m.capacity, p.m.level+span(p.m.lastRefill, p.phase+now)*p.m.fill)
	if s.Enabled != p.m.enabled || !near(p.m.fill, s.FillRate) || !near(p.m.measured, s.MeasuredRate) ||
		!near(p.m.capacity, s.Capacity) || !near(level, s.Level) ||
		!near(span(p.m.lastThrottle, p.phase+now), s.SinceThrottle.Seconds()) {
		require.FailNow(p.t, "state differs", "at %v: %+v\nmodel %+v", time.Duration(now), s, *p.m)
	}
}

// gap draws a pause: most often one about as long as a token takes, otherwise
// anything from 0.1 ms to 10 min.
func gap(r *rand.Rand, busy float64) int64 {
	if r.Float64() < busy {
		return int64(1e5 + r.Float64()*1e8*math.Pow(r.Float64(), 6))
	}
	return int64(1e5 * math.Exp(r.Float64()*math.Log(6e6)))
}

// README's promise: rates and admissions equal the model step for step.
func TestModelRandomHistories(t *testing.T) {
	histories, steps := 100, 30_000
	if testing.Short() {
		histories, steps = 100, 3_000
	}
	var mu sync.Mutex
	admitted, refused, throttles := 0, 0, 0
	t.Run("all", func(t *testing.T) {
		for seed := range histories {
			t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(uint64(seed), 8))
				p := newPair(t, r.Int64N(1e9))
				busy := []float64{0, 0.5, 0.9, 0.99, 0.9999}[seed%5]
				bad := []float64{0.0005, 0.02, 0.3}[seed%3]
				now, yes, no, cuts := int64(0), 0, 0, 0
				for range steps {
					wait := p.acquire(now)
					switch {
					case wait == 0:
						yes++
					default:
						no++
					}
					if wait == 0 || r.IntN(4) == 0 { // responses to older attempts come too
						now += r.Int64N(2e6)
						throttled := r.Float64() < bad
						if throttled {
							cuts++
						}
						p.update(now, throttled)
					}
					if wait > 0 && wait < time.Hour && r.IntN(2) == 0 {
						now += int64(wait) + 1e5 + r.Int64N(1e6) // as told and a little more
						if p.acquire(now) == 0 {
							yes++
						}
					}
					now += gap(r, busy)
				}
				mu.Lock()
				defer mu.Unlock()
				admitted, refused, throttles = admitted+yes, refused+no, throttles+cuts
			})
		}
	})
	t.Logf("%d admitted, %d refused, %d throttles", admitted, refused, throttles)
	assert.Greater(t, refused, histories*steps/50, "histories that test refusals")
	assert.Greater(t, throttles, histories*steps/100)
}

// So they do when a line is months old and was used to its end: what is left of
// it is the difference of two large numbers.
func TestModelOldLines(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 9))
		p := newPair(t, r.Int64N(1e9))
		now := int64(0)
		for range 1 + 100*seed { // from a slow rate to a fast one
			now += r.Int64N(1e6)
			p.update(now, false)
		}
		now += int64(time.Second)
		p.update(now, true)
		for range 40 {
			now += r.Int64N(int64(1e16 / p.m.fill))
			for p.acquire(now) == 0 {
			}
			for range 20 {
				now += 1000 + r.Int64N(1e6)
				p.acquire(now)
				p.compare(now)
			}
			if r.IntN(8) == 0 {
				p.update(now, r.IntN(2) == 0)
			}
		}
	}
}

// A wait that was told is neither too short nor, by two nanoseconds, too long: R8.1's (1 - level)/fill.
func TestWaitIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := newPair(t, 0)
	now := int64(0)
	for range 20_000 {
		now += gap(r, 0.99)
		wait := p.l.AcquireNanos(now)
		if wait > 2 {
			require.NotZero(t, p.l.AcquireNanos(now+int64(wait)-2), "at %d, 2 ns early", now)
			require.Zero(t, p.l.AcquireNanos(now+int64(wait)), "at %d after %v", now, wait)
			now += int64(wait)
		}
		p.l.UpdateNanos(now, r.IntN(20) == 0)
	}
}

// A token that lacks one tick, a quarter of a nanotoken, is none (R8.1): at 31
// ticks a nanosecond half a token lacks just that after 64516129 ns.
func TestAlmostATokenIsNone(t *testing.T) {
	for name, ask := range map[string]func(l *ratelimit.Limiter) func(nowNanos int64) time.Duration{
		"an attempt": func(l *ratelimit.Limiter) func(int64) time.Duration { return l.AcquireNanos },
		"a place in the line": func(l *ratelimit.Limiter) func(int64) time.Duration {
			w := l.Wait()
			return func(now int64) time.Duration {
				wait, _ := w.AdmitNanos(now)
				return wait
			}
		},
		"a batch": func(l *ratelimit.Limiter) func(int64) time.Duration {
			return func(now int64) time.Duration {
				wait, err := l.TryAdmitAt(epoch.Add(time.Duration(now)), 1)
				require.NoError(t, err)
				return wait
			}
		},
	} {
		at := ask(ratelimit.WithRate(epoch, 7.75))
		assert.EqualValues(t, 1, at(64516129), name)
		assert.Zero(t, at(64516130), name)
	}
}

// So it is for one that asks after years in which nothing was heard, when a
// float64 no longer tells one nanosecond from the next.
func TestWaitIsEnoughAfterYears(t *testing.T) {
	for k := range int64(500) {
		l := ratelimit.New(epoch)
		l.UpdateNanos(1e6, false)
		l.UpdateNanos(2e9+k, true)
		now := (300+k)*24*int64(time.Hour) + k*7919
		require.Zero(t, l.AcquireNanos(now))
		wait := l.AcquireNanos(now)
		require.NotZero(t, wait)
		require.Zero(t, l.AcquireNanos(now+int64(wait)), "after %v at %d", wait, now)
	}
}

// A page ends before the tokens taken from it outgrow their bits, and nothing
// else shows it: the model does not know pages.
func TestModelAcrossPages(t *testing.T) {
	p := newPair(t, 0)
	now := int64(0)
	for range 200_000 { // 400,000/s
		now += 2500
		p.l.UpdateNanos(now, false)
		p.m.update(false, now)
	}
	now = halfSecond
	p.update(now, true)
	pages := map[any]bool{}
	for range 100 {
		now += int64(40 * time.Second) // 18 million tokens, nearly all spilled
		for range 100 {
			require.Zero(t, p.acquire(now))
		}
		p.compare(now)
		pages[ratelimit.Page(p.l)] = true
	}
	assert.Greater(t, len(pages), 2)
}
