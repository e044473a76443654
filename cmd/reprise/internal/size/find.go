package size

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// shortest is how often the published backoff may be halved.
const shortest = 6

// UnmetError says that no plan meets what is wanted, and what can be met.
type UnmetError struct {
	Question Question
	Best     *Found // the most that succeeds within the amplification; nil if nothing fits
	Others   []string
}

func (e *UnmetError) Error() string {
	q := &e.Question
	var b strings.Builder
	fmt.Fprintf(&b, "size: no plan lets %s of the calls succeed within %v and %s requests a call", percent(q.Success), q.Deadline, number(q.Amplification))
	if least := q.Success / (1 - q.Failing()); least > q.Amplification {
		fmt.Fprintf(&b, ": where %s of the attempts fail, it takes %.3f requests a call", percent(q.Failing()), least)
	}
	if e.Best != nil {
		fmt.Fprintf(&b, "; at the most %s do, with %s", percentDown(e.Best.Estimate.Success), e.Best.Plan.String())
	}
	if len(e.Others) > 0 {
		b.WriteString("; or " + strings.Join(e.Others, ", or "))
	}
	return b.String()
}

// String is a plan in words.
func (p Plan) String() string {
	attempts := "1 attempt"
	if p.Attempts > 1 {
		attempts = fmt.Sprintf("%d attempts", p.Attempts)
	}
	return fmt.Sprintf("%s, a quota of %d tokens (costs %d and %d) and a backoff of %v and %v",
		attempts, p.Quota.Capacity, p.Quota.TransientCost, p.Quota.ThrottlingCost, p.Backoff.Transient, p.Backoff.Throttling)
}

// Found is a plan and what it comes to.
type Found struct {
	Plan     Plan
	Estimate Estimate
}

// Find returns the smallest plan that meets the question: the fewest attempts, then
// the longest backoff, then the highest costs, then the least capacity. It returns an
// *UnmetError if there is none, and ctx's error if that ends.
func Find(ctx context.Context, q Question, run Run) (Found, error) {
	if err := q.Check(); err != nil {
		return Found{}, err
	}
	stage := run.Progress.stage(searching)
	found, best := q.find(ctx, stage.half(), "calculating")
	if found != nil {
		return *found, nil
	}
	others := q.others(ctx, stage)
	if err := ctx.Err(); err != nil {
		return Found{}, err
	}
	return Found{}, &UnmetError{q, best, others}
}

const whatElse = "calculating what would do"

// others are the changes of the question that would make it one with a plan.
func (q *Question) others(ctx context.Context, stage *stage) (ways []string) {
	free := *q
	free.Amplification = mostAttempts
	if found, _ := free.find(ctx, stage.half(), whatElse); found != nil {
		need := math.Ceil(1000*max(found.Estimate.Amplification, found.Estimate.Outage)) / 1000
		ways = append(ways, fmt.Sprintf("--amplification %s would do", number(need)))
	}
	for late := *q; late.Deadline < 64*q.Deadline; {
		late.Deadline *= 2
		if found, _ := late.find(ctx, stage.half(), whatElse); found != nil {
			ways = append(ways, fmt.Sprintf("--deadline %v would do", late.Deadline))
			break
		}
	}
	return ways
}

// find returns the smallest plan that meets q, or the best of those that keep within
// its amplification; of those it came to before ctx ended.
func (q *Question) find(ctx context.Context, stage *stage, what string) (found, best *Found) {
	better := func(f *Found) {
		if best == nil || f.Estimate.Success > best.Estimate.Success {
			best = f
		}
	}
	for attempts := 1; attempts <= mostAttempts; attempts++ {
		for halved := range shortest + 1 {
			stage.show(float64(attempts-1)/mostAttempts+float64(halved)/(shortest+1)/mostAttempts, fmt.Sprintf("%s, %d attempts", what, attempts))
			backoff := scaled(halved)
			t := q.timings(backoff)
			tried := costs()
			if q.unbounded(attempts, t) < q.Success { // none will do; which does most?
				tried = []engine.Quota{tried[0], tried[len(tried)-1]}
			}
			for _, cost := range tried {
				if ctx.Err() != nil {
					return nil, best
				}
				f, ok := q.smallest(Plan{attempts, cost, backoff}, t)
				if f == nil {
					continue
				}
				if better(f); ok {
					return f, nil
				}
				if attempts == 1 {
					break // there is nothing to pay for
				}
			}
			if q.unbounded(attempts, t) >= q.unbounded(attempts, &instant) {
				break // nothing is late: a shorter backoff does not help
			}
		}
	}
	return nil, best
}

// smallest finds the least capacity for a plan's attempts, costs and backoff; false
// if even the largest that is allowed does not do. It is nil if none is allowed.
func (q *Question) smallest(p Plan, t *timing) (*Found, bool) {
	least := max(p.Quota.TransientCost, p.Quota.ThrottlingCost)
	most := q.mostCapacity(p.Attempts, p.Quota.TransientCost)
	if p.Attempts == 1 {
		least, most = p.Quota.Capacity, p.Quota.Capacity
	}
	if most < least {
		return nil, false
	}
	at := func(capacity int) *Found {
		plan := p
		plan.Quota.Capacity = capacity
		return &Found{plan, q.estimate(plan, t)}
	}
	meets := func(f *Found) bool {
		return f.Estimate.Success >= q.Success && f.Estimate.Amplification <= q.Amplification && f.Estimate.Outage <= q.Amplification
	}
	top := at(most)
	if !meets(top) {
		// A smaller one may keep within the amplification.
		for top.Estimate.Amplification > q.Amplification && most > least {
			most = max(least, most/2)
			top = at(most)
		}
		if top.Estimate.Amplification > q.Amplification {
			return nil, false
		}
	}
	wanted, ok := q.Success, meets(top)
	if !ok { // the least that does about as much as can be done
		wanted = min(wanted, top.Estimate.Success) - (1-top.Estimate.Success)/1000
	}
	low, high := least-1, most
	for high-low > 1 {
		if mid := (low + high) / 2; at(mid).Estimate.Success >= wanted {
			high = mid
		} else {
			low = mid
		}
	}
	return at(high), ok
}

// costs are those that are tried: the published ones, then lower ones in their
// proportion.
func costs() (quotas []engine.Quota) {
	published := engine.DefaultQuota()
	for cost := published.TransientCost; cost >= 1; cost-- {
		quota := published
		quota.TransientCost = cost
		quota.ThrottlingCost = max(1, int(math.Round(float64(cost*published.ThrottlingCost)/float64(published.TransientCost))))
		quotas = append(quotas, quota)
	}
	return quotas
}

// scaled is the published backoff, its bases halved so often.
func scaled(halved int) fastbackoff.Schedule {
	s := fastbackoff.Default()
	s.Transient >>= halved
	s.Throttling >>= halved
	s.Transient = s.Transient.Round(time.Microsecond)
	s.Throttling = s.Throttling.Round(time.Microsecond)
	return s
}

// instant is the timing of attempts and delays that take no time.
var instant = func() (t timing) {
	for k := range t.answered {
		t.answered[k], t.sent[k] = 1, [2]float64{1, 1}
	}
	return t
}()
