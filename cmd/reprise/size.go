package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/reprise-go/reprise/cmd/reprise/internal/faulty"
	"github.com/reprise-go/reprise/cmd/reprise/internal/progress"
	"github.com/reprise-go/reprise/cmd/reprise/internal/size"
)

// sizeFlags are those of `reprise storm --size`.
type sizeFlags struct {
	Size          bool           `group:"Calculator (--size)" help:"Find the smallest attempts, quota and backoff that do, instead of running a scenario."`
	Rate          *float64       `group:"Calculator (--size)" placeholder:"PER-SECOND" help:"Calls of all clients together. Default: 1000."`
	Clients       *int           `group:"Calculator (--size)" placeholder:"N" help:"Clients, each with an engine of its own. Default: 100."`
	Transient     *string        `group:"Calculator (--size)" placeholder:"SHARE" help:"Share of the attempts that fail as transient, such as 3% or 0.03. Default: 1%."`
	Throttling    *string        `group:"Calculator (--size)" placeholder:"SHARE" help:"Share of the attempts that are throttled. Default: 0%."`
	Deadline      *time.Duration `group:"Calculator (--size)" placeholder:"TIME" help:"Time that a call has with all its retries. Default: 10s."`
	Answer        *time.Duration `group:"Calculator (--size)" placeholder:"TIME" help:"Time that an attempt takes. Default: 20ms."`
	Success       *string        `group:"Calculator (--size)" placeholder:"SHARE" help:"Share of the calls that is to succeed. Default: 99.9%."`
	Amplification *float64       `group:"Calculator (--size)" placeholder:"N" help:"Requests a call that are allowed, also in an outage. Default: 1.5."`
	Outage        *time.Duration `group:"Calculator (--size)" placeholder:"TIME" help:"How long that outage is. Default: 1m."`
}

// question is what the flags ask.
func (f *sizeFlags) question() (size.Question, error) {
	q := size.Default()
	set(&q.Rate, f.Rate)
	set(&q.Clients, f.Clients)
	set(&q.Deadline, f.Deadline)
	set(&q.Answer, f.Answer)
	set(&q.Amplification, f.Amplification)
	set(&q.Outage, f.Outage)
	for _, share := range []struct {
		flag string
		to   *float64
		text *string
	}{{"transient", &q.Transient, f.Transient}, {"throttling", &q.Throttling, f.Throttling}, {"success", &q.Success, f.Success}} {
		if share.text == nil {
			continue
		}
		v, err := faulty.ParseShare(*share.text)
		if err != nil {
			return q, fmt.Errorf("--%s: %w", share.flag, err)
		}
		*share.to = v
	}
	return q, q.Check()
}

// given is the first of the flags that say something without --size.
func (f *sizeFlags) given() string {
	for _, flag := range []struct {
		name string
		is   bool
	}{
		{"rate", f.Rate != nil}, {"clients", f.Clients != nil}, {"transient", f.Transient != nil}, {"throttling", f.Throttling != nil},
		{"deadline", f.Deadline != nil}, {"answer", f.Answer != nil}, {"success", f.Success != nil},
		{"amplification", f.Amplification != nil}, {"outage", f.Outage != nil},
	} {
		if flag.is {
			return flag.name
		}
	}
	return ""
}

// checkSize says what does not go together with --size, or without it.
func (c *stormCommand) checkSize() error {
	if !c.Size {
		if flag := c.given(); flag != "" {
			return fmt.Errorf("--%s is the calculator's: want --size with it", flag)
		}
		return nil
	}
	switch {
	case c.Scenario != "":
		return fmt.Errorf("--size runs no scenario: want %s without it, or --size alone", c.Scenario)
	case c.List || len(c.Policies) > 0:
		return errors.New("--size compares no policies: want it without --policies and --list")
	case c.SVG != "":
		return errors.New("--size writes no files of charts: want --html FILE, which has them")
	case c.ownSaid():
		return errors.New("--size finds the policy's numbers: want it without the flags of the own policy")
	}
	return nil
}

// simulated is how many calls the calculator simulates: what [size.Run] says, but in short tests.
var simulated float64

// size answers the calculator's question.
func (c *stormCommand) size(out streams) error {
	q, err := c.question()
	if err != nil {
		return usageError{err}
	}
	output, err := openReport(c.HTML, c.JSON)
	if err != nil {
		return err
	}
	ctx, signals := watchSignals(output.Discard)
	defer signals.stop()
	run := size.Run{Seed: 1, Calls: simulated, Progress: new(size.Progress)}
	set(&run.Seed, c.Seed)
	stop := func() {}
	if !c.Quiet && width(out.Err) >= liveWidth {
		stop = progress.Bar(out.Err, "size", run.Progress)
	}
	report, err := untilEnded(ctx, func() (size.Report, error) { return size.Answer(ctx, q, run) })
	stop()
	if err != nil {
		output.Discard()
		if ctx.Err() != nil {
			return exitError(signals.exitCode())
		}
		return err
	}
	return deliver(output, func() ([]byte, error) { return size.HTML(report) }, func() error {
		text := []byte(size.Table(report, width(out.Out)))
		if c.JSON {
			if text, err = size.JSON(report); err != nil {
				return err
			}
		}
		if _, err := out.Out.Write(text); err != nil {
			return fmt.Errorf("result: %w", err)
		}
		return nil
	})
}
