package record

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/cmd/reprise/internal/faulty"
	"github.com/reprise-go/reprise/engine"
)

func TestRecorderAddsUpUnderLoad(t *testing.T) {
	var level, phase atomic.Int64
	level.Store(500)
	r := New(Sources{
		Quota: func() (int, int) { return int(level.Load()), 500 },
		Phase: func() faulty.Phase { return faulty.Phase(phase.Load()) },
	})
	hooks := r.Observer()
	r.Begin()
	const workers, calls = 8, 2000
	var done sync.WaitGroup
	for w := range workers {
		done.Go(func() {
			for i := range calls {
				p := r.BeginCall()
				r.Attempt()
				switch i % 4 {
				case 0, 1:
					r.Answer()
					r.EndCall(p, true, 1, 0)
				case 2:
					hooks.Retry(engine.RetryEvent{Class: classify.Transient, QuotaLeft: 486})
					r.Attempt()
					r.Answer()
					r.EndCall(p, true, 2, time.Millisecond)
				case 3:
					hooks.Stop(engine.StopEvent{Reason: engine.ReasonQuota, QuotaLeft: 3})
					r.EndCall(p, false, 1, 0)
				}
				if w == 0 && i%600 == 599 {
					phase.Add(1)
				}
			}
		})
	}
	done.Wait()
	phase.Store(int64(faulty.After))
	res := r.Result(r.End(), 14)

	const all = workers * calls
	assert.EqualValues(t, all, res.Calls)
	assert.EqualValues(t, all/2, res.FirstTry)
	assert.EqualValues(t, all/4, res.Recovered)
	assert.EqualValues(t, all/4, res.Stops.Total)
	assert.EqualValues(t, all/4, res.Stops.ByReason["quota"])
	assert.Len(t, res.Stops.ByReason, len(Reasons))
	assert.EqualValues(t, all+all/4, res.Attempts)
	assert.EqualValues(t, all/4, res.Retries.Transient)
	assert.Zero(t, res.Retries.Throttling)
	assert.Equal(t, res.Calls, res.Successes+res.Stops.Total)
	assert.InDelta(t, 0.75, res.SuccessRate, 1e-9)
	assert.Equal(t, 3, res.Quota.Lowest, "seen by a hook alone")
	assert.Equal(t, 500, res.Quota.Last)
	assert.GreaterOrEqual(t, res.AddedRetried.P50, 1.0)

	sum := total(res.Course.Slots)
	assert.Equal(t, res.Successes, sum.Succeeded)
	assert.Equal(t, res.Stops.Total, sum.Stopped)
	assert.Equal(t, res.Retries.Transient, sum.Transient)
	assert.Equal(t, 3, sum.Lowest)

	var begun uint64
	for i := range r.phases {
		begun += r.phases[i].begun.Load()
	}
	assert.EqualValues(t, all, begun)
}

func TestQuotaIsFollowedThroughTheOutage(t *testing.T) {
	slot := func(lowest, last int) Slot { return Slot{Lowest: lowest, Highest: 500, Last: last, Samples: 1} }
	res := Result{
		Quota: Quota{Capacity: 500},
		Course: Series{SlotLength: 10 * time.Millisecond, Slots: []Slot{
			slot(10, 500),                                          // before the outage nothing counts
			slot(400, 450), slot(13, 20), slot(0, 5), slot(0, 500), // 10 to 50 ms: the outage
			slot(5, 300), {}, slot(300, 500), slot(500, 500),
		}},
		PhaseStarts: map[faulty.Phase]time.Duration{
			faulty.During: 10 * time.Millisecond, faulty.Recovering: 50 * time.Millisecond,
		},
	}
	res.followQuota(14)
	require.NotNil(t, res.Quota.DrainedAfterMS)
	assert.InDelta(t, 20, *res.Quota.DrainedAfterMS, 1e-9)
	require.NotNil(t, res.Quota.FullAgainAfterMS)
	assert.InDelta(t, 30, *res.Quota.FullAgainAfterMS, 1e-9)

	calm := Result{Quota: Quota{Capacity: 500}, Course: res.Course}
	calm.followQuota(14)
	assert.Nil(t, calm.Quota.DrainedAfterMS, "no outage, nothing drained by it")
}
