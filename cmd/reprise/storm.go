package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reprise-go/reprise/cmd/reprise/internal/progress"
	"github.com/reprise-go/reprise/cmd/reprise/internal/report"
	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
	"github.com/reprise-go/reprise/cmd/reprise/internal/storm"
	"github.com/reprise-go/reprise/internal/sim"
)

// stormCommand is `reprise storm`.
type stormCommand struct {
	Scenario string   `arg:"" optional:"" help:"A built-in scenario, or a file in YAML or TOML."`
	Policies []string `sep:"," placeholder:"NAME" help:"Policies to run, of those below. Default: all; of a file with policies, these."`
	Seed     *uint64  `placeholder:"N" help:"Picks all that is random. Default: 1; of a file with a seed, that."`
	List     bool     `help:"Say what the built-in scenarios are, and end."`

	Mode              *string        `group:"Own policy (one more, named own)" placeholder:"MODE" help:"Retry mode: standard, adaptive, legacy. Default: standard."`
	MaxAttempts       *int           `group:"Own policy (one more, named own)" placeholder:"N" help:"Most attempts of a call, the first included. Default: 3, DynamoDB 4, legacy 5."`
	Service           *string        `group:"Own policy (one more, named own)" placeholder:"ID" help:"AWS service whose defaults count, such as dynamodb."`
	Coalesce          *time.Duration `group:"Own policy (one more, named own)" placeholder:"WINDOW" help:"In adaptive mode, let a burst of throttles within so long cut the rate once. Default: 0s, none."`
	Pacing            bool           `group:"Own policy (one more, named own)" help:"A call whose retry the quota refuses waits its backoff before it fails."`
	QuotaCapacity     *int           `group:"Own policy (one more, named own)" placeholder:"TOKENS" help:"Tokens of the retry quota. Default: 500."`
	QuotaTransient    *int           `name:"quota-transient-cost" group:"Own policy (one more, named own)" placeholder:"TOKENS" help:"What a retry after a transient failure costs. Default: 14."`
	QuotaThrottling   *int           `name:"quota-throttling-cost" group:"Own policy (one more, named own)" placeholder:"TOKENS" help:"What a retry after a throttling failure costs. Default: 5."`
	BackoffTransient  *time.Duration `group:"Own policy (one more, named own)" placeholder:"TIME" help:"Base of the delays after transient failures. Default: 50ms."`
	BackoffThrottling *time.Duration `group:"Own policy (one more, named own)" placeholder:"TIME" help:"Base of the delays after throttling failures. Default: 1s."`
	BackoffMax        *time.Duration `group:"Own policy (one more, named own)" placeholder:"TIME" help:"The longest delay, before its jitter. Default: 20s."`

	sizeFlags `embed:""`

	JSON  bool   `group:"Output" name:"json" help:"Print the result as JSON instead of a table."`
	HTML  string `group:"Output" name:"html" placeholder:"FILE" help:"Also write the result as a self-contained page with charts."`
	SVG   string `group:"Output" name:"svg" placeholder:"FOLDER" help:"Also write the charts as SVG files into this folder."`
	Quiet bool   `group:"Output" short:"q" help:"Show no progress."`
}

// Help is the long help of the command.
func (stormCommand) Help() string {
	var names strings.Builder
	for _, s := range storm.Builtin() {
		fmt.Fprintf(&names, "  %-17s%s\n", s.Name, s.About)
	}
	return `Simulates a fleet of clients and the service that they call, in virtual time, once under each policy, and says what became of calls and service. It runs the engine itself, not a model of it. The result depends on scenario, policies and seed alone.

Scenarios (metastable if none is named):
` + names.String() + `
Policies: none (one attempt), naive (3 attempts, 100ms apart, no quota), legacy, envoy (3 attempts; retries under way up to 20 % of the calls under way), linkerd (3 attempts; retries up to 20 % of the calls of the last 10s), standard, pacing (standard with pacing), dynamodb, adaptive, coalescing (adaptive, one cut for a burst of throttles), own.

Columns: ` + storm.Legend + `

A file holds a scenario, read strictly: a key it does not know is an error with its line, as is one that has no effect beside the others.

  name: checkout                # and about, seed, sample (width of a point)
  duration: 5m                  # in which calls begin
  load: {rate: 280}             # calls/s; or loops: 100 with think, or bursts: [{at: 10s, calls: 5000}];
                                # paced, swing, period, warm, keys, hot (share of one key), long_poll
  layers:                       # the clients, then gateways; each caller has its own engine
    - {callers: 20, deadline: 10s, timeout: 1s, latency: 1ms}   # once: true never retries
  server:                       # shards, contention, patience, full_throttles
    workers: 3                                  # of each 100/s here, so 300 requests/s
    queue: 1500
    service: {mean: 10ms, shape: exponential}   # fixed, exponential, lognormal with sigma
    throttle: {rate: 500, burst: 500}           # of one shard
    errors: {transient: 0.01, throttling: 0, permanent: 0}
    cache: {entries: 2000, miss_factor: 3}      # cold after a fault that is down
  faults:                       # down, silent, failing, throttled, slow, crowd, tight
    - {kind: slow, start: 1m, length: 10s, amount: 10}          # shards: share of them
    - {kind: down, start: 3m, length: 20s}
  policies: [none, standard]    # which to run
  policy:                       # one more, named own
    max_attempts: 5             # and mode, service, coalesce, pacing
    quota: {capacity: 1000, transient_cost: 14, throttling_cost: 5}
    backoff: {transient: 50ms, throttling: 1s, max: 20s}

Keys of --json: schema, scenario, about, seed, duration_ms, sample_ms, trouble_from_ms and trouble_until_ms (the faults; null without), policies. Of a policy: policy, calls, successes, success_rate, offered_per_second; requests, load_per_second, peak_load_per_second, amplification, attempts_by_layer, retries; server (served, wasted, throttled, failed, lost); stops (non_retryable, max_attempts, quota, deadline); latency_ms (p50, p99, p99_9, max); tokens (taken, left, capacity; null without quota); recovery (known, recovered, after_ms); points. Of a point: at_ms; offered_per_second, load_per_second, goodput_per_second, failures_per_second, throttles_per_second, wasted_per_second; quota, fill_rate, queued, in_flight, waiting, cold.

With --size nothing is compared: given what calls meet, it finds the fewest attempts, the longest backoff and the smallest quota that let --success of the calls succeed within --deadline, with no more than --amplification requests a call, also in an outage. It calculates, from 1 - p^n, the quota's drift and level as a Markov chain, and the distribution of the jittered delays; then it simulates what it found. If nothing does, it says what could. Keys of its --json: schema, question, plan (max_attempts, quota_capacity, quota_transient_cost, quota_throttling_cost, backoff_transient_ms, backoff_throttling_ms, backoff_max_ms), calculated and simulated (calls, success_rate, success_rate_without_quota, requests_per_call, outage_requests_per_call, drift_tokens_per_call, quota_level, p50_ms, p99_ms), choices (the same by attempts, and meets), tradeoff (by max_attempts: points with capacity); of the question rate_per_second, clients, deadline_ms, answer_ms, transient, throttling, success_rate, requests_per_call, outage_ms.

Exit codes: 0 done, whatever became of the calls; 1 the file is wrong, the result cannot be written, calls would take 100 years or too many are under way at once (33 million), or with --size nothing does; 2 the command line is; 129, 130 or 143 ended by SIGHUP, SIGINT or SIGTERM.

Examples:
  reprise storm                                    a failure that outlives its cause
  reprise storm outage --policies none,standard,naive
  reprise storm throttle --policies adaptive,coalescing
  reprise storm metastable --max-attempts 5 --quota-capacity 100
  reprise storm --html storm.html                  the same with charts, for a browser
  reprise storm outage --svg charts                each chart as a file of its own
  reprise storm checkout.yaml --seed 7 --json
  reprise storm --size --transient 3% --throttling 2% --deadline 2s --success 99.9%
  reprise storm --size --rate 500 --clients 20 --transient 8% --amplification 1.2 --html size.html`
}

// defaultStorm shows most.
const defaultStorm = "metastable"

// Run runs the storm and reports it.
func (c *stormCommand) Run(out streams) error {
	if err := c.checkSize(); err != nil {
		return usageError{err}
	}
	if c.Size {
		return c.size(out)
	}
	if c.List {
		if flag := c.besidesList(); flag != "" {
			return usageError{fmt.Errorf("--list runs nothing: want it without %s", flag)}
		}
		for _, s := range storm.Builtin() {
			if _, err := fmt.Fprintf(out.Out, "%-17s%s\n", s.Name, s.About); err != nil {
				return fmt.Errorf("result: %w", err)
			}
		}
		return nil
	}
	setup, err := c.setup()
	if err != nil {
		return err
	}
	output, err := openReport(c.HTML, c.JSON)
	if err != nil {
		return err
	}
	pictures, err := openPictures(c.SVG)
	if err != nil {
		output.Discard()
		return err
	}
	defer pictures.Discard()
	ctx, signals := watchSignals(func() { output.Discard(); pictures.Discard() })
	defer signals.stop()
	work := setup.Prepare()
	stop := func() {}
	switch {
	case c.Quiet:
	case width(out.Err) >= liveWidth:
		stop = progress.Bar(out.Err, "storm ", work)
	default:
		stop = progress.BarLines(out.Err, "storm", work)
	}
	begun := time.Now()
	result, err := untilEnded(ctx, func() (storm.Result, error) { return setup.Run(ctx, work) })
	stop()
	if err != nil {
		output.Discard()
		if ctx.Err() != nil {
			return exitError(signals.exitCode())
		}
		return err
	}
	if !c.Quiet {
		took := time.Since(begun)
		_, _ = fmt.Fprintf(out.Err, "simulated %.1f million calls in %.1f s\n", float64(work.Calls())/1e6, took.Seconds())
	}
	// Before the result is printed, whose reader may have gone.
	err = writePictures(pictures, setup, result)
	return firstError(err, deliver(output, func() ([]byte, error) { return storm.HTML(setup, result) }, func() error {
		return c.print(result, out)
	}))
}

// besidesList is what would be without effect beside --list.
func (c *stormCommand) besidesList() string {
	for _, flag := range []struct {
		name string
		is   bool
	}{
		{c.Scenario, c.Scenario != ""}, {"--policies", len(c.Policies) > 0}, {"--seed", c.Seed != nil}, {"the flags of the own policy", c.ownSaid()},
		{"--json", c.JSON}, {"--html", c.HTML != ""}, {"--svg", c.SVG != ""},
	} {
		if flag.is {
			return flag.name
		}
	}
	return ""
}

// openPictures prepares to write the files of --svg; nil if there are to be none.
func openPictures(folder string) (*report.Folder, error) {
	switch folder {
	case "":
		return nil, nil
	case "-":
		return nil, usageError{errors.New("--svg -: want the name of a folder, such as charts")}
	}
	return report.OpenFolder(folder, storm.PictureNames())
}

func writePictures(folder *report.Folder, setup storm.Setup, result storm.Result) error {
	if folder == nil {
		return nil
	}
	pictures, err := storm.SVG(setup, result)
	for _, p := range pictures {
		err = firstError(err, folder.Write(p.Name, p.Text))
	}
	return err
}

func (c *stormCommand) print(result storm.Result, out streams) (err error) {
	text := []byte(storm.Table(result, width(out.Out)))
	if c.JSON {
		if text, err = storm.JSON(result); err != nil {
			return err
		}
	}
	if _, err := out.Out.Write(text); err != nil {
		return fmt.Errorf("result: %w", err)
	}
	return nil
}

// setup is the scenario and the policies that the command line asks for.
func (c *stormCommand) setup() (setup storm.Setup, err error) {
	name := c.Scenario
	if name == "" {
		name = defaultStorm
	}
	setup, builtin := storm.Find(name)
	switch {
	case builtin:
		setup.Scenario.Seed = 1
	case !isFile(name):
		return setup, usageError{fmt.Errorf("unknown scenario %q: %swant %s, or a file that ends in .yaml, .yml or .toml", scenario.Shorten(name), scenario.DidYouMean(name, builtinNames()), strings.Join(builtinNames(), ", "))}
	default:
		if setup, err = storm.Load(name); err != nil {
			return setup, inLines(err)
		}
	}
	if c.Seed != nil {
		setup.Scenario.Seed = *c.Seed
	}
	own, given, err := c.own()
	if err != nil {
		return setup, usageError{err}
	}
	if given {
		setup.SetOwn(own)
	}
	return setup, c.choosePolicies(&setup)
}

// choosePolicies puts the policies that were named before the own one, or all if
// neither flags nor file name any.
func (c *stormCommand) choosePolicies(setup *storm.Setup) error {
	named, own := splitOwn(setup.Policies)
	names := storm.PolicyNames()
	switch {
	case len(c.Policies) > 0:
		wanted := slices.Clone(c.Policies)
		if i := slices.Index(wanted, storm.OwnName); i >= 0 {
			if own == nil {
				return usageError{errors.New("--policies names own: want a flag of the own policy with it, such as --max-attempts, or a file with a policy")}
			}
			wanted = slices.DeleteFunc(wanted, func(name string) bool { return name == storm.OwnName })
		} else if own != nil && !c.ownGiven() {
			own = nil // the file's, which nobody asked for
		}
		names = wanted
	case len(named) > 0 || setup.OwnAlone:
		setup.Policies = append(named, own...)
		return nil
	}
	found, err := storm.FindPolicies(names)
	if err != nil {
		return usageError{fmt.Errorf("--policies names %w", err)}
	}
	setup.Policies = append(found, own...)
	return nil
}

func splitOwn(policies []sim.Policy) (named, own []sim.Policy) {
	for _, p := range policies {
		if p.Name == storm.OwnName {
			own = append(own, p)
		} else {
			named = append(named, p)
		}
	}
	return named, own
}

// ownSaid reports whether there is any flag of the own policy, right or wrong.
func (c *stormCommand) ownSaid() bool {
	_, given, _ := c.own()
	return given
}

func (c *stormCommand) ownGiven() bool {
	_, given, err := c.own()
	return given && err == nil
}

// own is the policy that the flags describe, if they do.
func (c *stormCommand) own() (own storm.Own, given bool, err error) {
	own.Pacing, given = c.Pacing, c.Pacing
	if c.Mode != nil {
		if own.Mode, err = scenario.ParseMode(*c.Mode); err != nil {
			return own, true, fmt.Errorf("--mode: %w", err)
		}
		given = true
	}
	if c.MaxAttempts != nil {
		if err := scenario.CheckAttempts(*c.MaxAttempts); err != nil {
			return own, true, err
		}
	}
	given = set(&own.MaxAttempts, c.MaxAttempts) || given
	given = set(&own.Service, c.Service) || given
	given = set(&own.Coalesce, c.Coalesce) || given
	given = set(&own.Quota.Capacity, c.QuotaCapacity) || given
	given = set(&own.Quota.TransientCost, c.QuotaTransient) || given
	given = set(&own.Quota.ThrottlingCost, c.QuotaThrottling) || given
	given = set(&own.Backoff.Transient, c.BackoffTransient) || given
	given = set(&own.Backoff.Throttling, c.BackoffThrottling) || given
	given = set(&own.Backoff.Max, c.BackoffMax) || given
	if !given {
		return own, false, nil
	}
	if flag := c.zero(); flag != "" {
		return own, true, fmt.Errorf("--%s is 0: want more, or it left out, for the default", flag)
	}
	if fault, wrong := own.Check(); wrong {
		return own, true, fault.AsFlag()
	}
	return own, true, nil
}

// zero is the first of the numbers that were given as none: each would be taken for
// left out.
func (c *stormCommand) zero() string {
	is := func(n *int) bool { return n != nil && *n == 0 }
	none := func(d *time.Duration) bool { return d != nil && *d == 0 }
	for _, flag := range []struct {
		name string
		is   bool
	}{
		{"quota-capacity", is(c.QuotaCapacity)}, {"quota-transient-cost", is(c.QuotaTransient)}, {"quota-throttling-cost", is(c.QuotaThrottling)},
		{"backoff-transient", none(c.BackoffTransient)}, {"backoff-throttling", none(c.BackoffThrottling)}, {"backoff-max", none(c.BackoffMax)},
	} {
		if flag.is {
			return flag.name
		}
	}
	return ""
}

// set takes a flag's value, if there is one.
func set[T any](to, from *T) (given bool) {
	if from != nil {
		*to = *from
	}
	return from != nil
}

func builtinNames() (names []string) {
	for _, s := range storm.Builtin() {
		names = append(names, s.Name)
	}
	return names
}

func isFile(name string) bool { return filepath.Ext(name) != "" || strings.ContainsAny(name, `/\`) }

// inLines is an error whose parts are told one by one.
func inLines(err error) error {
	var faults interface{ Unwrap() []error }
	if errors.As(err, &faults) {
		return errorLines(faults.Unwrap())
	}
	return err
}
