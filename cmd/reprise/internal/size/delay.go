package size

import (
	"time"

	"github.com/reprise-go/reprise/fastbackoff"
)

// cells are those of the grid that times are on, from 0 to the deadline.
const cells = 4000

// timing is how the attempts of a call fit into its deadline, each if all before it
// failed and the quota paid for all.
type timing struct {
	// sent[k][c] is the share of retries k+1 (after attempt k+1 failed as class c)
	// whose delay ends before the deadline; answered[k] the share of attempts k+1
	// whose answer comes before it, of those sent.
	sent     [mostAttempts][2]float64
	answered [mostAttempts]float64

	delays [mostAttempts]curve // before attempt k+1, of those sent; the last value is the mass
	step   float64             // seconds
	answer float64             // seconds
}

const (
	transient  = 0
	throttling = 1
)

// timings convolves the delays of a backoff.
func (q *Question) timings(backoff fastbackoff.Schedule) *timing {
	t := &timing{step: q.Deadline.Seconds() / cells, answer: q.Answer.Seconds()}
	shares := [2]float64{q.Transient, q.Throttling}
	if p := q.Failing(); p > 0 {
		shares[transient], shares[throttling] = q.Transient/p, q.Throttling/p
	} else {
		shares[transient] = 1
	}
	deadline := q.Deadline.Seconds()
	before := make(curve, cells+1)
	for i := range before {
		before[i] = 1 // no delay before the first attempt
	}
	for k := range mostAttempts {
		t.delays[k] = before
		mass := before[cells]
		if mass > 0 {
			t.answered[k] = min(1, before.at((deadline-float64(k+1)*t.answer)/t.step)/mass)
		}
		limit := (deadline - float64(k+1)*t.answer) / t.step // of the sum of the delays before attempt k+2
		after := make(curve, cells+1)
		for class, name := range []fastbackoff.Class{fastbackoff.Transient, fastbackoff.Throttling} {
			spread := before.plusUniform(backoff.Ceiling(name, k).Seconds() / t.step)
			if mass > 0 {
				t.sent[k][class] = min(1, spread.at(limit)/mass)
			}
			for i := range after {
				after[i] += shares[class] * spread.at(min(float64(i), limit))
			}
		}
		before = after
	}
	return t
}

// curve is a cumulative distribution at the points of the grid, 0 before them; its
// mass may be less than 1.
type curve []float64

// at interpolates; x is in steps.
func (c curve) at(x float64) float64 {
	if x < 0 {
		return 0
	}
	i := int(x)
	if i >= len(c)-1 {
		return c[len(c)-1]
	}
	return c[i] + (x-float64(i))*(c[i+1]-c[i])
}

// plusUniform is the distribution of the sum with a uniform time from 0 to width
// steps: the mean of the curve over the last width steps.
func (c curve) plusUniform(width float64) curve {
	if width <= 0 {
		return c
	}
	sum := make([]float64, len(c)) // the integral from 0
	for i := 1; i < len(c); i++ {
		sum[i] = sum[i-1] + (c[i-1]+c[i])/2
	}
	integral := func(x float64) float64 {
		if x <= 0 {
			return 0
		}
		i := int(x)
		if i >= len(c)-1 {
			return sum[len(c)-1]
		}
		part := x - float64(i)
		return sum[i] + part*(c[i]+part*(c[i+1]-c[i])/2)
	}
	out := make(curve, len(c))
	for i := range out {
		out[i] = (sum[i] - integral(float64(i)-width)) / width
	}
	return out
}

// latency is the time within which a share of the calls that succeed does so; weights
// are how many succeed with each attempt.
func (t *timing) latency(share float64, weights []float64) time.Duration {
	total := 0.
	for _, w := range weights {
		total += w
	}
	if total == 0 {
		return 0
	}
	low, high := 0., float64(cells)*t.step
	for range 60 {
		mid := (low + high) / 2
		got := 0.
		for k, w := range weights {
			if whole := t.delays[k][cells] * t.answered[k]; whole > 0 {
				got += w * min(1, t.delays[k].at((mid-float64(k+1)*t.answer)/t.step+1e-9)/whole)
			}
		}
		if got < share*total {
			low = mid
		} else {
			high = mid
		}
	}
	return time.Duration(high * float64(time.Second)).Round(time.Microsecond)
}
