package size

import (
	"fmt"
	"time"

	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// Question is what calls meet, and what is wanted of them.
type Question struct {
	Rate     float64       // calls/s of all clients together
	Clients  int           // each with an engine of its own
	Deadline time.Duration // of a call
	Answer   time.Duration // that an attempt takes, well or not

	Transient, Throttling float64 // shares of attempts that fail so

	Success       float64       // share of calls that is to succeed
	Amplification float64       // requests per call that are allowed, also in an outage
	Outage        time.Duration // how long an outage is
}

// Default is the question where nothing is said.
func Default() Question {
	return Question{
		Rate: 1000, Clients: 100, Deadline: 10 * time.Second, Answer: 20 * time.Millisecond,
		Transient: 0.01, Success: 0.999, Amplification: 1.5, Outage: time.Minute,
	}
}

// Failing is the share of attempts that fail.
func (q *Question) Failing() float64 { return q.Transient + q.Throttling }

// Fault is what is wrong with a field, by the name of its flag.
type Fault struct{ Flag, Text string }

func (f *Fault) Error() string { return "--" + f.Flag + " " + f.Text }

// Check returns a *Fault for the first thing that is wrong.
func (q *Question) Check() error {
	for _, c := range []struct {
		ok         bool
		flag, text string
	}{
		{q.Rate > 0 && q.Rate <= 1e7, "rate", fmt.Sprintf("is %v: want more than 0 calls a second, up to 10 million", q.Rate)},
		{q.Clients >= 1 && q.Clients <= 100_000, "clients", fmt.Sprintf("is %d: want 1 to 100,000", q.Clients)},
		{q.Transient >= 0 && q.Transient < 1, "transient", fmt.Sprintf("is %s: want a share from 0%% to less than 100%%", percent(q.Transient))},
		{q.Throttling >= 0 && q.Throttling < 1, "throttling", fmt.Sprintf("is %s: want a share from 0%% to less than 100%%", percent(q.Throttling))},
		{q.Failing() <= 0.95, "transient", fmt.Sprintf("and --throttling are %s together: want 95%% at the most, or nothing succeeds", percent(q.Failing()))},
		{q.Answer >= 0 && q.Answer <= time.Hour, "answer", fmt.Sprintf("is %v: want 0s to 1h", q.Answer)},
		{q.Deadline > q.Answer && q.Deadline <= 24*time.Hour, "deadline", fmt.Sprintf("is %v: want more than an attempt takes, %v, up to 24h", q.Deadline, q.Answer)},
		{q.Success > 0 && q.Success < 1, "success", fmt.Sprintf("is %s: want more than 0%% and less than 100%%", percent(q.Success))},
		{q.Amplification >= 1 && q.Amplification <= mostAttempts, "amplification", fmt.Sprintf("is %v: want 1 to %d requests for each call", q.Amplification, mostAttempts)},
		{q.Outage >= time.Second && q.Outage <= time.Hour, "outage", fmt.Sprintf("is %v: want 1s to 1h", q.Outage)},
		{q.Rate*q.Outage.Seconds() >= 1, "outage", fmt.Sprintf("is %v, in which %s calls begin: want one or more", q.Outage, number(q.Rate*q.Outage.Seconds()))},
		{q.clientsCalls() <= mostOfClient, "outage", fmt.Sprintf("is %v, in which each client begins %.0f calls: want %d at the most, by more --clients or a shorter one", q.Outage, q.clientsCalls(), mostOfClient)},
	} {
		if !c.ok {
			return &Fault{c.flag, c.text}
		}
	}
	return nil
}

// mostOfClient is how many calls each client may begin in an outage: they are simulated.
const mostOfClient = 20_000_000

// clientsCalls is how many calls each client begins in the outage.
func (q *Question) clientsCalls() float64 {
	return q.Rate * q.Outage.Seconds() / float64(max(q.Clients, 1))
}

// mostAttempts is how many a plan may have.
const mostAttempts = 10

// Plan is how calls are retried.
type Plan struct {
	Attempts int
	Quota    engine.Quota
	Backoff  fastbackoff.Schedule
}

// Options are the engine's.
func (p Plan) Options() []engine.Option {
	return []engine.Option{engine.WithMaxAttempts(p.Attempts), engine.WithQuota(p.Quota), engine.WithSchedule(p.Backoff)}
}
