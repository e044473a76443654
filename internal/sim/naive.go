package sim

import (
	"time"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// Naive makes so many attempts with the same delay between them, and asks no
// quota: the loop that everybody writes first.
func Naive(attempts int, delay time.Duration) Policy {
	return Policy{Name: "naive", Own: func() Retrier { return naive{attempts, delay} }}
}

type naive struct {
	attempts int
	delay    time.Duration
}

func (n naive) Fail(_ time.Duration, attempt int, class classify.Class, _ uint64) engine.Decision {
	return attemptsLeft(attempt, n.attempts, class, n.delay)
}

func (naive) Begin(time.Duration)              {}
func (naive) Succeed(time.Duration, int)       {}
func (naive) Abandon(time.Duration, int, bool) {}
func (naive) Level() float64                   { return 1 }

// attemptsLeft is what decides before any budget does (R2.1).
func attemptsLeft(attempt, attempts int, class classify.Class, delay time.Duration) engine.Decision {
	switch {
	case class == classify.NonRetryable:
		return engine.Decision{Reason: engine.ReasonNonRetryable}
	case attempt >= attempts:
		return engine.Decision{Reason: engine.ReasonMaxAttempts}
	}
	return engine.Decision{Reason: engine.ReasonRetry, Delay: delay}
}
