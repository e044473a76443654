package sim_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/internal/sim"
)

// broken is a service that fails from second 20 to second 80.
func broken() sim.Scenario {
	length := 2 * time.Minute
	if testing.Short() {
		length = 95 * time.Second
	}
	return sim.Scenario{
		Seed: 1, Duration: length, Sample: time.Second,
		Load:   sim.Load{Rate: 500},
		Layers: []sim.Layer{{Callers: 50, Deadline: 10 * time.Second, Timeout: time.Second, Latency: time.Millisecond}},
		Server: sim.Server{Workers: 20, Queue: 100, Service: sim.Service{Mean: 10 * time.Millisecond, Shape: sim.Exponential}},
		Faults: []sim.Fault{{Kind: sim.Down, Start: 20 * time.Second, Length: time.Minute}},
	}
}

// during is requests per call in the outage, and what was left of it at the worst.
func during(r sim.Result) (amplification, level float64) {
	var sum sim.Counts
	level = 1
	for _, p := range r.Points {
		if p.At > 30*time.Second && p.At <= 80*time.Second {
			sum.Arrived += p.Arrived
			sum.Offered += p.Offered
			level = min(level, p.Quota)
		}
	}
	return float64(sum.Arrived) / float64(sum.Offered), level
}

// What each policy sends to a server that answers nobody well.
func TestPoliciesInAnOutage(t *testing.T) {
	for _, row := range []struct {
		policy      sim.Policy
		least, most float64 // requests per call
		level       float64 // of the budget at the worst, at the most
	}{
		{sim.None(), 1, 1, 1},
		{sim.Naive(3, 100*time.Millisecond), 2.95, 3.05, 1},
		{sim.Legacy(), 3, 5, 1}, // 1 + 2 + 4 s of 10 s are over before the fifth now and then
		{sim.EnvoyBudget(), 1.1, 3, 0.99},
		{sim.LinkerdBudget(), 1.9, 2.3, 0.35}, // 10 calls/s a client: 20 % of them and 10 a second
		{sim.Standard(), 1, 1.001, 0.03},
		{sim.Pacing(), 1, 1.001, 0.03},
		{sim.DynamoDB(), 1, 1.001, 0.03},
		{sim.Adaptive(), 1, 1.001, 0.03}, // nothing is throttled
	} {
		s := broken()
		if testing.Short() { // a fifth of all of it
			s.Load.Rate, s.Layers[0].Callers, s.Server.Workers, s.Server.Queue = 100, 10, 4, 20
		}
		r := run(t, s, row.policy)
		amplification, level := during(r)
		assert.GreaterOrEqual(t, amplification, row.least, row.policy.Name)
		assert.LessOrEqual(t, amplification, row.most, row.policy.Name)
		assert.LessOrEqual(t, level, row.level, row.policy.Name)
		require.True(t, r.Recovery.Known, row.policy.Name)
		assert.True(t, r.Recovery.Recovered, row.policy.Name)
		assert.Less(t, r.Recovery.After, 10*time.Second, row.policy.Name)
		if e := r.Stops[engine.ReasonQuota]; row.level < 0.9 {
			assert.NotZero(t, e, row.policy.Name)
		} else if row.policy.Name != "envoy" {
			assert.Zero(t, e, row.policy.Name)
		}
	}
}

func TestBudgetsByHand(t *testing.T) {
	const half = 1 << 63
	fail := func(b sim.Retrier, attempt int) engine.Decision { return b.Fail(0, attempt, classify.Transient, half) }

	envoy := sim.EnvoyBudget().Own()
	for range 30 {
		envoy.Begin(0)
	}
	for i := range 6 { // 20 % of 30
		assert.Equal(t, engine.Decision{Reason: engine.ReasonRetry, Delay: 12500 * time.Microsecond}, fail(envoy, 1), "%d", i)
	}
	assert.Zero(t, envoy.Level())
	assert.Equal(t, engine.ReasonQuota, fail(envoy, 1).Reason, "29 calls are left, of which 20 % are less than 6")
	assert.Equal(t, engine.Decision{Reason: engine.ReasonRetry, Delay: 37500 * time.Microsecond}, fail(envoy, 2), "in the place of its first")
	envoy.Succeed(0, 3)
	envoy.Abandon(0, 1, true)
	assert.Equal(t, engine.ReasonRetry, fail(envoy, 1).Reason, "4 of 27 are retried")
	assert.Equal(t, engine.ReasonNonRetryable, envoy.Fail(0, 1, classify.NonRetryable, half).Reason)
	assert.Equal(t, engine.ReasonMaxAttempts, fail(envoy, 3).Reason)

	few := sim.EnvoyBudget().Own()
	for range 4 {
		few.Begin(0)
	}
	for range 3 {
		assert.Equal(t, engine.ReasonRetry, fail(few, 1).Reason, "3 in any case")
	}
	assert.Equal(t, engine.ReasonQuota, fail(few, 1).Reason)

	linkerd := sim.LinkerdBudget().Own()
	for range 50 {
		linkerd.Begin(time.Second)
	}
	granted := func(now time.Duration) (n int) {
		for linkerd.Fail(now, 1, classify.Throttling, half) == (engine.Decision{Reason: engine.ReasonRetry}) {
			n++
		}
		return n
	}
	assert.Equal(t, 100+10, granted(2*time.Second), "the reserve and 20 % of 50")
	assert.InDelta(t, 0, linkerd.Level(), 0.001)
	assert.Zero(t, granted(11*time.Second-1))
	assert.Equal(t, 100, granted(12*time.Second), "both are forgotten")
	assert.Equal(t, 100, granted(time.Hour))
}

// A throttle passes its rate and its burst, and adaptive clients find that rate.
func TestThrottle(t *testing.T) {
	s := broken()
	s.Faults = nil
	s.Layers[0].Deadline = 0
	s.Server = sim.Server{Throttle: sim.Throttle{Rate: 200, Burst: 100}}
	r := run(t, s, sim.None())
	assert.InDelta(t, 200*s.Duration.Seconds()+100, float64(r.Succeeded), 1)
	assert.Equal(t, r.Offered, r.Throttled+r.Succeeded)
	assert.False(t, r.Recovery.Known)

	tight := s
	tight.Faults = []sim.Fault{ // of which each change must neither make nor lose a token
		{Kind: sim.Tight, Amount: 0.5, Start: 20 * time.Second, Length: 20 * time.Second},
		{Kind: sim.Tight, Amount: 0, Start: 60 * time.Second, Length: 10 * time.Second},
		{Kind: sim.Slow, Amount: 1, Start: 80 * time.Second, Length: time.Millisecond},
	}
	assert.InDelta(t, 200*(s.Duration.Seconds()-10-10)+100, float64(run(t, tight, sim.None()).Succeeded), 1)

	s.Layers[0].Deadline = 5 * time.Second
	adaptive, standard := run(t, s, sim.Adaptive()), run(t, s, sim.Standard())
	assert.Less(t, adaptive.Throttled, standard.Throttled/2)
	assert.NotZero(t, adaptive.Stops[engine.ReasonDeadline])
	last := adaptive.Points[len(adaptive.Points)-1]
	assert.Equal(t, 50, last.Limited)
	assert.InDelta(t, 200, last.FillRate, 100)
}

// A closed loop never has more calls under way than loops, and a refused long poll
// waits (R7) where another loop turns at once.
func TestLoops(t *testing.T) {
	s := broken()
	s.Load = sim.Load{Loops: 40, Think: 20 * time.Millisecond}
	s.Layers[0].Deadline = 0
	hasty := run(t, s, sim.Standard())
	s.Load.LongPoll = true
	polls := run(t, s, sim.Standard())
	s.Load.LongPoll = false
	paced := run(t, s, sim.Pacing())
	for _, r := range []sim.Result{hasty, polls, paced} {
		for _, p := range r.Points {
			require.LessOrEqual(t, p.InFlight, 40)
		}
	}
	arrived := func(r sim.Result) (sum uint64) { // in the outage
		for _, p := range r.Points[20:80] {
			sum += p.Arrived
		}
		return sum
	}
	assert.Less(t, float64(arrived(polls)), 0.7*float64(arrived(hasty)))
	assert.Equal(t, polls.Arrived, paced.Arrived, "pacing is the long polls' rule for everyone")
}

// The load is what was asked for.
func TestLoad(t *testing.T) {
	s := sim.Scenario{
		Seed: 1, Duration: 100 * time.Second, Sample: 25 * time.Second,
		Load: sim.Load{Rate: 1000, Swing: 0.5, Period: 100 * time.Second}, Layers: []sim.Layer{{Callers: 7}},
		Server: sim.Server{Shards: 10},
		Faults: []sim.Fault{{Kind: sim.Crowd, Amount: 3, Start: 50 * time.Second, Length: 25 * time.Second}},
	}
	near := func(want float64, got uint64) {
		t.Helper()
		assert.InDelta(t, want, float64(got), 5*math.Sqrt(want))
	}
	r := run(t, s, sim.None())
	swing := 0.5 * 1000 * 100 / (2 * math.Pi) // of a quarter of the sine
	for i, want := range []float64{25000 + swing, 25000 + swing, 3 * (25000 - swing), 25000 - swing} {
		near(want, r.Points[i].Offered)
	}
	s.Load = sim.Load{Rate: 1000, Paced: true, Bursts: []sim.Burst{{At: 10 * time.Second, Calls: 500}}}
	s.Faults[0].Amount = 0
	r = run(t, s, sim.None())
	for i, want := range []float64{25500, 25000, 0, 25000} {
		assert.InDelta(t, want, float64(r.Points[i].Offered), 2)
	}
	s.Load.Hot, s.Faults = 0.8, []sim.Fault{{Kind: sim.Down, Shards: 0.1, Length: time.Hour}}
	sick := run(t, s, sim.None())
	s.Load.Hot = 0
	even := run(t, s, sim.None())
	assert.InDelta(t, 0.9, even.SuccessRate(), 0.02, "one of ten shards is down")
	hot := sick.SuccessRate()
	assert.True(t, math.Abs(hot-0.18) < 0.02 || math.Abs(hot-0.98) < 0.02, "%v: the hot key is on it, or it is not", hot)
}

// A cold cache after an outage: what times out is not cached, so it stays cold as
// long as there is too much load; with less it warms.
func TestColdCacheStaysColdUnderLoad(t *testing.T) {
	s := broken()
	s.Duration, s.Load.Rate = 5*time.Minute, 800
	s.Server.Queue = 2000
	s.Server.Workers = 10
	s.Server.Cache = sim.Cache{Entries: 2000, MissFactor: 4}
	s.Faults[0].Length = 10 * time.Second
	cold := func(r sim.Result) float64 { return r.Points[len(r.Points)-1].Cold }

	naive := run(t, s, sim.Naive(3, 0))
	assert.Greater(t, cold(naive), 0.5)
	assert.False(t, naive.Recovery.Recovered)
	s.Load.Rate = 200
	light := run(t, s, sim.Naive(3, 0))
	assert.Less(t, cold(light), 0.01)
	assert.True(t, light.Recovery.Recovered)
}

// Each miss that somebody waits for brings one of E entries back, so with calls at
// the rate r the cold share falls as exp(-r t/E).
func TestCacheWarms(t *testing.T) {
	s := broken()
	s.Server = sim.Server{Cache: sim.Cache{Entries: 5000, MissFactor: 1}}
	s.Faults[0].Start, s.Faults[0].Length = time.Second, time.Second
	r := run(t, s, sim.None())
	for _, seconds := range []int{5, 10, 20} {
		assert.InDelta(t, math.Exp(-500*float64(seconds)/5000), r.Points[1+seconds].Cold, 0.02, seconds)
	}
	s.Server.Service.Mean, s.Server.Cache.MissFactor = 2*time.Millisecond, 10 // 4 ms there and back, and 2 or 20
	r = run(t, s, sim.None())
	misses := (float64(r.Latency)/float64(r.Succeeded)/1e6 - 4) / 18
	assert.InDelta(t, 5000./float64(r.Succeeded), misses, 0.01, "each entry is missed once")
}

// A request that has waited too long is refused, so nobody is answered later.
func TestPatience(t *testing.T) {
	s := broken()
	s.Faults, s.Layers[0].Deadline, s.Layers[0].Timeout = nil, 0, 0
	s.Server = sim.Server{Workers: 4, Queue: 1000, Service: sim.Service{Mean: 10 * time.Millisecond}, Patience: 200 * time.Millisecond}
	longest := time.Duration(0)
	r, err := sim.Run(s, sim.None(), sim.Watch{Ended: func(e sim.Ended) {
		if e.OK {
			longest = max(longest, e.At-e.Began)
		}
	}})
	require.NoError(t, err)
	assert.InDelta(t, 400./500, r.SuccessRate(), 0.01)
	assert.Greater(t, longest, 200*time.Millisecond)
	assert.LessOrEqual(t, longest, 212*time.Millisecond)
}

// What a refusal says: of a full queue, and of a gateway that is out of time.
func TestRefusals(t *testing.T) {
	s := broken()
	s.Faults, s.Server.Workers, s.Server.Queue = nil, 1, 0
	r := run(t, s, sim.None())
	assert.NotZero(t, r.Failed)
	assert.Zero(t, r.Throttled)
	s.Server.FullThrottles = true
	r = run(t, s, sim.None())
	assert.Zero(t, r.Failed)
	assert.NotZero(t, r.Throttled)

	s.Server = sim.Server{Service: sim.Service{Mean: time.Second}}
	s.Layers = []sim.Layer{{Callers: 5}, {Callers: 5, Deadline: 50 * time.Millisecond, Once: true}}
	r = run(t, s, sim.Naive(2, 0))
	assert.Equal(t, r.Ended, r.Stops[engine.ReasonMaxAttempts], "a 504 may be retried")
}

// A retry that does not fit before the deadline is no retry under way.
func TestBudgetGetsBackWhatDoesNotFit(t *testing.T) {
	s := broken()
	s.Layers[0].Deadline = 7 * time.Millisecond // 5 of them after an attempt, and Envoy's delays are up to 25
	s.Faults[0].Start, s.Faults[0].Length = 0, time.Hour
	r := run(t, s, sim.EnvoyBudget())
	assert.InDelta(t, 5./25, float64(r.Retries)/float64(r.Offered), 0.02)
}

// The quota that a sample shows is that of the layer that has least.
func TestThePoorestLayerIsShown(t *testing.T) {
	s := broken()
	s.Faults, s.Server = nil, sim.Server{Service: sim.Service{Mean: 100 * time.Millisecond}}
	s.Layers = []sim.Layer{{Callers: 5, Timeout: 50 * time.Millisecond}, {Callers: 5}} // the gateways are content
	r := run(t, s, sim.Standard())
	assert.Less(t, r.Points[50].Quota, 0.03)
	assert.Zero(t, r.Succeeded)
	assert.Equal(t, r.Sent[0], r.TimedOut)
}

// Gateways that never retry have a quota that nobody asks: its tokens are none.
func TestTokensOfThoseThatRetry(t *testing.T) {
	s := broken()
	alone := run(t, s, sim.Standard())
	s.Layers = append(s.Layers, sim.Layer{Callers: 50, Once: true})
	r := run(t, s, sim.Standard())
	assert.EqualValues(t, 50*500, r.TokensCapacity)
	assert.InDelta(t, float64(alone.TokensLeft), float64(r.TokensLeft), 2500)
	assert.Zero(t, run(t, s, sim.Naive(3, 0)).TokensCapacity, "this one has no quota at all")
}

// A run can be watched and ended.
func TestWatch(t *testing.T) {
	var points []sim.Point
	r, err := sim.Run(broken(), sim.Standard(), sim.Watch{Sampled: func(p sim.Point) bool {
		points = append(points, p)
		return p.At < 30*time.Second
	}})
	require.NoError(t, err)
	assert.Equal(t, r.Points, points)
	assert.Equal(t, 30*time.Second, r.EndedAt)
	assert.Equal(t, r.Offered, r.Ended+r.Unended)
}
