package ratelimit_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/ratelimit"
)

// calm is n successes a millisecond apart, from now on; it returns the last one's
// instant.
func (p *pair) calm(now int64, n int) int64 {
	for range n {
		now += 1e6
		p.update(now, false)
	}
	return now
}

// A client that was idle and then comes at full load before a service that throttles
// at once: the first cut waits as it does after New, and takes its share of the
// traffic's rate; R8.2 cuts to that over the pause and a fifth of what was before, which
// is the minimum where nothing was.
func TestFirstCutAfterAPauseKnowsARate(t *testing.T) {
	for name, before := range map[string]func(p *pair) (now int64){
		"nothing yet":             func(*pair) int64 { return 0 },
		"traffic":                 func(p *pair) int64 { return p.calm(0, 3000) },
		"traffic between pauses":  func(p *pair) int64 { return p.calm(p.calm(0, 3000)+int64(time.Hour), 700) },
		"no more than a response": func(p *pair) int64 { return p.calm(0, 1) },
	} {
		for _, pause := range []time.Duration{1100 * time.Millisecond, 10 * time.Minute} {
			for _, phase := range []int64{0, 1, 250, 499, 500, 750, 999} {
				at := fmt.Sprint(name, ", ", pause, ", phase ", phase)
				p, r8 := newPair(t, phase*1e6), newPair(t, phase*1e6)
				storm := before(p) + int64(pause)
				require.Equal(t, storm, before(r8)+int64(pause))
				r8.update(storm, true)
				assert.Less(t, r8.m.fill, 350.0, at)
				if name == "nothing yet" && pause > time.Minute {
					assert.Equal(t, 0.5, r8.m.fill, at)
				}
				now := storm
				for n := 0; !p.m.enabled; now += 1e6 { // 1,000/s, one in three throttled
					require.Zero(t, p.acquire(now))
					if n++; n%3 == 1 {
						p.throttle(now, now, time.Minute)
					} else {
						p.update(now, false)
					}
				}
				waited := now - 1e6 - storm
				assert.GreaterOrEqual(t, waited, halfSecond, at)
				assert.LessOrEqual(t, waited, 2*halfSecond+3e6, at)
				assert.Greater(t, p.m.fill, 0.85*0.8*990, at)
				assert.Less(t, p.m.fill, 0.85*1010, at)
			}
		}
	}
}

// A pause is a whole half second of the clock without a response, and no less: the
// first throttle of traffic that never paused cuts at once.
func TestWhatIsAPause(t *testing.T) {
	for _, row := range []struct {
		last, next time.Duration // response before, and after
		paused     bool
	}{
		{1400 * time.Millisecond, 1999 * time.Millisecond, false},
		{1000 * time.Millisecond, 1999 * time.Millisecond, false},
		{1400 * time.Millisecond, 2000 * time.Millisecond, true},
		{1499 * time.Millisecond, 2000 * time.Millisecond, true},
		{1499 * time.Millisecond, 2499 * time.Millisecond, true},
	} {
		p := newPair(t, 0)
		p.calm(0, 1000)
		p.update(int64(row.last), false)
		p.update(int64(row.next), false)
		assert.Equal(t, !row.paused, p.throttle(int64(row.next)+1, 0, time.Minute), "%+v", row)
	}
	// Where nothing came in a half second that began before New, nothing has paused.
	p := newPair(t, 700e6)
	p.update(299e6, false)
	p.update(300e6, false)
	p.update(799e6, false)
	assert.False(t, p.throttle(799e6+1, 0, time.Minute))
	assert.True(t, p.throttle(800e6, 0, time.Minute))
}

// The wait is granted once: a client so slow that each of its responses ends a pause
// cuts at the second throttle, a second later.
func TestFirstCutWaitsOnce(t *testing.T) {
	for _, phase := range []int64{0, 1, 250, 499, 500, 750, 999} {
		for _, gap := range []time.Duration{time.Second, 1100 * time.Millisecond, 7 * time.Second, time.Hour} {
			p := newPair(t, phase*1e6)
			first := int64(10 * gap)
			for at := int64(gap); at < first; at += int64(gap) {
				p.update(at, false)
			}
			assert.False(t, p.throttle(first, first, time.Minute), "%v", gap)
			assert.True(t, p.throttle(first+int64(gap), first, time.Minute), "%v", gap)
			// So it does where successes end the pauses.
			p = newPair(t, phase*1e6)
			p.update(first, false)
			assert.False(t, p.throttle(first+1, first, time.Minute), "%v", gap)
			p.update(first+int64(gap), false)
			assert.True(t, p.throttle(first+int64(gap)+1, first, time.Minute), "%v", gap)
		}
		// So it does where the traffic between the two was not throttled.
		p := newPair(t, phase*1e6)
		at := int64(time.Minute)
		assert.False(t, p.throttle(at, at, time.Minute))
		at = p.calm(at+int64(time.Hour), 1)
		assert.True(t, p.throttle(at, at, time.Minute))
		assert.Equal(t, 0.5, p.m.fill)
	}
}

// Rates, levels and admissions equal the model's from New to a little after the
// first cut, whatever pauses there were.
func TestModelFirstCutHistories(t *testing.T) {
	histories := 20_000
	if testing.Short() {
		histories = 2_000
	}
	var atStart, afterPause, again, cuts, anew, plain int
	for seed := range histories {
		r := rand.New(rand.NewPCG(uint64(seed), 12))
		p := newPair(t, r.Int64N(1e9))
		bad := []float64{0.02, 0.1, 0.5}[seed%3]
		plainly := []float64{0, 0, 0.1}[seed/3%3]
		busy := []float64{0, 0.5, 0.9, 0.99}[r.IntN(4)]
		now := int64(0)
		for enabled := 0; enabled < 5; {
			now += gap(r, busy)
			if r.IntN(4) == 0 {
				now += r.Int64N(2e9)
			}
			p.acquire(now)
			was := *p.m
			switch {
			case r.Float64() >= bad:
				p.update(now, false)
			case r.Float64() < plainly:
				plain++
				p.update(now, true)
			case p.throttle(now, now-r.Int64N(2e7), time.Minute):
				if cuts++; was.held && !was.enabled && (p.phase+now)/halfSecond > was.lastBucket+1 {
					anew++ // a pause that is no new run
				}
			case was.enabled:
			case was.held:
				again++
			case p.m.run > p.phase:
				afterPause++
			default:
				atStart++
			}
			if p.m.enabled {
				enabled++
			}
		}
	}
	t.Logf("waits begun: %d at the start, %d after a pause; %d more throttles in them; %d cuts, %d after a pause that came late; %d plain ones",
		atStart, afterPause, again, cuts, anew, plain)
	for _, n := range []int{atStart, afterPause, again, cuts, anew, plain} {
		assert.Greater(t, n, histories/50)
	}
}

// A throttle that waits is counted, as any response, and what waits is a throttle
// with a window alone: R8.2's first cuts at once, also in the wait.
func TestWaitIsNotR8s(t *testing.T) {
	p := newPair(t, 0)
	storm := int64(time.Hour)
	require.False(t, p.throttle(storm, storm, time.Minute))
	require.False(t, p.l.Enabled())
	p.update(storm+1, true)
	assert.True(t, p.l.Enabled())

	l := ratelimit.New(epoch)
	for range 1000 {
		require.False(t, l.ThrottleNanos(storm, storm, time.Minute))
	}
	l.UpdateNanos(storm+halfSecond, false)
	assert.InEpsilon(t, 0.8*1000/0.5, stats(l, storm+halfSecond).MeasuredRate, 0.01)
}
