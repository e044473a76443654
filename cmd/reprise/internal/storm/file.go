package storm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reprise-go/reprise/cmd/reprise/internal/conf"
	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
	"github.com/reprise-go/reprise/internal/sim"
)

var kind = conf.Kind{Name: "scenario", Key: "load and layers", Empty: "duration, load, layers and server"}

// Load reads a setup from a file in YAML or TOML. Its error names file, line and
// key.
func Load(name string) (s Setup, err error) {
	if err := kind.Load(name, s.read); err != nil {
		return Setup{}, err
	}
	return s, nil
}

// Parse is Load of a text.
func Parse(name string, text []byte) (s Setup, err error) {
	if err := kind.Parse(name, text, s.read); err != nil {
		return Setup{}, err
	}
	return s, nil
}

func (s *Setup) read(root *conf.Table) {
	faults := root.Faults()
	s.Name = "scenario"
	root.Text("name", &s.Name)
	root.Text("about", &s.About)
	w := &s.Scenario
	w.Seed = 1
	root.Unsigned("seed", &w.Seed)
	root.Duration("duration", &w.Duration)
	root.Duration("sample", &w.Sample)
	notZero(root, "sample", w.Sample, "more than 0s, or it left out, for 200 samples")
	readLoad(root.Table("load"), &w.Load)
	for _, t := range root.Tables("layers") {
		var l sim.Layer
		t.Whole("callers", &l.Callers)
		t.Duration("deadline", &l.Deadline)
		t.Duration("timeout", &l.Timeout)
		t.Duration("latency", &l.Latency)
		t.Truth("once", &l.Once)
		t.Done()
		w.Layers = append(w.Layers, l)
	}
	readServer(root.Table("server"), &w.Server)
	for _, t := range root.Tables("faults") {
		w.Faults = append(w.Faults, readFault(t))
	}
	s.readPolicies(root)
	for _, must := range []struct{ key, want string }{
		{"duration", "how long calls begin, such as 5m"}, {"load", "the calls that the clients begin, such as {rate: 280}"}, {"layers", "a list of one table or more, of which the first is the clients"},
	} {
		if !root.Has(must.key) {
			root.Fault(must.key, "is missing: want %s", must.want)
		}
	}
	root.Done()
	if root.Faults() > faults {
		return
	}
	var invalid *sim.InvalidError
	if errors.As(w.Validate(), &invalid) {
		root.Fault(invalid.Field, "%s", invalid.Text)
		return
	}
	for _, idle := range w.WithoutEffect() {
		root.Fault(idle.Field, "%s", idle.Text)
	}
}

// notZero refuses a zero of a key whose default is something else: it would be taken
// for left out.
func notZero[T int | float64 | time.Duration](t *conf.Table, key string, value T, want string) {
	if t.Has(key) && value == 0 && !t.Wrong(key) {
		t.Fault(key, "is %v: want %s", value, want)
	}
}

func readLoad(t *conf.Table, l *sim.Load) {
	t.Number("rate", &l.Rate)
	t.Truth("paced", &l.Paced)
	t.Number("swing", &l.Swing)
	t.Duration("period", &l.Period)
	for _, b := range t.Tables("bursts") {
		var burst sim.Burst
		b.Duration("at", &burst.At)
		b.Whole("calls", &burst.Calls)
		b.Done()
		l.Bursts = append(l.Bursts, burst)
	}
	t.Whole("loops", &l.Loops)
	t.Duration("think", &l.Think)
	t.Duration("warm", &l.Warm)
	t.Whole("keys", &l.Keys)
	notZero(t, "keys", l.Keys, "1 or more, or it left out, for 1024")
	t.Number("hot", &l.Hot)
	t.Truth("long_poll", &l.LongPoll)
	t.Done()
}

func readServer(t *conf.Table, s *sim.Server) {
	t.Whole("shards", &s.Shards)
	notZero(t, "shards", s.Shards, "1 or more, or it left out, for one")
	t.Whole("workers", &s.Workers)
	t.Whole("queue", &s.Queue)
	t.Number("contention", &s.Contention)
	t.Duration("patience", &s.Patience)
	t.Truth("full_throttles", &s.FullThrottles)

	service := t.Table("service")
	service.Duration("mean", &s.Service.Mean)
	readName(service, "shape", []string{"fixed", "exponential", "lognormal"}, &s.Service.Shape)
	service.Number("sigma", &s.Service.Sigma)
	service.Done()

	throttle := t.Table("throttle")
	throttle.Number("rate", &s.Throttle.Rate)
	throttle.Number("burst", &s.Throttle.Burst)
	notZero(throttle, "burst", s.Throttle.Burst, "1 or more, or it left out, for a second's worth")
	throttle.Done()

	errs := t.Table("errors")
	errs.Number("transient", &s.Errors.Transient)
	errs.Number("throttling", &s.Errors.Throttling)
	errs.Number("permanent", &s.Errors.Permanent)
	errs.Done()

	cache := t.Table("cache")
	cache.Number("entries", &s.Cache.Entries)
	cache.Number("miss_factor", &s.Cache.MissFactor)
	cache.Done()
	t.Done()
}

func readFault(t *conf.Table) (f sim.Fault) {
	if !t.Has("kind") {
		t.Fault("kind", "is missing: want %s", strings.Join(faultKinds(), ", "))
	}
	readName(t, "kind", faultKinds(), &f.Kind)
	t.Duration("start", &f.Start)
	t.Duration("length", &f.Length)
	t.Number("shards", &f.Shards)
	notZero(t, "shards", f.Shards, "the share of the shards, above 0, or it left out, for all")
	t.Number("amount", &f.Amount)
	if want := amounts[f.Kind]; want != "" && t.Has("kind") && !t.Wrong("kind") && !t.Has("amount") {
		t.Fault("amount", "is missing: %s wants %s", f.Kind, want)
	}
	t.Done()
	return f
}

// amounts say what a fault's amount is, of those that have one.
var amounts = map[sim.FaultKind]string{
	sim.Failing:   "the share of the requests that fail, such as 0.3",
	sim.Throttled: "the share of the requests that are throttled, such as 0.3",
	sim.Slow:      "how many times as long service takes, such as 10",
	sim.Crowd:     "how many times as many calls come, such as 3",
	sim.Tight:     "how many times as many requests the throttle lets through, such as 0.5",
}

func faultKinds() (names []string) {
	for k := sim.FaultKind(0); k.String() != "unknown"; k++ {
		names = append(names, k.String())
	}
	return names
}

// readName reads one of some names, as its number.
func readName[T ~uint8](t *conf.Table, key string, names []string, to *T) {
	conf.Read(t, key, "one of "+strings.Join(names, ", "), to, func(v any) (T, error) {
		text, err := conf.AsText(v)
		if err != nil {
			return 0, err
		}
		for i, name := range names {
			if strings.EqualFold(name, text) {
				return T(i), nil
			}
		}
		return 0, fmt.Errorf("%q: %swant %s", scenario.Shorten(text), scenario.DidYouMean(text, names), strings.Join(names, ", "))
	})
}

// zeroNumber is what is wrong with a zero in a policy: it would be taken for left out.
const zeroNumber = "is 0: want more, or it left out, for the default"

// readPolicies reads which policies to run, and the user's own.
func (s *Setup) readPolicies(root *conf.Table) {
	var names []string
	root.Texts("policies", &names)
	if root.Has("policies") && len(names) == 0 && !root.Wrong("policies") {
		root.Fault("policies", "is an empty list: want the names of policies, or it left out, for all")
	}
	if root.Has("policy") { // it runs in any case
		given := len(names)
		names = slices.DeleteFunc(names, func(name string) bool { return name == OwnName })
		s.OwnAlone = given > 0 && len(names) == 0
	} else if slices.Contains(names, OwnName) {
		root.Fault("policies", "name %q: want its numbers with it, under policy", OwnName)
		return
	}
	found, err := FindPolicies(names)
	if err != nil {
		root.Fault("policies", "name %v", err)
	}
	s.Policies = found
	if !root.Has("policy") {
		root.Table("policy")
		return
	}
	own, faults := root.Table("policy"), root.Faults()
	var numbers Own
	numbers.ReadEngine(own)
	for _, n := range []struct {
		table, key string
		value      int64
	}{
		{"quota", "capacity", int64(numbers.Quota.Capacity)}, {"quota", "transient_cost", int64(numbers.Quota.TransientCost)}, {"quota", "throttling_cost", int64(numbers.Quota.ThrottlingCost)},
		{"backoff", "transient", int64(numbers.Backoff.Transient)}, {"backoff", "throttling", int64(numbers.Backoff.Throttling)}, {"backoff", "max", int64(numbers.Backoff.Max)},
	} {
		if own.Faults() == faults && n.value == 0 && own.Table(n.table).Has(n.key) {
			own.Fault(n.table+"."+n.key, zeroNumber)
		}
	}
	own.Truth("pacing", &numbers.Pacing)
	own.Done()
	if root.Faults() > faults {
		return
	}
	if fault, wrong := numbers.Check(); wrong {
		own.Fault(fault.Key, "%s", fault.Text)
		return
	}
	s.SetOwn(numbers)
}
