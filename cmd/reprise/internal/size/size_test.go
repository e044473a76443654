package size

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

func plan(attempts, capacity int) Plan {
	q := engine.DefaultQuota()
	q.Capacity = capacity
	return Plan{attempts, q, fastbackoff.Default()}
}

// simulation is a run, smaller in short tests.
func simulation() Run {
	if testing.Short() {
		return Run{Seed: 1, Calls: 50_000}
	}
	return Run{Seed: 1}
}

// roomy is a question whose deadline nobody meets.
func roomy(transient, throttling float64) Question {
	q := Default()
	q.Transient, q.Throttling, q.Deadline = transient, throttling, 10*time.Hour
	return q
}

func TestSuccessWithoutQuota(t *testing.T) {
	for _, p := range []float64{0, 0.01, 0.1, 0.5} {
		for n := 1; n <= mostAttempts; n++ {
			q := roomy(p/2, p/2)
			tm := q.timings(fastbackoff.Default())
			want := 1 - math.Pow(p, float64(n))
			assert.InDelta(t, want, q.unbounded(n, tm), 1e-6, "%v %v", p, n)
		}
	}
	// A quota that is large and whose level rises pays for all.
	q := roomy(0.1, 0)
	e := q.estimate(plan(3, 2000), q.timings(fastbackoff.Default()))
	assert.InDelta(t, 1-0.001, e.Success, 1e-9)
	assert.InDelta(t, 1.11, e.Amplification, 1e-9)
	assert.InDelta(t, e.Success, e.Amplification*(1-0.1), 1e-9)
}

// R6.5.
func TestDrift(t *testing.T) {
	for _, row := range []struct {
		attempts              int
		transient, throttling float64
	}{{3, 0.2149, 0}, {3, 0, 0.3207}, {4, 0.2117, 0}, {4, 0, 0.3123}} {
		q := roomy(row.transient, row.throttling)
		assert.InDelta(t, 0, q.drift(plan(row.attempts, 500)), 2e-3, row)
		// Beside the zero, a large quota is full or empty.
		tm := q.timings(fastbackoff.Default())
		q.Transient, q.Throttling = row.transient*0.9, row.throttling*0.9
		assert.Greater(t, q.estimate(plan(row.attempts, 2000), tm).Level, 0.95, row)
		q.Transient, q.Throttling = row.transient*1.1, row.throttling*1.1
		assert.Less(t, q.estimate(plan(row.attempts, 2000), tm).Level, 0.05, row)
	}
}

// A quota that has drained pays for what first attempts earn: retries that fail cost
// c tokens for good, so there are (1-p)/(c p) of them a call.
func TestADrainedQuota(t *testing.T) {
	for _, p := range []float64{0.3, 0.5, 0.8} {
		for _, n := range []int{3, 5} {
			q := roomy(p, 0)
			e := q.estimate(plan(n, 500), q.timings(fastbackoff.Default()))
			retries := (1 - p) / (14 * p)
			assert.InDelta(t, 1+retries, e.Amplification, 1e-6, "%v %v", p, n)
			assert.InDelta(t, (1-p)*(1+retries), e.Success, 1e-6, "%v %v", p, n)
		}
	}
}

// uniforms is the probability that a sum of uniform times, each up to its width, is
// at most x: by inclusion and exclusion.
func uniforms(x float64, widths ...float64) float64 {
	sum, scale := 0., 1.
	for i, w := range widths {
		scale *= w * float64(i+1)
	}
	for set := range 1 << len(widths) {
		rest, sign := x, 1.
		for i, w := range widths {
			if set>>i&1 == 1 {
				rest, sign = rest-w, -sign
			}
		}
		if rest > 0 {
			sum += sign * math.Pow(rest, float64(len(widths)))
		}
	}
	return sum / scale
}

func TestDelaysAgainstTheDeadline(t *testing.T) {
	assert.InDelta(t, 0.125, uniforms(0.5, 1, 1), 1e-12)
	q := Default()
	q.Deadline, q.Answer = 2*time.Second, 100*time.Millisecond
	// One retry after a throttle: uniform up to 1 s, and all fit.
	q.Transient, q.Throttling = 0, 0.1
	tm := q.timings(fastbackoff.Default())
	assert.InDelta(t, 1, tm.sent[0][throttling], 1e-9)
	assert.InDelta(t, 1, tm.answered[1], 1e-9)
	// The second waits up to 2 s more: it is sent if both end before 2 s less the two
	// attempts, and counts if they leave it its own time.
	sent := uniforms(1.8, 1, 2)
	assert.InDelta(t, sent, tm.sent[1][throttling], 1e-5)
	assert.InDelta(t, uniforms(1.7, 1, 2)/sent, tm.answered[2], 1e-5)
	want := 0.9 + 0.1*0.9 + 0.01*0.9*uniforms(1.7, 1, 2)
	assert.InDelta(t, want, q.unbounded(3, tm), 1e-6)

	// Both classes: the transient delay is up to 50 ms, then 100 ms.
	q.Transient, q.Throttling, q.Deadline = 0.1, 0.1, 1200*time.Millisecond
	tm = q.timings(fastbackoff.Default())
	assert.InDelta(t, 1, tm.sent[0][throttling], 1e-9)
	assert.InDelta(t, (1+uniforms(1, 1))/2, tm.answered[1], 1e-4)
	second := (uniforms(1, 0.05, 0.1) + uniforms(1, 1, 0.1)) / 2
	assert.InDelta(t, second, tm.sent[1][transient], 1e-4)
	assert.InDelta(t, (uniforms(1, 0.05, 2)+uniforms(1, 1, 2))/2, tm.sent[1][throttling], 1e-4)

	// The median of calls that take one retry of up to 50 ms.
	q.Transient, q.Throttling = 0.9, 0
	tm = q.timings(fastbackoff.Default())
	assert.InDelta(t, 0.225, tm.latency(0.5, []float64{0, 1}).Seconds(), 1e-4)
}

func TestOutage(t *testing.T) {
	q := Default() // 600 calls of each client in a minute
	assert.InDelta(t, 1+35./600, q.outage(plan(3, 500)), 1e-12, "35 retries from a full quota")
	assert.InDelta(t, 3, q.outage(plan(3, 1_000_000)), 1e-12)
	for _, cost := range []int{14, 5, 1} {
		q.Amplification = 1.1
		p := plan(3, q.mostCapacity(3, cost))
		p.Quota.TransientCost = cost
		assert.LessOrEqual(t, q.outage(p), 1.1)
		p.Quota.Capacity++
		assert.Greater(t, q.outage(p), 1.1)
	}
	q.Amplification = 3
	assert.Equal(t, capacityLimit, q.mostCapacity(3, 14))
}

func TestFindIsSmallest(t *testing.T) {
	for _, change := range []func(*Question){
		func(*Question) {},
		func(q *Question) { q.Transient, q.Success = 0.05, 0.9999 },
		func(q *Question) { q.Transient, q.Throttling, q.Deadline = 0.02, 0.05, time.Second },
		func(q *Question) { q.Transient, q.Success, q.Amplification = 0.3, 0.99, 2 },
		func(q *Question) { q.Transient, q.Success = 0, 0.5 },
	} {
		q := Default()
		change(&q)
		f, err := Find(t.Context(), q, Run{})
		require.NoError(t, err)
		b := f.Plan.Backoff
		require.Positive(t, min(b.Transient, b.Throttling, b.Max))
		_, err = engine.New(f.Plan.Options()...)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, f.Estimate.Success, q.Success)
		assert.LessOrEqual(t, f.Estimate.Amplification, q.Amplification)
		assert.LessOrEqual(t, f.Estimate.Outage, q.Amplification)
		if f.Plan.Attempts == 1 {
			continue
		}
		tm := q.timings(f.Plan.Backoff)
		less := f.Plan
		if less.Quota.Capacity--; less.Quota.Capacity >= less.Quota.TransientCost {
			assert.Less(t, q.estimate(less, tm).Success, q.Success, "a token fewer does not do")
		}
		assert.Less(t, q.unbounded(f.Plan.Attempts-1, &instant), q.Success, "an attempt fewer does not do")

		settled, s, err := Settle(t.Context(), q, f, simulation())
		require.NoError(t, err)
		t.Log(settled.Plan, settled.Estimate, s)
		noise := 4 * math.Sqrt(q.Success*(1-q.Success)/float64(s.Calls))
		assert.GreaterOrEqual(t, s.Success, q.Success-noise)
		assert.LessOrEqual(t, settled.Plan.Quota.Capacity, 3*f.Plan.Quota.Capacity, "overlapping calls need somewhat more")
		f = settled
		assert.InDelta(t, f.Estimate.Success, s.Success, noise+0.2*(1-q.Success))
		assert.InDelta(t, f.Estimate.Amplification, s.Amplification, 0.01)
		assert.InDelta(t, f.Estimate.Outage, s.Outage, 0.02)
		assert.LessOrEqual(t, s.Outage, f.Estimate.Outage+0.01, "the quota was full at the most")
		assert.InEpsilon(t, f.Estimate.P99.Seconds(), s.P99.Seconds(), 0.1)
	}
}

func TestWhatCannotBeMet(t *testing.T) {
	for i, row := range []struct {
		change func(*Question)
		want   []string
	}{
		{func(q *Question) { q.Transient, q.Success, q.Amplification = 0.2, 0.999, 1.2 }, []string{"no plan lets 99.9% of the calls succeed within 10s and 1.2 requests a call: where 20% of the attempts fail, it takes 1.249 requests a call; at the most 9", "--amplification"}},
		{func(q *Question) { q.Transient, q.Success, q.Amplification = 0.4, 0.99999, 10 }, []string{"at the most 99.98", "with 10 attempts", "(costs 1 and 1)"}},
		{func(q *Question) { q.Transient, q.Deadline, q.Answer = 0.1, 150*time.Millisecond, 60*time.Millisecond }, []string{"within 150ms", "at the most 99% do, with 2 attempts", "--deadline 300ms would do"}},
	} {
		if testing.Short() && i < 2 { // all plans are tried: seconds, and the race detector's many more
			continue
		}
		q := Default()
		row.change(&q)
		_, err := Find(t.Context(), q, Run{})
		var unmet *UnmetError
		require.ErrorAs(t, err, &unmet)
		for _, want := range row.want {
			assert.Contains(t, err.Error(), want)
		}
		for _, other := range unmet.Others {
			var flag, value string
			_, err := fmt.Sscanf(other, "--%s %s would do", &flag, &value)
			require.NoError(t, err)
			again := q
			switch flag {
			case "amplification":
				_, err = fmt.Sscan(value, &again.Amplification)
			case "deadline":
				again.Deadline, err = time.ParseDuration(value)
			}
			require.NoError(t, err)
			_, err = Find(t.Context(), again, Run{})
			assert.NoError(t, err, "%s does do", other)
		}
	}
}

func TestReport(t *testing.T) {
	q := Default()
	q.Transient, q.Throttling, q.Deadline, q.Outage = 0.03, 0.02, 2*time.Second, 10*time.Second
	r, err := Answer(t.Context(), q, simulation())
	require.NoError(t, err)
	text := Table(r, 0)
	for line := range strings.Lines(text) {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), 96)
		assert.Equal(t, strings.TrimRight(line, " \n")+"\n", line)
	}
	p := r.Found.Plan
	assert.Contains(t, text, fmt.Sprintf("--max-attempts %d", p.Attempts))
	assert.Contains(t, text, fmt.Sprintf("--quota-capacity %d", p.Quota.Capacity))
	assert.Contains(t, text, "yes, the smallest")
	chart := text[strings.Index(text, "Success by"):]
	assert.Equal(t, 2, strings.Count(chart, "◆"), "the legend's and the plan's")
	for n := 1; n <= p.Attempts; n++ {
		assert.Contains(t, chart, strings.Repeat(fmt.Sprint(n), 10), "the line of %d attempts", n)
	}

	page, err := HTML(r)
	require.NoError(t, err)
	assert.NotContains(t, string(page), "<script")
	assert.NotContains(t, string(page), "NaN")
	assert.NotContains(t, string(page), "ZgotmplZ")
	assert.Equal(t, 2, strings.Count(string(page), `<svg class="narrow"`))

	again, err := Answer(t.Context(), q, simulation())
	require.NoError(t, err)
	assert.Equal(t, text, Table(again, 0))
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = Answer(ended, q, simulation())
	assert.ErrorIs(t, err, context.Canceled)
}

// Reports of all sorts of questions are whole.
func TestReportsOfExtremes(t *testing.T) {
	for _, change := range []func(*Question){
		func(q *Question) { q.Transient = 0 },
		func(q *Question) { q.Transient, q.Success = 0.1, 0.5 },
		func(q *Question) { q.Transient, q.Success, q.Amplification = 0.4, 0.999, 10 },
		func(q *Question) { q.Rate, q.Clients, q.Answer, q.Outage = 0.1, 1, 0, time.Minute },
		func(q *Question) { q.Throttling, q.Deadline, q.Outage = 0.05, 24*time.Hour, time.Minute },
	} {
		q := Default()
		q.Outage = 10 * time.Second
		change(&q)
		r, err := Answer(t.Context(), q, simulation())
		require.NoError(t, err)
		text := Table(r, 0)
		page, err := HTML(r)
		require.NoError(t, err)
		data, err := JSON(r)
		require.NoError(t, err)
		for _, all := range []string{text, string(page), string(data)} {
			assert.NotContains(t, all, "NaN")
			assert.NotContains(t, all, "Inf")
			assert.NotContains(t, all, "%!")
		}
		assert.Contains(t, text, "- - - -", "what is wanted is in the chart")
	}
}

// The curves rise with capacity and attempts, but for what rounding leaves.
func TestTradeoff(t *testing.T) {
	q := Default()
	q.Transient = 0.1
	curves := q.tradeoff(t.Context(), plan(3, 100), nil)
	require.Len(t, curves, 5)
	for i, c := range curves {
		for j, p := range c.Points {
			if j > 0 {
				assert.GreaterOrEqual(t, p.Success, c.Points[j-1].Success-1e-12)
				assert.GreaterOrEqual(t, p.Outage, c.Points[j-1].Outage)
			}
			assert.InDelta(t, p.Success, p.Amplification*0.9, 1e-9, "whatever the policy")
			if i == 0 {
				assert.InDelta(t, 0.9, p.Success, 1e-9)
			}
		}
	}
}
