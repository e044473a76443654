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

// Each edit breaks one field, whose name the error tells; a scenario is not run
// with any.
func TestValidate(t *testing.T) {
	require.NoError(t, broken().Validate())
	for field, edit := range map[string]func(*sim.Scenario){
		"duration":             func(s *sim.Scenario) { s.Duration = 0 },
		"sample":               func(s *sim.Scenario) { s.Sample = time.Nanosecond },
		"load":                 func(s *sim.Scenario) { s.Load = sim.Load{} },
		"load.rate":            func(s *sim.Scenario) { s.Load.Rate = math.NaN() },
		"load.swing":           func(s *sim.Scenario) { s.Load.Swing = 1.5 },
		"load.period":          func(s *sim.Scenario) { s.Load.Swing = 0.5 },
		"load.bursts[0].at":    func(s *sim.Scenario) { s.Load.Bursts = []sim.Burst{{At: time.Hour, Calls: 1}} },
		"load.bursts[0].calls": func(s *sim.Scenario) { s.Load.Bursts = []sim.Burst{{}} },
		"load.bursts[1].calls": func(s *sim.Scenario) {
			s.Load.Bursts = []sim.Burst{{At: 1, Calls: 9_000_000}, {At: 1, Calls: 2_000_000}}
		},
		"load.bursts[2].calls": func(s *sim.Scenario) {
			s.Load.Bursts = []sim.Burst{{At: 1, Calls: 9_000_000}, {At: 2, Calls: 9_000_000}, {At: 3, Calls: 10_000_001}}
		},
		"load.loops":               func(s *sim.Scenario) { s.Load.Loops = -1 },
		"load.think":               func(s *sim.Scenario) { s.Load.Loops, s.Layers[0].Latency = 1, 0 },
		"load.warm":                func(s *sim.Scenario) { s.Load.Warm = -1 },
		"load.keys":                func(s *sim.Scenario) { s.Load.Keys = -1 },
		"load.hot":                 func(s *sim.Scenario) { s.Load.Hot = 2 },
		"layers":                   func(s *sim.Scenario) { s.Layers = nil },
		"layers[0].callers":        func(s *sim.Scenario) { s.Layers[0].Callers = 0 },
		"layers[0].deadline":       func(s *sim.Scenario) { s.Layers[0].Deadline = -time.Second },
		"layers[0].timeout":        func(s *sim.Scenario) { s.Layers[0].Timeout = -1 },
		"layers[0].latency":        func(s *sim.Scenario) { s.Layers[0].Latency = 1 << 60 },
		"server.shards":            func(s *sim.Scenario) { s.Server.Shards = 1 << 24 },
		"server.workers":           func(s *sim.Scenario) { s.Server.Workers = -1 },
		"server.queue":             func(s *sim.Scenario) { s.Server.Queue = -1 },
		"server.service.mean":      func(s *sim.Scenario) { s.Server.Service.Mean = -1 },
		"server.service.shape":     func(s *sim.Scenario) { s.Server.Service.Shape = 3 },
		"server.service.sigma":     func(s *sim.Scenario) { s.Server.Service.Sigma = -1 },
		"server.contention":        func(s *sim.Scenario) { s.Server.Contention = math.Inf(1) },
		"server.patience":          func(s *sim.Scenario) { s.Server.Patience = -1 },
		"server.throttle.rate":     func(s *sim.Scenario) { s.Server.Throttle.Rate = -1 },
		"server.throttle.burst":    func(s *sim.Scenario) { s.Server.Throttle = sim.Throttle{Rate: 1, Burst: 0.5} },
		"server.errors.transient":  func(s *sim.Scenario) { s.Server.Errors.Transient = -0.1 },
		"server.errors.throttling": func(s *sim.Scenario) { s.Server.Errors.Throttling = 1.1 },
		"server.errors.permanent":  func(s *sim.Scenario) { s.Server.Errors.Permanent = math.NaN() },
		"server.errors":            func(s *sim.Scenario) { s.Server.Errors = sim.Errors{Transient: 0.6, Permanent: 0.6} },
		"server.cache.entries":     func(s *sim.Scenario) { s.Server.Cache.Entries = -1 },
		"server.cache.miss_factor": func(s *sim.Scenario) { s.Server.Cache.Entries = 1 },
		"faults[0].kind":           func(s *sim.Scenario) { s.Faults[0].Kind = 99 },
		"faults[0].start":          func(s *sim.Scenario) { s.Faults[0].Start = time.Hour },
		"faults[0].length":         func(s *sim.Scenario) { s.Faults[0].Length = 0 },
		"faults[0].shards":         func(s *sim.Scenario) { s.Faults[0].Shards = -1 },
		"faults[0].amount":         func(s *sim.Scenario) { s.Faults[0].Amount = 0.5 },
		"faults[1].kind": func(s *sim.Scenario) {
			s.Layers[0].Timeout, s.Layers[0].Deadline = 0, 0
			s.Faults = append(s.Faults, sim.Fault{Kind: sim.Silent, Length: 1})
		},
		"faults[1].amount": func(s *sim.Scenario) { s.Faults = append(s.Faults, sim.Fault{Kind: sim.Failing, Length: 1, Amount: 2}) },
		"faults[2].amount": func(s *sim.Scenario) {
			s.Load.Rate = 101
			s.Faults = append(s.Faults, sim.Fault{Kind: sim.Crowd, Length: time.Second, Amount: 9e5}, sim.Fault{Kind: sim.Crowd, Start: time.Second, Length: 1, Amount: 1e6})
		},
		"faults[1].shards": func(s *sim.Scenario) { s.Faults = append(s.Faults, sim.Fault{Kind: sim.Crowd, Length: 1, Shards: 1}) },
	} {
		s := broken()
		edit(&s)
		_, err := sim.Run(s, sim.Standard(), sim.Watch{})
		var invalid *sim.InvalidError
		require.ErrorAs(t, err, &invalid, field)
		assert.Equal(t, field, invalid.Field)
		assert.NotEmpty(t, invalid.Text, field)
		assert.ErrorContains(t, err, "reprise/sim: "+field+" ")
	}
	_, err := sim.Run(broken(), sim.Policy{Options: []engine.Option{engine.WithMaxAttempts(0)}}, sim.Watch{})
	assert.ErrorContains(t, err, "WithMaxAttempts(0)")
	assert.Equal(t, "crowd", sim.Crowd.String())
	assert.Equal(t, "unknown", sim.FaultKind(99).String())
}
