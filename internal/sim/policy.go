package sim

import (
	"time"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// Policy is how callers retry: each has an engine made with Options or, if there
// is one, what Own makes.
type Policy struct {
	Name    string
	Options []engine.Option // of an engine; clock and source are the simulation's
	Own     func() Retrier  // instead of an engine
}

// Retrier decides for the calls of one caller in place of an engine. Attempts are
// counted from 1.
type Retrier interface {
	// Begin is told of a call.
	Begin(now time.Duration)
	// Fail is told of an attempt that failed and says what to do; a Reason other
	// than ReasonRetry ends the call. draw is 64 random bits.
	Fail(now time.Duration, attempt int, class classify.Class, draw uint64) engine.Decision
	// Succeed is told of the attempt that ended a call well.
	Succeed(now time.Duration, attempt int)
	// Abandon is told of a call that ran out of time: after attempt had been sent,
	// and, if waiting, while a retry was granted and not sent.
	Abandon(now time.Duration, attempt int, waiting bool)
	// Level is how much may be retried yet, 0 to 1.
	Level() float64
}

// Standard is the engine's default (R1).
func Standard() Policy { return Policy{Name: "standard"} }

// None sends every call once.
func None() Policy {
	return Policy{Name: "none", Options: []engine.Option{engine.WithMaxAttempts(1)}}
}

// Legacy has five attempts, long backoff and no quota (R1.4).
func Legacy() Policy {
	return Policy{Name: "legacy", Options: []engine.Option{engine.WithMode(engine.Legacy)}}
}

// Adaptive is standard behind the send limiter (R8).
func Adaptive() Policy {
	return Policy{Name: "adaptive", Options: []engine.Option{engine.WithMode(engine.Adaptive)}}
}

// Coalescing is adaptive with one cut for a burst of throttles.
func Coalescing(window time.Duration) Policy {
	return Policy{Name: "coalescing", Options: []engine.Option{engine.WithMode(engine.Adaptive), engine.WithThrottleCoalescing(window)}}
}

// Pacing is standard whose refused calls wait the backoff before they return.
func Pacing() Policy {
	return Policy{Name: "pacing", Options: []engine.Option{engine.WithPacing()}}
}

// DynamoDB is standard with that service's preset (R1.1, R4.1).
func DynamoDB() Policy {
	return Policy{Name: "dynamodb", Options: []engine.Option{engine.WithService("DynamoDB")}}
}

// Policies are the policies that users choose between, side by side.
func Policies() []Policy {
	return []Policy{
		None(), Naive(3, naiveDelay), Legacy(), EnvoyBudget(), LinkerdBudget(),
		Standard(), Pacing(), DynamoDB(), Adaptive(), Coalescing(coalesceWindow),
	}
}

const (
	naiveDelay     = 100 * time.Millisecond
	coalesceWindow = time.Minute // longer than any round trip; see the package ratelimit
)
