package storm

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/internal/sim"
)

// all is a file that says everything that can be said.
const all = `
name: all
about: everything
seed: 3
duration: 1m
sample: 500ms
load:
  rate: 100
  paced: true
  swing: 0.5
  period: 30s
  bursts: [{at: 10s, calls: 50}]
  loops: 5
  think: 10ms
  warm: 1s
  keys: 64
  hot: 0.25
  long_poll: true
layers:
  - {callers: 10, deadline: 10s, timeout: 1s, latency: 1ms}
  - {callers: 2, once: true}
server:
  shards: 4
  workers: 3
  queue: 20
  contention: 0.5
  patience: 2s
  full_throttles: true
  service: {mean: 10ms, shape: Lognormal, sigma: 1.5}
  throttle: {rate: 200, burst: 50}
  errors: {transient: 0.1, throttling: 0.05, permanent: 0.01}
  cache: {entries: 100, miss_factor: 3}
faults:
  - {kind: failing, start: 5s, length: 5s, shards: 0.5, amount: 0.3}
  - {kind: down, start: 20s, length: 1s}
`

func TestFile(t *testing.T) {
	got, err := Parse("all.yaml", []byte(all))
	require.NoError(t, err)
	assert.Equal(t, Setup{
		Name: "all", About: "everything",
		Scenario: sim.Scenario{
			Seed: 3, Duration: time.Minute, Sample: 500 * time.Millisecond,
			Load: sim.Load{
				Rate: 100, Paced: true, Swing: 0.5, Period: 30 * time.Second, Bursts: []sim.Burst{{At: 10 * time.Second, Calls: 50}},
				Loops: 5, Think: 10 * time.Millisecond, Warm: time.Second, Keys: 64, Hot: 0.25, LongPoll: true,
			},
			Layers: []sim.Layer{{Callers: 10, Deadline: 10 * time.Second, Timeout: time.Second, Latency: time.Millisecond}, {Callers: 2, Once: true}},
			Server: sim.Server{
				Shards: 4, Workers: 3, Queue: 20, Contention: 0.5, Patience: 2 * time.Second, FullThrottles: true,
				Service: sim.Service{Mean: 10 * time.Millisecond, Shape: sim.Lognormal, Sigma: 1.5}, Throttle: sim.Throttle{Rate: 200, Burst: 50},
				Errors: sim.Errors{Transient: 0.1, Throttling: 0.05, Permanent: 0.01}, Cache: sim.Cache{Entries: 100, MissFactor: 3},
			},
			Faults: []sim.Fault{
				{Kind: sim.Failing, Start: 5 * time.Second, Length: 5 * time.Second, Shards: 0.5, Amount: 0.3},
				{Kind: sim.Down, Start: 20 * time.Second, Length: time.Second},
			},
		},
	}, got)

	toml, err := Parse("tiny.toml", []byte(`
name = "tiny"
about = "a test"
seed = 5
duration = "10s"
sample = "1s"
policies = ["none", "standard"]
load = {rate = 100, paced = true}
server = {workers = 2, queue = 50, service = {mean = "10ms"}}
policy = {max_attempts = 5, quota = {capacity = 100}}
[[layers]]
callers = 4
deadline = "2s"
timeout = "500ms"
latency = "1ms"
[[faults]]
kind = "down"
start = "3s"
length = "3s"
`))
	require.NoError(t, err)
	yaml, err := Parse("tiny.yaml", []byte(tiny))
	require.NoError(t, err)
	assert.Equal(t, yaml.Scenario, toml.Scenario)
	assert.Equal(t, []string{"none", "standard", "own"}, names(toml.Policies))
}

// A mistake is told with its line and what would be right.
func TestFileFaults(t *testing.T) {
	for _, row := range []struct{ from, to, want string }{
		{"name: all\n", "nane: all\n", "scenario f.yaml:2: nane is an unknown key: did you mean name? want name, about, seed"},
		{"  rate: 100\n", "  rates: 100\n", "scenario f.yaml:8: load.rates is an unknown key: did you mean rate?"},
		{"  rate: 100\n", "  rate: fast\n", `f.yaml:8: load.rate is the text "fast": want a number`},
		{"  rate: 100\n", "  rate: 1e12\n", "f.yaml:8: load.rate is 1e+12: want 0 to 1e+08"},
		{"  rate: 100\n", "  rate: .nan\n", "f.yaml:8: load.rate is NaN: want 0 to 1e+08"},
		{"hot: 0.25", "hot: 25%", `f.yaml:17: load.hot is the text "25%": want a number, such as 0.25`},
		{"workers: 3", "workers: 010", "f.yaml:24: server.workers is wrong: 010 begins with 0, which some take for octal: want 10, or 0o10 if it is"},
		{"  rate: 100\n", "  rate: 1e2\n", ""},
		{"workers: 3", "workers: 3.0", ""},
		{"seed: 3", "seed: 18446744073709551615", ""},
		{"  rate: 100\n", "  rate: -1\n", "f.yaml:8: load.rate is -1: want 0 to 1e+08"},
		{"swing: 0.5", "swing: 2", "f.yaml:10: load.swing is 2: want a share, 0 to 1"},
		{"callers: 10", "callers: 0", "f.yaml:20: layers[0].callers is 0: want 1 to 1000000"},
		{"workers: 3", "workers: many", `f.yaml:24: server.workers is the text "many": want a whole number`},
		{"shape: Lognormal", "shape: round", `f.yaml:29: server.service.shape is wrong: "round": want fixed, exponential, lognormal`},
		{"burst: 50}", "burst: 0.5}", "f.yaml:30: server.throttle.burst is 0.5: want 1 or more"},
		{"kind: failing", "kind: flaky", `f.yaml:34: faults[0].kind is wrong: "flaky": want down, silent, failing`},
		{"kind: failing, ", "", "f.yaml:34: faults[0].kind is missing: want down"},
		{"amount: 0.3", "amount: 3", "f.yaml:34: faults[0].amount is 3: want a share, 0 to 1"},
		{"seed: 3", "seed: -3", "f.yaml:4: seed is -3: want a whole number, 0 or more"},
		{"duration: 1m", "duration: 60", "f.yaml:5: duration is 60: want a duration such as"},
		{"faults:", "policies: hope\nfaults:", `f.yaml:33: policies name "hope": want none, naive`},
		{"faults:", "policies: [none, standard, none]\nfaults:", `f.yaml:33: policies name "none" twice: want it once`},
		{"faults:", "policies: []\nfaults:", "f.yaml:33: policies is an empty list: want the names of policies, or it left out, for all"},
		{"faults:", "policies: [none, 5]\nfaults:", "f.yaml:33: policies is wrong: number 2 of the list is 5: want a text"},
		{"faults:", "policies: [~]\nfaults:", "f.yaml:33: policies is wrong: number 1 of the list is empty: want a text"},
		{"  - {callers: 2, once: true}", "  -", "f.yaml:21: layers[1] is empty: want a table"},
		{"faults:", "policies: own\nfaults:", `f.yaml:33: policies name "own": want its numbers with it, under policy`},
		{"faults:", "policy: {mode: legacy, quota: {capacity: 3}}\nfaults:", "f.yaml:33: policy.quota.capacity or a cost is given, but legacy mode has no retry quota"},
		{"faults:", "policy: {timeout: 3s}\nfaults:", "f.yaml:33: policy.timeout is an unknown key: want mode, service, max_attempts, coalesce, quota, backoff, pacing"},
		{"shape: Lognormal, ", "", "f.yaml:29: server.service.sigma is 1.5 and the shape is not lognormal: want shape lognormal with it, or no sigma"},
		{", sigma: 1.5", "", "f.yaml:29: server.service.sigma is 0, so that lognormal times are all alike: want it above 0, such as 1"},
		{"shards: 4", "shards: 1", "f.yaml:34: faults[0].shards is 0.5 and there is one shard: want server.shards, 2 or more"},
		{"  shards: 4\n", "", "f.yaml:33: faults[0].shards is 0.5 and there is one shard: want server.shards, 2 or more"},
		{"shards: 4", "shards: 0", "f.yaml:23: server.shards is 0: want 1 or more, or it left out, for one"},
		{"sample: 500ms", "sample: 0s", "f.yaml:6: sample is 0s: want more than 0s, or it left out"},
		{"sample: 500ms", "sample: 2m", "f.yaml:6: sample is 2m0s and the duration 1m0s: want no more than that"},
		{"keys: 64", "keys: 0", "f.yaml:16: load.keys is 0: want 1 or more"},
		{"burst: 50", "burst: 0", "f.yaml:30: server.throttle.burst is 0: want 1 or more"},
		{"shards: 0.5", "shards: 0", "f.yaml:34: faults[0].shards is 0: want the share of the shards, above 0"},
		{"shards: 0.5", "shards: half", `f.yaml:34: faults[0].shards is the text "half": want a number`},
		{", amount: 0.3", "", "f.yaml:34: faults[0].amount is missing: failing wants the share of the requests that fail, such as 0.3"},
		{"kind: failing, start: 5s, length: 5s, shards: 0.5, amount: 0.3", "kind: slow, length: 1s", "f.yaml:34: faults[0].amount is missing: slow wants how many times as long service takes, such as 10"},
		{"kind: failing, start: 5s, length: 5s, shards: 0.5, amount: 0.3", "kind: tight, length: 1s", "f.yaml:34: faults[0].amount is missing: tight wants"},
		{"  workers: 3\n", "", "f.yaml:24: server.queue is 20 before any number of workers: want workers, or no queue"},
		{"  - {kind: down, start: 20s, length: 1s}\n", "", "f.yaml:32: server.cache.entries is 100 and nothing makes the cache cold: want a fault of the kind down"},
		{"timeout: 1s", "timeout: 10s", "f.yaml:20: layers[0].timeout is 10s and the deadline 10s: an attempt never gets so long"},
		{"faults:", "policy: {max_attempts: 1, quota: {capacity: 100}}\nfaults:", "f.yaml:33: policy.quota.capacity or a cost is given and max_attempts is 1: want 2 or more"},
		{"faults:", "policy: {max_attempts: 1, backoff: {max: 1s}}\nfaults:", "f.yaml:33: policy.backoff.transient or another delay is given and max_attempts is 1: want 2 or more"},
		{"faults:", "policy: {max_attempts: 1, pacing: true}\nfaults:", "f.yaml:33: policy.pacing is about a retry that the quota refuses and max_attempts is 1"},
		{"faults:", "policy: {quota: {capacity: 0}}\nfaults:", "f.yaml:33: policy.quota.capacity is 0: want more, or it left out, for the default"},
		{"faults:", "policy: {backoff: {max: 0s}}\nfaults:", "f.yaml:33: policy.backoff.max is 0: want more, or it left out, for the default"},
		{"faults:", "policy: {mode: legacy, pacing: true}\nfaults:", "f.yaml:33: policy.pacing is about a retry that the quota refuses, and legacy mode has none"},
		{"kind: failing, start: 5s, length: 5s, shards: 0.5, amount: 0.3", "kind: silent, length: 1s", ""},
		{"calls: 50}", "calls: 1e8}", "f.yaml:12: load.bursts[0].calls is 100000000: want 1 to 10000000"},
		{"layers:", "layers: []\nlayer:", "layers is 0: want 1 to 16"},
	} {
		text := strings.Replace(all, row.from, row.to, 1)
		require.NotEqual(t, all, text, row.to)
		_, err := Parse("f.yaml", []byte(text))
		if row.want == "" {
			assert.NoError(t, err, row.to)
			continue
		}
		if row.want == "layers is 0: want 1 to 16" {
			assert.ErrorContains(t, err, "layer is an unknown key: did you mean layers?")
			continue
		}
		assert.ErrorContains(t, err, row.want, row.to)
	}
	_, err := Parse("f.yaml", nil)
	assert.EqualError(t, err, "scenario f.yaml: is empty: want at least duration, load, layers and server")
	_, err = Parse("f.toml", nil)
	assert.EqualError(t, err, "scenario f.toml: is empty: want at least duration, load, layers and server")
	_, err = Parse("f.yaml", []byte("duration: 1s\nload: {rate: 1}\nlayers: [{callers: 1}]\nfaults:\n- {kind: silent, length: 1s}\n"))
	assert.EqualError(t, err, "scenario f.yaml:5: faults[0].kind is silent and nobody gives up: want a timeout or a deadline of a layer, or calls never end")
	_, err = Parse("f.yaml", []byte("duration: 1s\nabout: caf\xe9\n"))
	assert.EqualError(t, err, "scenario f.yaml:2: is not UTF-8: want a text file in that encoding")
	_, err = Parse("f.toml", []byte(all))
	assert.ErrorContains(t, err, "; it is YAML: want a name that ends in .yaml")
	_, err = Parse("f.yml", []byte("duration = \"1s\"\n[load]\nrate = 1\n"))
	assert.EqualError(t, err, "scenario f.yml:1: want keys such as load and layers at the top; it is TOML: want a name that ends in .toml")
	_, err = Parse("f.json", []byte(all))
	assert.ErrorContains(t, err, "want a name that ends in .yaml, .yml or .toml")
	_, err = Parse("f.yaml", []byte("a: &a 1\nb: *a\n"))
	assert.EqualError(t, err, "scenario f.yaml:1: anchors, aliases and tags are not served: want the value")
	_, err = Load(t.TempDir())
	assert.ErrorContains(t, err, "is not a regular file (a directory): want one")
}

// Whatever a file holds, it is a scenario that can be run or an error with its name.
func FuzzParse(f *testing.F) {
	f.Add("f.yaml", all)
	f.Add("f.yaml", tiny)
	f.Add("f.toml", "duration = \"1s\"\n[load]\nrate = 1\n[[layers]]\ncallers = 1\n")
	f.Fuzz(func(t *testing.T, name, text string) {
		s, err := Parse(name, []byte(text))
		if err != nil {
			assert.Contains(t, err.Error(), name)
			return
		}
		require.NoError(t, s.Scenario.Validate())
		require.Empty(t, s.Scenario.WithoutEffect())
	})
}

// README's file is one, and its table has each key that a file may have.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(readme), "\n## The storm\n")
	require.True(t, found)
	text, _, found = strings.Cut(text, "\n### The calculator\n")
	require.True(t, found)
	_, example, found := strings.Cut(text, "```toml\n")
	require.True(t, found)
	example, table, found := strings.Cut(example, "```\n")
	require.True(t, found)
	setup, err := Parse("readme.toml", []byte(example))
	require.NoError(t, err)
	assert.Len(t, setup.Policies, 2)
	for _, path := range []string{"", "load", "layers", "server", "server.service", "server.throttle", "server.errors", "server.cache", "faults", "policy", "load.bursts"} {
		_, err := Parse("x.toml", []byte(unknownKey(path)))
		require.ErrorContains(t, err, "is an unknown key", path)
		_, known, found := strings.Cut(err.Error(), "is an unknown key: want ")
		require.True(t, found, err)
		known, _, _ = strings.Cut(known, "\n")
		for key := range strings.SplitSeq(known, ", ") {
			assert.Contains(t, table, "`"+key+"`", path)
		}
	}
}

// unknownKey is a file with one in a table.
func unknownKey(path string) string {
	switch path {
	case "":
		return "qqqq = 1"
	case "layers", "faults":
		return "[[" + path + "]]\nqqqq = 1"
	case "load.bursts":
		return "[[load.bursts]]\nqqqq = 1"
	}
	return "[" + path + "]\nqqqq = 1"
}
