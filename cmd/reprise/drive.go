package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/reprise-go/reprise/cmd/reprise/internal/drive"
	"github.com/reprise-go/reprise/cmd/reprise/internal/faulty"
	"github.com/reprise-go/reprise/cmd/reprise/internal/progress"
	"github.com/reprise-go/reprise/cmd/reprise/internal/record"
	"github.com/reprise-go/reprise/cmd/reprise/internal/report"
	"github.com/reprise-go/reprise/cmd/reprise/internal/scenario"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/settings"
)

const (
	defaultDuration = 10 * time.Second
	defaultRate     = 2000
	defaultWorkers  = 256
	defaultCoalesce = time.Minute // where nothing but adaptive mode is asked for
)

// defaults are the variables in the tags below.
var defaults = kong.Vars{
	"faults":   faulty.DefaultMix,
	"outage":   faulty.DefaultOutage,
	"rate":     fmt.Sprint(defaultRate),
	"coalesce": defaultCoalesce.String(),
	"workers":  fmt.Sprint(defaultWorkers),
}

// driveCommand is `reprise drive`.
type driveCommand struct {
	Duration *time.Duration `group:"Load" placeholder:"10s" help:"Begin calls for this long. Default: 10s, or no limit with --calls."`
	Calls    *uint64        `group:"Load" placeholder:"N" help:"Begin N calls and end."`
	Workers  *int           `group:"Load" placeholder:"N" help:"Make up to N calls at a time, each on a connection of its own. Default: ${workers}; with a capacity and a rate, what the rate needs if every call takes the deadline."`
	Rate     *float64       `group:"Load" placeholder:"PER-SECOND" help:"Begin at most so many calls per second; 0 is as fast as it goes. Default: ${rate}; 0 with --calls, but not where --capacity has a default."`

	Mode           *string        `group:"Engine" placeholder:"MODE" help:"Retry mode: standard, adaptive, legacy. Default: standard."`
	MaxAttempts    *int           `group:"Engine" placeholder:"N" help:"Most attempts of a call, the first included. Default: 3, DynamoDB 4, legacy 5."`
	Service        string         `group:"Engine" placeholder:"ID" help:"AWS service whose defaults count, such as dynamodb."`
	Deadline       time.Duration  `group:"Engine" default:"3s" help:"Time that a call may take with all its retries; 0s is no limit. Default: ${default}."`
	Coalesce       *time.Duration `group:"Engine" placeholder:"WINDOW" help:"In adaptive mode, let a burst of throttles within so long cut the rate once; 0s is for every throttle to cut. Default: 0s; ${coalesce} where --capacity has a default."`
	AttemptTimeout time.Duration  `group:"Engine" default:"1s" help:"Time that one attempt may take; 0s is no limit. Default: ${default}."`

	settingsFlags `embed:""`

	Capacity  *float64      `group:"Embedded server" placeholder:"PER-SECOND" help:"Throttle the requests above so many per second, after a burst of a second's worth; 0 is no limit. Default: 0; in adaptive mode, unless --faults, --outage or --target is given, two thirds of the rate, or a sixth of the run's calls if that is less."`
	Faults    *string       `group:"Embedded server" placeholder:"KIND=SHARE,..." help:"What share of the requests fails how; kinds left out do not occur; none for none. Default: ${faults}; none with a capacity."`
	Outage    *string       `group:"Embedded server" placeholder:"START+LENGTH+RECOVERY" help:"When everything fails, and how long failures then take to go back to normal, as shares of the run; none for none. Default: ${outage}; none with a capacity."`
	Latency   time.Duration `group:"Embedded server" default:"0s" placeholder:"TIME" help:"How long every answer takes at the least, throttles included. Default: ${default}."`
	SlowDelay time.Duration `group:"Embedded server" default:"1500ms" help:"How late slow answers are. Default: ${default}."`
	Seed      uint64        `group:"Embedded server" default:"1" placeholder:"N" help:"Picks the sequence of faults. Default: ${default}."`

	Target      string `group:"Own server" placeholder:"URL" help:"Send GET requests to this URL instead of the embedded server."`
	AllowRemote bool   `group:"Own server" help:"Let the target be another machine. Load only what is yours."`

	JSON  bool   `group:"Output" name:"json" help:"Print the result as JSON instead of a table."`
	HTML  string `group:"Output" name:"html" placeholder:"FILE" help:"Also write the result as a self-contained page with charts."`
	Quiet bool   `group:"Output" short:"q" help:"Show no progress."`
}

// Help is the long help of the command.
func (driveCommand) Help() string {
	return `Shows the progress on standard error, live on a terminal and else as a line a second, and at the end the result on standard output.

Kinds of faults: 500; 503 (HTML body); throttle (400 with DynamoDB's throughput exception); retry-after (500 or 503 with x-amz-retry-after); reset (of the connection); cut (the body ends early); slow.

Ctrl-C cancels the calls in flight and reports what there is; a second Ctrl-C ends at once. Exit codes: 0 done, 1 the run failed or the settings are wrong, 2 wrong flags, 129, 130 or 143 ended by SIGHUP, SIGINT or SIGTERM.

Examples:
  reprise drive                                    the demonstration: 10 s with an outage
  reprise drive --calls 1000000 --html run.html    a million calls, as fast as they go
  reprise drive --faults throttle=30% --outage none --service dynamodb
  reprise drive --mode adaptive --html run.html    the send rate follows what the server can take
  reprise drive --mode adaptive --capacity 500 --rate 750 --latency 20ms --coalesce 1m
  reprise drive --mode legacy --duration 5s --json
  reprise drive --settings --profile prod          mode and attempts as the environment and the config file have them
  reprise drive --target http://127.0.0.1:8080/ --rate 500`
}

// Run makes the run and reports it.
func (c *driveCommand) Run(out streams) error {
	found, err := c.load()
	if err != nil {
		return err
	}
	config, err := c.config(found)
	if err != nil {
		return usageError{err}
	}
	output, err := openReport(c.HTML, c.JSON)
	if err != nil {
		return err
	}

	ctx, signals := watchSignals(output.Discard)
	defer signals.stop()
	res, err := c.drive(ctx, config, out)
	if res.Schema == "" { // it could not begin
		output.Discard()
		if ctx.Err() != nil {
			return exitError(signals.exitCode())
		}
		return err
	}
	page := func() ([]byte, error) { return report.HTML(res) }
	err = firstError(err, deliver(output, page, func() error { return c.print(res, out) }))
	if err == nil && res.Interrupted {
		return exitError(signals.exitCode())
	}
	return err
}

// drive makes the run, with its progress shown.
func (c *driveCommand) drive(ctx context.Context, config drive.Config, out streams) (res record.Result, err error) {
	d, err := drive.Prepare(ctx, config)
	if err != nil {
		return res, err
	}
	defer func() { err = firstError(err, d.Close()) }()
	return d.Run(ctx, func(r *record.Recorder) (stop func()) {
		phases := config.Target == nil && config.Outage != faulty.Outage{}
		switch {
		case c.Quiet:
			return func() {}
		case width(out.Err) >= liveWidth:
			return progress.Live(out.Err, r, d.Progress, phases)
		default:
			return progress.Lines(out.Err, r, phases)
		}
	})
}

func (c *driveCommand) print(res record.Result, out streams) error {
	text := []byte(report.Table(res, isTerminal(out.Out)))
	if c.JSON {
		var err error
		if text, err = report.JSON(res); err != nil {
			return err
		}
	}
	if _, err := out.Out.Write(text); err != nil {
		return fmt.Errorf("result: %w", err)
	}
	return nil
}

// baseline is how many calls the baseline is of: what [drive.Config] says, but in short tests.
var baseline int

// config reads the flags, which go before the settings if there are any.
func (c *driveCommand) config(found *settings.Settings) (drive.Config, error) {
	config := drive.Config{
		AllowRemote:    c.AllowRemote,
		Service:        c.Service,
		Deadline:       c.Deadline,
		AttemptTimeout: c.AttemptTimeout,
		Latency:        c.Latency,
		SlowDelay:      c.SlowDelay,
		Seed:           c.Seed,
		Baseline:       baseline,
	}
	if found != nil {
		config.Mode, config.MaxAttempts = found.Mode.Value(), found.MaxAttempts.Value()
	}
	if c.Calls != nil {
		if config.Calls = *c.Calls; config.Calls == 0 {
			return config, errors.New("--calls is 0: want 1 or more")
		}
	} else {
		config.Rate = defaultRate
		config.Duration = defaultDuration
	}
	if c.Duration != nil {
		if config.Duration = *c.Duration; config.Duration <= 0 {
			return config, fmt.Errorf("--duration is %v: want more than 0", config.Duration)
		}
	}
	if c.Rate != nil {
		config.Rate = *c.Rate
	}
	if c.MaxAttempts != nil {
		if err := scenario.CheckAttempts(*c.MaxAttempts); err != nil {
			return config, err
		}
		config.MaxAttempts = *c.MaxAttempts
	}
	var err error
	if c.Service != "" {
		if err = scenario.CheckService(c.Service); err != nil {
			return config, fmt.Errorf("--service: %w", err)
		}
	}
	if c.Mode != nil {
		if config.Mode, err = scenario.ParseMode(*c.Mode); err != nil {
			return config, fmt.Errorf("--mode: %w", err)
		}
	}
	if c.Capacity != nil {
		config.Capacity = *c.Capacity
	}
	if c.Coalesce != nil {
		config.Coalesce = *c.Coalesce
	}
	if config.Mode == engine.Adaptive && c.Capacity == nil && c.Faults == nil && c.Outage == nil && c.Target == "" {
		c.showAdaptive(&config)
	}
	if config.Workers = config.DefaultWorkers(defaultWorkers); c.Workers != nil {
		config.Workers = *c.Workers
	}
	faults, outage := faulty.DefaultMix, faulty.DefaultOutage
	if config.Capacity > 0 { // whose throttles are then the only faults
		faults, outage = "none", "none"
	}
	if c.Faults != nil {
		faults = *c.Faults
	}
	if c.Outage != nil {
		outage = *c.Outage
	}
	if config.Faults, err = faulty.ParseMix(faults); err != nil {
		return config, fmt.Errorf("--faults: %w", err)
	}
	if config.Outage, err = faulty.ParseOutage(outage); err != nil {
		return config, fmt.Errorf("--outage: %w", err)
	}
	if c.Target != "" {
		if config.Target, err = drive.ParseTarget(c.Target); err != nil {
			return config, err
		}
	}
	return config, config.Check()
}

// showAdaptive fills in what shows adaptive mode best, but for what flags say: an
// outage would show nothing of a limiter that follows throttles.
func (c *driveCommand) showAdaptive(config *drive.Config) {
	if c.Rate == nil {
		config.Rate = defaultRate // calls that do not wait would all be gone at the first cut
	}
	config.Capacity = config.DefaultCapacity(defaultRate)
	if c.Coalesce == nil {
		config.Coalesce = defaultCoalesce
	}
}

// liveWidth is the narrowest terminal, in columns, that bars fit on: lines that it
// breaks could not be drawn over.
const liveWidth = 50

// width is that of the terminal w; 0 if it is none, or does not tell.
func width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func firstError(first, second error) error {
	if first != nil {
		return first
	}
	return second
}
