package sim_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/internal/sim"
)

func run(t *testing.T, s sim.Scenario, p sim.Policy) sim.Result {
	t.Helper()
	r, err := sim.Run(s, p, sim.Watch{})
	require.NoError(t, err)
	return r
}

// calls is how many calls a test makes.
func calls(whole int) int {
	if testing.Short() {
		return whole / 6
	}
	return whole
}

// queue is a server of one worker at the load rho, with 1 ms of service.
func queue(rho float64, shape sim.Shape, n int) sim.Scenario {
	const perSecond = 1000
	return sim.Scenario{
		Seed: 7, Duration: time.Duration(float64(n) / (rho * perSecond) * float64(time.Second)),
		Load:   sim.Load{Rate: rho * perSecond},
		Layers: []sim.Layer{{Callers: 1}},
		Server: sim.Server{Workers: 1, Queue: 1 << 20, Service: sim.Service{Mean: time.Second / perSecond, Shape: shape}},
	}
}

// The mean time in the queue M/M/1 is 1/(mu - lambda); in M/D/1 it is
// 1/mu + rho/(2 mu (1 - rho)) (Pollaczek and Khinchine).
func TestQueuesAgainstTheirClosedForms(t *testing.T) {
	for _, row := range []struct {
		name  string
		shape sim.Shape
		rho   float64
		want  float64 // ms
	}{
		{"M/M/1", sim.Exponential, 0.5, 2},
		{"M/M/1", sim.Exponential, 0.7, 1 / 0.3},
		{"M/D/1", sim.Fixed, 0.5, 1.5},
		{"M/D/1", sim.Fixed, 0.8, 1 + 0.8/0.4},
	} {
		if testing.Short() && row.rho > 0.5 { // which takes the most calls to come this near
			continue
		}
		r := run(t, queue(row.rho, row.shape, calls(2_000_000)), sim.None())
		require.Equal(t, r.Offered, r.Succeeded)
		mean := float64(r.Latency) / float64(r.Succeeded) / 1e6
		assert.InEpsilon(t, row.want, mean, 0.01, "%s at %v", row.name, row.rho)
	}
}

// M/M/1/K loses the share (1 - rho) rho^K / (1 - rho^(K+1)) of its calls.
func TestFullQueueAgainstItsClosedForm(t *testing.T) {
	const rho, k = 1.2, 4
	s := queue(rho, sim.Exponential, calls(1_000_000))
	s.Server.Queue = k - 1
	r := run(t, s, sim.None())
	want := (1 - rho) * math.Pow(rho, k) / (1 - math.Pow(rho, k+1))
	assert.InEpsilon(t, want, 1-r.SuccessRate(), 0.01)
}

// A quota neither fills nor empties where the tokens of a call are 0 in the mean.
// R6: a call whose first attempt succeeds, with the share 1 - p, earns 1. A retry
// takes c, and gives it back if it succeeds; so a retry costs c if it fails too,
// and the i-th retry is sent and fails with the share p^(i+1). With n attempts
// that makes
//
//	1 - p - c (p^2 + p^3 + ... + p^n)
//
// a call, 0 at the shares of R6.5. A real quota is capped, so below the share it is
// full and above it empty; this one is so large that it only drifts, and the share
// is where the drift, measured beside the expected zero, would be 0.
func TestQuotaDriftsAtTheShareOfR6(t *testing.T) {
	for _, row := range []struct {
		name     string
		policy   sim.Policy
		throttle bool
		share    float64 // of R6.5
		n        int
	}{
		{"standard, transient", sim.Standard(), false, 0.2149, 3},
		{"standard, throttling", sim.Standard(), true, 0.3207, 3},
		{"DynamoDB, transient", sim.DynamoDB(), false, 0.2117, 4},
		{"DynamoDB, throttling", sim.DynamoDB(), true, 0.3123, 4},
	} {
		if testing.Short() && row.throttle != (row.n == 4) { // one class of each
			continue
		}
		const capacity, half = 1 << 30, 1 << 29
		row.policy.Options = append(row.policy.Options, engine.WithQuota(engine.Quota{Capacity: capacity}), engine.WithTokens(half))
		drift := func(p float64) float64 {
			n := calls(400_000)
			s := sim.Scenario{
				Seed: 3, Duration: time.Duration(n) * time.Millisecond,
				Load: sim.Load{Rate: 1000}, Layers: []sim.Layer{{Callers: 1}},
				Server: sim.Server{Errors: sim.Errors{Transient: p}},
			}
			if row.throttle {
				s.Server.Errors = sim.Errors{Throttling: p}
			}
			r := run(t, s, row.policy)
			return (float64(r.TokensLeft) - half) / float64(r.Ended)
		}
		const step = 0.01
		below, above := drift(row.share-step), drift(row.share+step)
		require.Positive(t, below, row.name)
		require.Negative(t, above, row.name)
		zero := row.share - step + 2*step*below/(below-above)
		t.Logf("%s: %.2f %%", row.name, 100*zero)
		assert.InDelta(t, row.share, zero, 0.003, row.name)
	}
}

// R6.5: a full quota of 500 tokens holds 35 transient retries at 14 or 100
// throttling ones at 5.
func TestRetriesOfAFullQuota(t *testing.T) {
	for _, row := range []struct {
		errors  sim.Errors
		retries uint64
	}{
		{sim.Errors{Transient: 1}, 35},
		{sim.Errors{Throttling: 1}, 100},
	} {
		r := run(t, sim.Scenario{
			Seed: 1, Duration: time.Second,
			Load:   sim.Load{Bursts: []sim.Burst{{Calls: 500}}},
			Layers: []sim.Layer{{Callers: 1}}, Server: sim.Server{Errors: row.errors},
		}, sim.Standard())
		assert.Equal(t, row.retries, r.Retries)
		assert.Equal(t, 500+row.retries, r.Arrived)
		assert.NotZero(t, r.Stops[engine.ReasonQuota])
	}
}

// R4: the first retry waits a random share of 50 ms, so a thousand clients that
// failed at one instant come back evenly over 50 ms. The sum over 50 cells
// of 1 ms is chi-square with 49 degrees of freedom: it lies between 23.98 and 85.35 in 998
// of 1,000 runs, so above it they come in heaps, and below it in step.
func TestClientsThatFailTogetherComeBackApart(t *testing.T) {
	const clients, cells = 1000, 50
	s := sim.Scenario{
		Seed: 1, Duration: 100 * time.Millisecond, Sample: time.Millisecond,
		Load:   sim.Load{Bursts: []sim.Burst{{At: time.Millisecond, Calls: clients}}}, // they fail at once, as sample 1 begins
		Layers: []sim.Layer{{Callers: clients}},
		Server: sim.Server{Errors: sim.Errors{Transient: 1}},
	}
	standard := sim.Standard()
	standard.Options = append(standard.Options, engine.WithMaxAttempts(2))
	r := run(t, s, standard)

	require.EqualValues(t, 2*clients, r.Arrived)
	chi2, sum := 0.0, uint64(0)
	for _, p := range r.Points[1 : 1+cells] {
		arrived := p.Arrived
		if p.At == 2*time.Millisecond {
			arrived -= clients // the first attempts
		}
		sum += arrived
		const expected = float64(clients) / cells
		chi2 += (float64(arrived) - expected) * (float64(arrived) - expected) / expected
	}
	require.EqualValues(t, clients, sum, "all within 50 ms")
	assert.Less(t, chi2, 85.35)
	assert.Greater(t, chi2, 23.98)

	naive := run(t, s, sim.Naive(2, 20*time.Millisecond))
	heap := uint64(0)
	for _, p := range naive.Points[2:] {
		heap = max(heap, p.Arrived)
	}
	assert.EqualValues(t, clients, heap, "without jitter they come back as one")
}

// Three layers that each make three attempts ask a dead server 27 times for a call;
// with a quota in each layer it is about once.
func TestLayersMultiply(t *testing.T) {
	s := sim.Scenario{
		Seed: 1, Duration: 100 * time.Second,
		Load:   sim.Load{Rate: 200},
		Layers: []sim.Layer{{Callers: 10, Latency: time.Millisecond}, {Callers: 4, Latency: time.Millisecond}, {Callers: 2, Latency: time.Millisecond}},
		Server: sim.Server{Errors: sim.Errors{Transient: 1}},
	}
	multiplied := s
	if testing.Short() { // each of its calls is like the others
		multiplied.Duration /= 5
	}
	naive := run(t, multiplied, sim.Naive(3, 10*time.Millisecond))
	assert.Equal(t, []uint64{3 * naive.Offered, 9 * naive.Offered, 27 * naive.Offered}, naive.Sent)
	assert.InDelta(t, 27, naive.Amplification(), 0)

	standard := run(t, s, sim.Standard())
	assert.Less(t, standard.Amplification(), 1.05)
	assert.GreaterOrEqual(t, standard.Amplification(), 1.0)
}

// A service of 300 requests/s that is offered 280 and fails for 10 s. Clients give
// an attempt up after a second, and the server does not know: once the queue is
// longer than a second, all that is served is served for nobody. One retry each
// makes 560 of 280, so the queue never gets shorter: the failure outlives its cause
// (it is metastable). The quota takes the retries away, 280 are below 300, and the
// queue drains.
func TestMetastableFailure(t *testing.T) {
	s := sim.Scenario{
		Seed: 1, Duration: 10 * time.Minute, Sample: time.Second,
		Load:   sim.Load{Rate: 280},
		Layers: []sim.Layer{{Callers: 20, Timeout: time.Second, Latency: time.Millisecond}},
		Server: sim.Server{
			Workers: 3, Queue: 1500, Service: sim.Service{Mean: 10 * time.Millisecond, Shape: sim.Exponential},
		},
		Faults: []sim.Fault{{Kind: sim.Slow, Amount: 10, Start: time.Minute, Length: 10 * time.Second}},
	}
	if testing.Short() {
		s.Duration /= 2
	}
	naive := run(t, s, sim.Naive(2, 100*time.Millisecond))
	require.True(t, naive.Recovery.Known)
	assert.False(t, naive.Recovery.Recovered)
	last := naive.Points[len(naive.Points)-120:]
	var good, offered uint64
	for _, p := range last {
		good, offered = good+p.Succeeded, offered+p.Offered
	}
	assert.Less(t, float64(good), 0.05*float64(offered), "of the calls of the last two minutes")

	for _, policy := range []sim.Policy{sim.None(), sim.Standard()} {
		r := run(t, s, policy)
		require.True(t, r.Recovery.Recovered, policy.Name)
		t.Logf("%s: well again %v after the trigger, %.2f requests a call", policy.Name, r.Recovery.After, r.Amplification())
		assert.Less(t, r.Recovery.After, 3*time.Minute, policy.Name)
	}
}
