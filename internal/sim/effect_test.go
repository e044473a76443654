package sim_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/internal/sim"
)

// effective is a busy little scenario that says nothing without effect.
func effective() sim.Scenario {
	return sim.Scenario{
		Duration: 10 * time.Second, Load: sim.Load{Rate: 300},
		Layers: []sim.Layer{{Callers: 5, Deadline: 3 * time.Second, Timeout: 500 * time.Millisecond, Latency: time.Millisecond}},
		Server: sim.Server{
			Workers: 3, Queue: 20, Service: sim.Service{Mean: 10 * time.Millisecond, Shape: sim.Exponential},
			Errors: sim.Errors{Transient: 0.05},
		},
	}
}

// always are the fields that have their effect whatever the others are, or without
// which the scenario is not valid.
var always = []string{
	"seed", "duration", "load.rate", "load.swing", "load.bursts[0].at", "load.bursts[0].calls", "load.loops",
	"layers[0].callers", "layers[0].deadline", "layers[0].latency", "layers[0].once",
	"server.service.mean", "server.throttle.rate", "server.errors.transient", "server.errors.throttling", "server.errors.permanent", "faults[0].length",
}

// uses says of each other field when it has an effect. say says it in a scenario of
// which nothing makes use of it; give gives it an effect.
var uses = []struct {
	field     string
	base      func(*sim.Scenario) // nil: effective as it is
	say, give func(*sim.Scenario)
	odd       bool // without the rest it does something, but nothing that anybody means
}{
	{field: "sample", say: func(s *sim.Scenario) { s.Sample = time.Minute }, give: func(s *sim.Scenario) { s.Duration = 2 * time.Minute }, odd: true},
	{field: "load.paced", base: loops, say: func(s *sim.Scenario) { s.Load.Paced = true }, give: func(s *sim.Scenario) { s.Load.Rate = 100 }},
	{field: "load.period", say: func(s *sim.Scenario) { s.Load.Period = 5 * time.Second }, give: func(s *sim.Scenario) { s.Load.Swing = 0.5 }, odd: true},
	{field: "load.think", say: func(s *sim.Scenario) { s.Load.Think = time.Second }, give: loops},
	{field: "load.warm", say: func(s *sim.Scenario) { s.Load.Warm = time.Second }, give: loops},
	{field: "load.warm", base: func(s *sim.Scenario) { s.Load.Loops = 1 }, say: func(s *sim.Scenario) { s.Load.Warm = time.Second }, give: loops},
	{field: "load.keys", say: func(s *sim.Scenario) { s.Load.Keys = 3 }, give: shards},
	{field: "load.keys", say: func(s *sim.Scenario) { s.Load.Keys = 1024 }, give: shards, odd: true},
	{field: "load.hot", say: func(s *sim.Scenario) { s.Load.Hot = 0.5 }, give: shards},
	{field: "load.hot", base: func(s *sim.Scenario) { shards(s); s.Load.Keys = 1 }, say: func(s *sim.Scenario) { s.Load.Hot = 0.5 }, give: func(s *sim.Scenario) { s.Load.Keys = 8 }},
	{field: "load.long_poll", base: func(s *sim.Scenario) { down(s); s.Layers[0].Once = true }, say: func(s *sim.Scenario) { s.Load.LongPoll = true }, give: func(s *sim.Scenario) { s.Layers[0].Once = false }},
	{field: "layers[0].timeout", base: func(s *sim.Scenario) { s.Layers[0].Timeout = 0 }, say: func(s *sim.Scenario) { s.Layers[0].Timeout = 3 * time.Second }, give: func(s *sim.Scenario) { silent(s); s.Layers[0].Deadline = 8 * time.Second }},

	{field: "server.shards", base: bare, say: func(s *sim.Scenario) { s.Server.Shards = 4 }, give: throttle},
	{field: "server.workers", base: bare, say: func(s *sim.Scenario) { s.Server.Workers = 2 }, give: mean},
	{field: "server.queue", base: anyWorkers, say: func(s *sim.Scenario) { s.Server.Queue = 5 }, give: func(s *sim.Scenario) { s.Server.Workers = 3 }},
	{field: "server.patience", base: anyWorkers, say: func(s *sim.Scenario) { s.Server.Patience = time.Millisecond }, give: func(s *sim.Scenario) { s.Server.Workers, s.Server.Queue = 3, 20 }},
	{field: "server.patience", base: noQueue, say: func(s *sim.Scenario) { s.Server.Patience = time.Millisecond }, give: func(s *sim.Scenario) { s.Server.Queue = 20 }},
	{field: "server.full_throttles", base: anyWorkers, say: func(s *sim.Scenario) { s.Server.FullThrottles = true }, give: func(s *sim.Scenario) { s.Server.Workers = 1 }},
	{field: "server.contention", base: bare, say: func(s *sim.Scenario) { s.Server.Contention = 0.5 }, give: mean},
	{field: "server.contention", base: func(s *sim.Scenario) { noQueue(s); s.Server.Workers = 1 }, say: func(s *sim.Scenario) { s.Server.Contention = 0.5 }, give: func(s *sim.Scenario) { s.Server.Workers = 2 }},
	{field: "server.service.shape", base: bare, say: func(s *sim.Scenario) { s.Server.Service.Shape = sim.Exponential }, give: mean},
	{field: "server.service.sigma", say: func(s *sim.Scenario) { s.Server.Service.Sigma = 1 }, give: func(s *sim.Scenario) { s.Server.Service.Shape = sim.Lognormal }, odd: true},
	{field: "server.service.sigma", base: func(s *sim.Scenario) { s.Server.Service.Shape = sim.Fixed }, say: func(s *sim.Scenario) { s.Server.Service.Shape = sim.Lognormal }, give: func(s *sim.Scenario) { s.Server.Service.Sigma = 1 }, odd: true},
	{field: "server.throttle.burst", say: func(s *sim.Scenario) { s.Server.Throttle.Burst = 5 }, give: throttle},
	{field: "server.cache.entries", say: cache, give: down},
	{field: "server.cache.entries", base: func(s *sim.Scenario) { bare(s); down(s) }, say: cache, give: mean},
	{field: "server.cache.miss_factor", base: down, say: func(s *sim.Scenario) { s.Server.Cache.MissFactor = 3 }, give: func(s *sim.Scenario) { s.Server.Cache.Entries = 1000 }, odd: true},
	{field: "server.cache.miss_factor", base: down, say: func(s *sim.Scenario) { s.Server.Cache = sim.Cache{Entries: 1000, MissFactor: 1} }, give: func(s *sim.Scenario) { s.Server.Cache.MissFactor = 3 }, odd: true},

	{field: "faults[0].shards", base: down, say: func(s *sim.Scenario) { s.Faults[0].Shards = 0.25 }, give: shards},
	{field: "faults[0].shards", base: down, say: func(s *sim.Scenario) { s.Faults[0].Shards = 1 }, give: func(s *sim.Scenario) { shards(s); s.Faults[0].Shards = 0.25 }, odd: true},
	{field: "faults[0].amount", say: fault(sim.Failing, 0), give: amount(0.5)},
	{field: "faults[0].amount", say: fault(sim.Throttled, 0), give: amount(0.5)},
	{field: "faults[0].amount", say: fault(sim.Slow, 0), give: amount(5), odd: true},
	{field: "faults[0].amount", say: fault(sim.Slow, 1), give: amount(5)},
	{field: "faults[0].amount", say: fault(sim.Crowd, 1), give: amount(3), odd: true},
	{field: "faults[0].amount", base: throttle, say: fault(sim.Tight, 1), give: amount(0.2), odd: true},
	{field: "faults[0].kind", base: bare, say: fault(sim.Slow, 5), give: mean},
	{field: "faults[0].kind", say: fault(sim.Tight, 0.2), give: throttle},
	{field: "faults[0].start", base: fault(sim.Crowd, 3), say: func(s *sim.Scenario) { s.Faults[0].Start = s.Duration }, give: func(s *sim.Scenario) { s.Faults[0].Start = 0 }, odd: true},
}

func bare(s *sim.Scenario)       { s.Server = sim.Server{Errors: s.Server.Errors} }
func mean(s *sim.Scenario)       { s.Server.Service.Mean = 10 * time.Millisecond }
func anyWorkers(s *sim.Scenario) { s.Server.Workers, s.Server.Queue = 0, 0 }
func noQueue(s *sim.Scenario)    { s.Server.Queue = 0 }
func loops(s *sim.Scenario)      { s.Load.Rate, s.Load.Loops = 0, 10 }
func shards(s *sim.Scenario)     { s.Server.Shards, s.Server.Workers = 4, 1 }
func throttle(s *sim.Scenario)   { s.Server.Throttle.Rate = 100 }
func cache(s *sim.Scenario)      { s.Server.Cache = sim.Cache{Entries: 1000, MissFactor: 3} }
func down(s *sim.Scenario)       { fault(sim.Down, 0)(s) }
func silent(s *sim.Scenario)     { fault(sim.Silent, 0)(s) }

func fault(kind sim.FaultKind, amount float64) func(*sim.Scenario) {
	return func(s *sim.Scenario) {
		s.Faults = []sim.Fault{{Kind: kind, Amount: amount, Start: 2 * time.Second, Length: 2 * time.Second}}
	}
}

// amount is that of the fault, if it is there.
func amount(a float64) func(*sim.Scenario) {
	return func(s *sim.Scenario) {
		for i := range s.Faults {
			s.Faults[i].Amount = a
		}
	}
}

// What is told to be without effect is, and what gives it one does: by what becomes of
// each call.
func TestWithoutEffect(t *testing.T) {
	require.Empty(t, effective().WithoutEffect())
	calls := func(s sim.Scenario) (all []sim.Ended, sum sim.Counts) {
		t.Helper()
		r, err := sim.Run(s, sim.Standard(), sim.Watch{Ended: func(e sim.Ended) { all = append(all, e) }})
		require.NoError(t, err)
		return all, r.Counts
	}
	same := func(a, b sim.Scenario) bool {
		ofA, sumA := calls(a)
		ofB, sumB := calls(b)
		return sumA == sumB && slices.Equal(ofA, ofB)
	}
	for i, use := range uses {
		name := fmt.Sprintf("row %d, %s", i, use.field)
		edited := func(edits ...func(*sim.Scenario)) sim.Scenario {
			s := effective()
			for _, edit := range edits {
				if edit != nil {
					edit(&s)
				}
			}
			return s
		}
		require.Empty(t, edited(use.base).WithoutEffect(), name)
		said := edited(use.base, use.say)
		require.NoError(t, said.Validate(), name)
		found := said.WithoutEffect()
		require.Len(t, found, 1, name)
		assert.Equal(t, use.field, found[0].Field, name)
		assert.Contains(t, found[0].Text, "want ", name)
		assert.True(t, strings.HasPrefix(found[0].Text, "is "), name)

		given := edited(use.base, use.say, use.give)
		require.NoError(t, given.Validate(), name)
		assert.Empty(t, given.WithoutEffect(), name)
		if use.odd {
			continue
		}
		assert.True(t, same(edited(use.base), said), "%s: it has an effect", name)
		assert.False(t, same(edited(use.base, use.give), given), "%s: it has none", name)
	}
}

// No field is forgotten: of each it is known when it has an effect.
func TestEveryFieldHasAUse(t *testing.T) {
	known := make(map[string]bool)
	for _, field := range always {
		known[field] = true
	}
	for _, use := range uses {
		known[use.field] = true
	}
	var fields []string
	var walk func(path string, of reflect.Type)
	walk = func(path string, of reflect.Type) {
		switch of.Kind() {
		case reflect.Slice:
			walk(path+"[0]", of.Elem())
		case reflect.Struct:
			for i := range of.NumField() {
				walk(strings.TrimPrefix(path+"."+snake(of.Field(i).Name), "."), of.Field(i).Type)
			}
		default:
			fields = append(fields, path)
		}
	}
	walk("", reflect.TypeFor[sim.Scenario]())
	for _, field := range fields {
		assert.True(t, known[field], field)
		delete(known, field)
	}
	assert.Empty(t, known, "these are no fields")
}

// snake is a name as files spell it.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
