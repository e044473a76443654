package size

import (
	"context"
	"math"
	"slices"
)

// Curve is how many calls fail with so many attempts, by the quota's capacity.
type Curve struct {
	Attempts int     `json:"max_attempts"`
	Points   []Point `json:"points"`
}

// Point is one capacity.
type Point struct {
	Capacity      int     `json:"capacity"`
	Success       float64 `json:"success_rate"`
	Amplification float64 `json:"requests_per_call"`
	Outage        float64 `json:"outage_requests_per_call"`
}

const (
	curvePoints   = 30
	moreAttempts  = 2 // curves beyond the plan's attempts
	leastCapacity = 500
)

// tradeoff is the plan's and its neighbours' success by capacity, with its costs and
// backoff.
func (q *Question) tradeoff(ctx context.Context, p Plan, stage *stage) (curves []Curve) {
	t := q.timings(p.Backoff)
	low := max(p.Quota.TransientCost, p.Quota.ThrottlingCost)
	high := max(leastCapacity, 2*p.Quota.Capacity)
	// The plan's own, and the one below, which does not do.
	capacities := []int{p.Quota.Capacity, max(low, p.Quota.Capacity-1)}
	for i := range curvePoints {
		capacities = append(capacities, int(math.Round(float64(low)*math.Pow(float64(high)/float64(low), float64(i)/(curvePoints-1)))))
	}
	slices.Sort(capacities)
	capacities = slices.Compact(capacities)
	for attempts := 1; attempts <= min(p.Attempts+moreAttempts, mostAttempts); attempts++ {
		if stage.show(float64(attempts-1)/mostAttempts, comparing); ctx.Err() != nil {
			return nil
		}
		c := Curve{Attempts: attempts}
		one := p
		one.Attempts = attempts
		for _, one.Quota.Capacity = range capacities {
			e := q.estimate(one, t)
			c.Points = append(c.Points, Point{one.Quota.Capacity, e.Success, e.Amplification, e.Outage})
		}
		curves = append(curves, c)
	}
	return curves
}

// choices are what each number of attempts comes to with the plan's costs and backoff
// and the least capacity that does, or the largest that is allowed.
func (q *Question) choices(ctx context.Context, p Plan, stage *stage) (rows []Choice) {
	t := q.timings(p.Backoff)
	for attempts := 1; attempts <= min(p.Attempts+moreAttempts, mostAttempts); attempts++ {
		if stage.show(float64(attempts-1)/mostAttempts, comparing); ctx.Err() != nil {
			return nil
		}
		one := p
		one.Attempts = attempts
		f, ok := q.smallest(one, t)
		if f == nil {
			continue
		}
		if attempts == p.Attempts {
			f, ok = &Found{p, q.estimate(p, t)}, true // which may have grown
		}
		rows = append(rows, Choice{*f, ok})
	}
	return rows
}

// Choice is a number of attempts, and whether it does.
type Choice struct {
	Found
	Meets bool
}

const comparing = "comparing numbers of attempts"

// Report is the answer to a question.
type Report struct {
	Question  Question
	Found     Found
	Simulated Simulated
	Choices   []Choice
	Curves    []Curve
}

// Answer finds the smallest plan, simulates it and looks around. It returns an
// *UnmetError if no plan does. It ends early, with the context's error, if ctx ends.
func Answer(ctx context.Context, q Question, run Run) (Report, error) {
	f, err := Find(ctx, q, run)
	if err != nil {
		return Report{}, err
	}
	f, s, err := Settle(ctx, q, f, run)
	if err != nil {
		return Report{}, err
	}
	stage := run.Progress.stage(lookingAround)
	r := Report{q, f, s, q.choices(ctx, f.Plan, stage.half()), q.tradeoff(ctx, f.Plan, stage)}
	if err := ctx.Err(); err != nil {
		return Report{}, err
	}
	run.Progress.end()
	return r, nil
}
