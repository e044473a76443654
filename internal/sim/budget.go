package sim

import (
	"math/bits"
	"time"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
)

// budgetAttempts is how often the policies with a percentage send a call, as the
// others do.
const budgetAttempts = 3

// EnvoyBudget allows as many retries at a time as are 20 % of the calls under way,
// and 3 in any case: Envoy's retry_budget with its defaults. Its backoff is
// Envoy's: up to 25 ms, then up to 75 ms.
func EnvoyBudget() Policy {
	return Policy{Name: "envoy", Own: func() Retrier { return &concurrencyBudget{share: 0.2, least: 3} }}
}

// concurrencyBudget counts what is under way: calls, and those of them that a
// retry was granted to and has not been answered.
type concurrencyBudget struct {
	share          float64
	least          float64
	calls, retries int
}

func (b *concurrencyBudget) Begin(time.Duration) { b.calls++ }

func (b *concurrencyBudget) Fail(_ time.Duration, attempt int, class classify.Class, draw uint64) engine.Decision {
	b.over(attempt > 1)
	ceiling := 25 * time.Millisecond * (1<<min(attempt, 4) - 1)
	hi, _ := bits.Mul64(draw, uint64(min(ceiling, 250*time.Millisecond)))
	d := attemptsLeft(attempt, budgetAttempts, class, time.Duration(hi))
	if d.Reason == engine.ReasonRetry && float64(b.retries) >= b.most() {
		d = engine.Decision{Reason: engine.ReasonQuota}
	}
	if d.Reason == engine.ReasonRetry {
		b.retries++
	} else {
		b.calls--
	}
	return d
}

func (b *concurrencyBudget) most() float64 { return max(b.share*float64(b.calls), b.least) }

// over takes the retry of an attempt from those under way.
func (b *concurrencyBudget) over(retry bool) {
	if retry {
		b.retries--
	}
}

func (b *concurrencyBudget) Succeed(_ time.Duration, attempt int) {
	b.over(attempt > 1)
	b.calls--
}

func (b *concurrencyBudget) Abandon(_ time.Duration, attempt int, waiting bool) {
	b.over(attempt > 1 || waiting)
	b.calls--
}

func (b *concurrencyBudget) Level() float64 {
	return max(0, 1-float64(b.retries)/b.most())
}

// LinkerdBudget allows as many retries as are 20 % of the calls of the last 10 s,
// and 10 a second besides: the retry budget of Linkerd's service profiles, which
// waits for nothing before a retry.
func LinkerdBudget() Policy {
	return Policy{Name: "linkerd", Own: func() Retrier { return new(recentBudget) }}
}

const (
	recentSlices = 10
	recentSlice  = time.Second
	recentShare  = 0.2
	recentLeast  = 10 * recentSlices // retries that the reserve has for the whole window
)

// recentBudget counts calls and retries by the second.
type recentBudget struct {
	balance [recentSlices]float64 // shares earned less retries taken
	sum     float64
	slice   int64 // the present one, since the beginning
}

// turn forgets what is older than the window.
func (b *recentBudget) turn(now time.Duration) {
	slice := int64(now / recentSlice)
	if slice-b.slice >= recentSlices {
		*b = recentBudget{slice: slice}
	}
	for b.slice < slice {
		b.slice++
		b.balance[b.slice%recentSlices] = 0
	}
	b.sum = 0
	for _, one := range b.balance {
		b.sum += one
	}
}

func (b *recentBudget) add(amount float64) { b.balance[b.slice%recentSlices] += amount }

func (b *recentBudget) Begin(now time.Duration) {
	if int64(now/recentSlice) != b.slice {
		b.turn(now)
	}
	b.add(recentShare)
}

func (b *recentBudget) Fail(now time.Duration, attempt int, class classify.Class, _ uint64) engine.Decision {
	b.turn(now)
	d := attemptsLeft(attempt, budgetAttempts, class, 0)
	if d.Reason == engine.ReasonRetry {
		if b.sum+recentLeast < 1 {
			return engine.Decision{Reason: engine.ReasonQuota}
		}
		b.add(-1)
	}
	return d
}

func (*recentBudget) Succeed(time.Duration, int)       {}
func (*recentBudget) Abandon(time.Duration, int, bool) {}

func (b *recentBudget) Level() float64 {
	return min(1, max(0, (b.sum+recentLeast)/recentLeast))
}
