package differential_test

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/reprise-go/reprise/engine"
)

// outcomeNames are the words of replay files.
var outcomeNames = map[engine.Reason]string{
	engine.ReasonRetry: "retry", engine.ReasonNonRetryable: "non_retryable", engine.ReasonMaxAttempts: "max_attempts",
	engine.ReasonQuota: "quota", engine.ReasonDeadline: "deadline", engine.ReasonCancelled: "cancelled",
}

// outcomeOf says in one of these words how the SDK's call ended.
func outcomeOf(ctx context.Context, err error) string {
	var (
		most  *retry.MaxAttemptsError
		quota ratelimit.QuotaExceededError
		delay *aws.RequestCanceledError
	)
	over := "cancelled"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		over = "deadline"
	}
	switch {
	case err == nil:
		return "success"
	case errors.As(err, &quota):
		return "quota"
	case errors.As(err, &most):
		return "max_attempts"
	case errors.As(err, &delay), ctx.Err() != nil && cancelled(err):
		return over
	}
	return "non_retryable"
}

// parted ends a script after a difference that no later step can make up for.
type parted struct{}

// finish compares the ends of a call.
func (p *pair) finish(ctx context.Context, err error) {
	theirs, waited := outcomeOf(ctx, err), time.Since(p.failedAt)
	switch {
	case p.strayed:
	case p.refused:
		p.seen.met("refused by the limiter")
		if p.granted {
			p.seen[unsentRefund]++
		}
	case p.attempt == 0:
		p.call.Abandon() // the caller was gone before the first attempt
	case p.succeeded:
		p.note(theirs, 0)
		if theirs != "success" {
			p.fail("outcome: SDK %s (%v), ours success", theirs, err)
		}
		p.compareLimiter()
	default:
		p.note(theirs, 0)
		p.compareEnd(ctx, theirs, waited)
	}
	p.giveBack()
	p.compareQuota()
}

// compareEnd compares why a call has ended without success, and when.
func (p *pair) compareEnd(ctx context.Context, theirs string, waited time.Duration) {
	ours := p.decision.Reason
	switch {
	case ours == engine.ReasonRetry && theirs == "cancelled" && p.granted:
		if hint := p.hintDiffers(); hint != "" {
			p.seen[hint]++
		} else if waited > p.decision.Delay+delaySlack {
			p.fail("delay: SDK waits %v and more, ours %v", waited, p.decision.Delay)
		}
		p.call.Abandon()
		p.seen[unsentRefund]++
	case ours == engine.ReasonRetry && theirs == "deadline" && p.granted && p.hintDiffers() != "" && (p.decision.Delay-p.rightDelay()).Abs() <= delaySlack:
		p.seen[p.hintDiffers()]++
		p.call.Abandon()
	case ours == engine.ReasonDeadline && p.granted && (theirs == "cancelled" || theirs == "deadline"):
		p.seen[deadlineFirst]++
	case theirs != outcomeNames[ours]:
		p.excuse(theirs)
		p.call.Abandon()
	case theirs == "quota" && p.script.Calls[p.at].LongPoll:
		end, has := ctx.Deadline()
		switch fits := !has || end.Sub(p.failedAt) > p.rightDelay(); {
		case !fits:
			if p.decision.Delay != 0 {
				p.fail("delay: ours waits %v for a poll that must end in %v", p.decision.Delay, end.Sub(p.failedAt))
			}
			p.seen[pollDeadline]++
		case ctx.Err() == nil:
			p.compareDelay(waited)
		}
	case waited != 0 || p.decision.Delay != 0:
		p.fail("delay: SDK waits %v before it ends as %s, ours %v", waited, theirs, p.decision.Delay)
	}
}

// excuse finds the entry that lets ours decide otherwise than the SDK, or fails.
func (p *pair) excuse(theirs string) {
	ours := p.decision.Reason
	name := kinds[p.step.Kind].differ
	switch {
	case ours == engine.ReasonDeadline && theirs == "retry" && p.hintDiffers() != "":
		p.seen[p.hintDiffers()]++
		return
	case ours == engine.ReasonCancelled || ours == engine.ReasonDeadline:
		// The SDK looks at the attempts first.
		if theirs == "max_attempts" && !p.granted {
			p.seen[callerFirst]++
			return
		}
		if retriedByUs[name] && theirs == "non_retryable" {
			p.seen[name]++
			return
		}
	case name == "":
	case retriedByUs[name] && theirs == "non_retryable":
		p.seen[name]++
		return
	case !retriedByUs[name] && ours == engine.ReasonNonRetryable:
		p.seen[name]++
		return
	}
	p.fail("outcome: SDK %s, ours %s, on %+v", theirs, outcomeNames[ours], *p.step)
}

// mostMillis is what a time.Duration holds.
const mostMillis = math.MaxInt64 / 1_000_000

// rightDelay is R5's delay for what the SDK drew.
func (p *pair) rightDelay() time.Duration {
	hint, err := strconv.ParseUint(p.step.Hint, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), hint > mostMillis:
		return p.raw + 5*time.Second
	case err != nil:
		return p.raw
	}
	return min(max(time.Duration(hint)*ms, p.raw), p.raw+5*time.Second)
}

// hintDiffers names the difference in the reading of the step's hint, "" if there
// is none.
func (p *pair) hintDiffers() string {
	switch hint, err := strconv.ParseInt(p.step.Hint, 10, 64); {
	case p.step.Hint != "" && p.step.Hint[0] == '+':
		return hintSigned
	case err == nil && hint > mostMillis, errors.Is(err, strconv.ErrRange):
		return hintOverflow
	}
	return ""
}

// compareDelay compares a delay that the SDK has slept with the one ours has
// decided on.
func (p *pair) compareDelay(theirs time.Duration) {
	ours := p.decision.Delay
	if (theirs - ours).Abs() <= delaySlack {
		return
	}
	name := p.hintDiffers()
	if name == "" || (ours-p.rightDelay()).Abs() > delaySlack {
		p.fail("delay: SDK %v, ours %v, on %+v", theirs, ours, *p.step)
	}
	p.seen[name]++
}

// giveBack gives the SDK's quota what a retry took that ours has not sent.
func (p *pair) giveBack() {
	if p.granted {
		_ = p.quota.AddTokens(p.took)
		p.granted = false
	}
}

func (p *pair) compareQuota() {
	if theirs, ours := int(p.quota.Remaining()), p.ours.Stats().QuotaLevel; theirs != ours {
		p.fail("quota: SDK %d, ours %d", theirs, ours)
	}
}

// compareLimiter compares all that the limiter's next decisions depend on. Waits
// end on whole nanoseconds and a full bucket loses what comes in the rest of one,
// so a level is held to what fills in the slack of a wait.
func (p *pair) compareLimiter() {
	if p.limiter == nil {
		return
	}
	s, l := p.ours.Stats().Limiter, p.limiter
	if s.Enabled != l.enabled.Bool() || !near(l.fill.Float(), s.FillRate) || !near(l.measured.Float(), s.MeasuredRate) ||
		!near(l.capacity.Float(), s.Capacity) || math.Abs(l.level.Float()-s.Level) > 1e-9*math.Max(1, s.Level)+waitSlack*1e-9*math.Max(p.fill, s.FillRate) {
		p.fail("limiter: SDK enabled %v fill %v measured %v capacity %v level %v, ours %+v",
			l.enabled, l.fill, l.measured, l.capacity, l.level, s)
	}
	p.fill = s.FillRate
}

// note keeps what the SDK made of an attempt, for a replay file.
func (p *pair) note(outcome string, delay time.Duration) {
	p.seen.met(outcome)
	if p.strayed || len(p.script.Calls) > 50 {
		return
	}
	p.log = append(p.log, event{p.at, p.attempt - 1, outcome, int(p.quota.Remaining()), delay, p.drawn})
}
