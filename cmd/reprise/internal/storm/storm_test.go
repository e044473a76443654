package storm

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/internal/sim"
)

// runBuiltin runs a built-in scenario under some policies.
func runBuiltin(t *testing.T, name string, policies ...string) map[string]PolicyResult {
	t.Helper()
	s, ok := Find(name)
	require.True(t, ok, name)
	s.Scenario.Seed = 1
	if testing.Short() && len(s.Scenario.Faults)+len(s.Scenario.Load.Bursts) == 0 {
		s.Scenario.Duration /= 4 // of a load that stays the same
	}
	var err error
	s.Policies, err = FindPolicies(policies)
	require.NoError(t, err)
	r, err := s.Run(t.Context(), s.Prepare())
	require.NoError(t, err)
	by := make(map[string]PolicyResult)
	for _, p := range r.Policies {
		by[p.Policy] = p
	}
	require.Len(t, by, len(policies))
	return by
}

// Each built-in scenario shows what it is there for.
func TestBuiltins(t *testing.T) {
	blip := runBuiltin(t, "blip", "none", "standard")
	assert.Less(t, blip["none"].SuccessRate, 0.99)
	assert.Greater(t, blip["standard"].SuccessRate, 0.998, "retries hide it")

	outage := runBuiltin(t, "outage", "naive", "standard")
	assert.Greater(t, outage["naive"].Amplification, 1.6)
	assert.Less(t, outage["standard"].Amplification, 1.05)

	throttle := runBuiltin(t, "throttle", "standard", "adaptive")
	assert.Less(t, throttle["adaptive"].Server.Throttled*50, throttle["standard"].Server.Throttled)
	assert.False(t, throttle["adaptive"].Recovery.Known)

	hot := runBuiltin(t, "hot-partition", "standard", "adaptive")
	assert.Less(t, hot["adaptive"].SuccessRate, hot["standard"].SuccessRate-0.2, "one limiter for 16 partitions slows 15 of them")

	herd := runBuiltin(t, "thundering-herd", "none", "standard")
	assert.Less(t, herd["none"].SuccessRate, 0.7)
	assert.Greater(t, herd["standard"].SuccessRate, herd["none"].SuccessRate+0.15)

	if testing.Short() {
		return // millions of requests of one goroutine each: for the pass without the race detector
	}
	brownout := runBuiltin(t, "brownout", "none", "legacy", "standard")
	assert.False(t, brownout["legacy"].Recovery.Recovered)
	assert.InDelta(t, brownout["none"].SuccessRate, brownout["standard"].SuccessRate, 0.01)

	metastable := runBuiltin(t, "metastable", "naive", "envoy", "standard")
	assert.False(t, metastable["naive"].Recovery.Recovered)
	assert.False(t, metastable["envoy"].Recovery.Recovered, "280 and 20 % more are above 300")
	assert.True(t, metastable["standard"].Recovery.Recovered)

	layers := runBuiltin(t, "retry-layers", "naive", "standard")
	assert.Greater(t, layers["naive"].PeakPerSec, 20*300.0)
	assert.Less(t, layers["standard"].Amplification, 1.1)

	poll := runBuiltin(t, "long-poll", "naive", "standard")
	assert.Equal(t, poll["naive"].Recovery.Known, poll["standard"].Recovery.Known)
	assert.Greater(t, poll["naive"].Amplification, 2.5)
	assert.Less(t, poll["standard"].Amplification, 1.05)
}

// What they say has its effect, as what files say must.
func TestBuiltinsSayNothingInVain(t *testing.T) {
	for _, s := range Builtin() {
		require.NoError(t, s.Scenario.Validate(), s.Name)
		assert.Empty(t, s.Scenario.WithoutEffect(), s.Name)
	}
}

// tiny is a scenario that takes a blink.
const tiny = `
name: tiny
about: a test
seed: 5
duration: 10s
sample: 1s
load: {rate: 100, paced: true}
layers:
  - {callers: 4, deadline: 2s, timeout: 500ms, latency: 1ms}
server:
  workers: 2
  queue: 50
  service: {mean: 10ms}
faults:
  - {kind: down, start: 3s, length: 3s}
policies: [none, standard]
policy:
  max_attempts: 5
  quota: {capacity: 100}
`

func runTiny(t *testing.T) Result {
	t.Helper()
	s, err := Parse("tiny.yaml", []byte(tiny))
	require.NoError(t, err)
	r, err := s.Run(t.Context(), s.Prepare())
	require.NoError(t, err)
	return r
}

func TestTable(t *testing.T) {
	assert.Equal(t, strings.TrimPrefix(`
tiny: a test (999 calls offered in 10s, seed 5)
`, "\n"), strings.SplitAfterN(Table(runTiny(t), 0), "\n", 2)[0])
	lines := strings.Split(Table(runTiny(t), 0), "\n")
	require.Len(t, lines, 1+7+7+1)
	assert.Contains(t, lines[2], "success")
	assert.Contains(t, lines[4], "none")
	assert.Contains(t, lines[6], "own")
	for _, line := range lines {
		assert.Less(t, len([]rune(line)), 96)
	}
}

func TestTheResult(t *testing.T) {
	r := runTiny(t)
	assert.Equal(t, Schema, r.Schema)
	assert.InDelta(t, 3000, *r.TroubleFromMS, 0)
	assert.InDelta(t, 6000, *r.TroubleEndMS, 0)
	none, standard, own := r.Policies[0], r.Policies[1], r.Policies[2]
	assert.InDelta(t, 0.7, none.SuccessRate, 0.005)
	assert.Equal(t, none.Calls, none.Requests)
	assert.EqualValues(t, 4*35, standard.Retries, "four quotas of 35")
	assert.EqualValues(t, 4*7, own.Retries, "four of 7")
	assert.EqualValues(t, 28*14, own.Tokens.Taken)
	assert.EqualValues(t, 4*100, own.Tokens.Capacity)
	assert.NotZero(t, own.Stops["quota"])
	require.Len(t, none.Points, 10)
	assert.InDelta(t, 100, none.Points[4].Load, 1)
	assert.InDelta(t, 0, none.Points[4].Goodput, 1)
	assert.InDelta(t, 100, none.Points[8].Goodput, 1)
	assert.InDelta(t, 12, none.Latency.P50, 0.1)

	one, err := JSON(r)
	require.NoError(t, err)
	two, err := JSON(runTiny(t))
	require.NoError(t, err)
	assert.Equal(t, string(one), string(two), "the same seed, the same bytes")
}

func TestARunCanBeEnded(t *testing.T) {
	s, _ := Find("outage")
	s.Policies, _ = FindPolicies(PolicyNames())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	progress := s.Prepare()
	_, err := s.Run(ctx, progress)
	require.ErrorIs(t, err, context.Canceled)
	assert.Zero(t, progress.Share())
	assert.Equal(t, "0 of 10 policies  0.0 million calls", progress.String())
}

// Calls that end after the last sample are counted too.
func TestProgressCountsAllCalls(t *testing.T) {
	s := Setup{Scenario: sim.Scenario{
		Duration: time.Second, Load: sim.Load{Bursts: []sim.Burst{{At: 900 * time.Millisecond, Calls: 70}}},
		Layers: []sim.Layer{{Callers: 1, Latency: time.Minute}},
	}}
	s.Policies, _ = FindPolicies([]string{"none"})
	progress := s.Prepare()
	_, err := s.Run(t.Context(), progress)
	require.NoError(t, err)
	assert.EqualValues(t, 70, progress.Calls())
}

// What is left is told of a run that takes long, even one whose first sample is far.
func TestProgressTellsWhatIsLeft(t *testing.T) {
	for _, row := range []struct {
		spent time.Duration
		share float64
		want  string
	}{
		{time.Minute, 0, ""},
		{2 * time.Second, 0.01, ""},
		{5 * time.Second, 0.5, ""},
		{10 * time.Second, 0.5, "  some 10 s left"},
		{time.Minute, 0.1, "  some 9 min left"},
		{time.Minute, 0.01, "  some 99 min left"},
		{time.Minute, 0.001, "  some 17 h left"},
		{4 * time.Second, 1e-6, "  some 46 days left"},
		{4 * time.Second, 1e-9, "  some 127 years left"},
		{time.Hour, 1, ""},
	} {
		assert.Equal(t, row.want, left(row.spent, row.share), "%v at %v", row.spent, row.share)
	}

	s := Setup{Scenario: sim.Scenario{Duration: time.Hour, Sample: time.Hour, Load: sim.Load{Rate: 100}, Layers: []sim.Layer{{Callers: 1}}}}
	progress := &Progress{policies: 1}
	seen := &onlooker{progress: progress}
	s.Policies = []sim.Policy{{Name: "seen", Own: func() sim.Retrier { return seen }}}
	_, err := s.Run(t.Context(), progress)
	require.NoError(t, err)
	assert.Greater(t, seen.share, 0.8, "as the last call begins")
	assert.Greater(t, seen.calls, uint64(300_000))
	assert.InDelta(t, 1, progress.Share(), 1e-9)
	assert.Greater(t, progress.Calls(), seen.calls)
}

// onlooker never retries and notes the progress as each call begins.
type onlooker struct {
	sim.Retrier // nil: nothing fails
	progress    *Progress
	share       float64
	calls       uint64
}

func (o *onlooker) Begin(time.Duration) { o.share, o.calls = o.progress.Share(), o.progress.Calls() }

func (*onlooker) Succeed(time.Duration, int) {}

func (*onlooker) Level() float64 { return 1 }

func TestNumbersAreShort(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 9999: "9999", 10_000: "10k", 123_456: "123.5k", 12_345_678: "12.35M", 1e12: "1e+12"} {
		assert.Equal(t, want, short(n))
	}
	for ms, want := range map[float64]string{0: "0.0ms", 9.94: "9.9ms", 10: "10ms", 999: "999ms", 1500: "1.5s", 61_400: "1m1s"} {
		assert.Equal(t, want, span(ms))
	}
	assert.Equal(t, ">99.99%", percent(0.999999))
	assert.Equal(t, "100.00%", percent(1))
	assert.Equal(t, "never", recovery(Recovery{Known: true}))
	zero := 0.0
	assert.Equal(t, "at once", recovery(Recovery{Known: true, Recovered: true, AfterMS: &zero}))
}

func TestBuiltinsAreValid(t *testing.T) {
	for _, s := range Builtin() {
		require.NoError(t, s.Scenario.Validate(), s.Name)
		assert.NotEmpty(t, s.About)
		assert.LessOrEqual(t, s.Scenario.Duration, 10*time.Minute)
	}
	_, ok := Find("sunshine")
	assert.False(t, ok)
	_, err := FindPolicies([]string{"standard", "hope"})
	assert.ErrorContains(t, err, `"hope": want none, naive, legacy`)
	found, err := FindPolicies([]string{"standard", "none"})
	require.NoError(t, err)
	assert.Equal(t, []string{"none", "standard"}, names(found))
}

func names(policies []sim.Policy) (all []string) {
	for _, p := range policies {
		all = append(all, p.Name)
	}
	return all
}
