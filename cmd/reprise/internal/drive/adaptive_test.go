package drive

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/cmd/reprise/internal/record"
	"github.com/reprise-go/reprise/engine"
)

// crowded is a run of more calls than the server has the capacity for.
func crowded(t *testing.T, mode engine.Mode) Config {
	t.Helper()
	c := quick(t, "none", "none")
	c.Mode, c.Calls, c.Workers, c.Capacity, c.MaxAttempts = mode, 200, 2, 20, 1
	return c
}

func TestRunAboveTheCapacity(t *testing.T) {
	for _, mode := range []engine.Mode{engine.Standard, engine.Legacy} {
		res, err := runDrive(t, crowded(t, mode))
		require.NoError(t, err)
		assertAddsUp(t, res)
		require.NotNil(t, res.Capacity)
		assert.Nil(t, res.Limiter)
		assert.Equal(t, mode == engine.Standard, res.Quota.Enabled)
		assert.Equal(t, 20, res.Capacity.Burst)
		assert.GreaterOrEqual(t, res.Capacity.Answered, uint64(20))
		assert.Positive(t, res.Capacity.Throttled)
		assert.Equal(t, res.Capacity.Throttled, res.Throttled, "the engine hears of each throttle")
		assert.Equal(t, res.Capacity.Answered, res.Successes)
		assert.Equal(t, res.Throttled, res.Stops.ByReason["max_attempts"])
	}
}

func TestRunInAdaptiveModeHoldsBack(t *testing.T) {
	for _, window := range []time.Duration{0, 100 * time.Millisecond} {
		c := crowded(t, engine.Adaptive)
		// One request is answered, so at most three were sent by the first throttle,
		// after which the limiter asks for a wait beyond the deadline.
		c.Capacity, c.Deadline, c.Coalesce = 1e-3, 200*time.Millisecond, window
		most := uint64(20)
		if window > 0 { // the first cut waits for up to a second
			c.Rate, most = 100, 150
		}
		res, err := runDrive(t, c)
		require.NoError(t, err)
		assertAddsUp(t, res)
		assert.InDelta(t, c.Coalesce.Seconds()*1e3, res.Setup.CoalesceMS, 0)

		l := res.Limiter
		require.NotNil(t, l)
		assert.True(t, l.Enabled)
		assert.GreaterOrEqual(t, l.FillRate, 0.5, "R8.2")
		assert.NotNil(t, l.SinceThrottleMS)
		assert.Positive(t, l.CallsNeverSent)
		assert.LessOrEqual(t, l.CallsNeverSent, l.CallsEndedWaiting, "first attempts are all there are")
		assert.LessOrEqual(t, l.CallsEndedWaiting, res.Stops.ByReason["deadline"])
		assert.Less(t, res.Attempts, res.Calls, "so it sends less than it is asked to")
		assert.Less(t, res.Capacity.Throttled, most, "and is hardly throttled")
		assert.Positive(t, limits(res.Course), "the chart shows the fill rate")
	}
}

// limits counts the slots in which the limiter limited.
func limits(course record.Series) (n int) {
	for _, slot := range course.Slots {
		if slot.FillRate > 0 {
			n++
		}
	}
	return n
}

// A retry that the limiter does not admit in time is told apart from a backoff
// that does not fit.
func TestRunCountsRetriesThatEndWaiting(t *testing.T) {
	c := crowded(t, engine.Adaptive)
	c.Calls, c.Workers, c.MaxAttempts = 22, 22, 3
	// Backoffs are below a second, and half a token is made in it.
	c.Deadline, c.Capacity = time.Second, 1e-3
	res, err := runDrive(t, c)
	require.NoError(t, err)
	assertAddsUp(t, res)
	assert.Equal(t, res.Stops.Total, res.Stops.ByReason["deadline"])
	assert.Equal(t, res.Retries.Total, res.Retries.Unsent, "their tokens went back")
	assert.Positive(t, res.Limiter.CallsEndedWaiting)
	// A backoff may end a moment too late, on a machine with other work.
	assert.LessOrEqual(t, res.Limiter.CallsEndedWaiting, res.Retries.Unsent+res.Limiter.CallsNeverSent)
}

func TestRunInAdaptiveModeWithoutThrottlesWaitsForNothing(t *testing.T) {
	c := quick(t, "500=2%", "none")
	c.Mode = engine.Adaptive
	res, err := runDrive(t, c)
	require.NoError(t, err)
	assertAddsUp(t, res)
	assert.Nil(t, res.Capacity)
	require.NotNil(t, res.Limiter)
	assert.False(t, res.Limiter.Enabled)
	assert.Nil(t, res.Limiter.SinceThrottleMS)
	assert.Zero(t, res.Limiter.CallsEndedWaiting)
	assert.Zero(t, limits(res.Course))
}

func TestDefaultWorkers(t *testing.T) {
	for want, c := range map[int]Config{
		256:        {Rate: 750, Deadline: 3 * time.Second},
		257:        {Rate: 257, Deadline: time.Second, Capacity: 1},
		2250:       {Rate: 750, Deadline: 3 * time.Second, Capacity: 500},
		maxWorkers: {Rate: 5000, Deadline: 3 * time.Second, Capacity: 500},
	} {
		assert.Equal(t, want, c.DefaultWorkers(256))
	}
	assert.Equal(t, maxWorkers, (&Config{Rate: 1, Capacity: 1}).DefaultWorkers(256), "without a deadline")
	assert.Equal(t, 256, (&Config{Rate: 1, Capacity: 1, Deadline: time.Second}).DefaultWorkers(256))
	assert.Equal(t, 256, (&Config{Capacity: 1}).DefaultWorkers(256))
}

func TestDefaultCapacity(t *testing.T) {
	for _, row := range []struct {
		config Config
		want   float64
	}{
		{Config{Rate: 2000, Duration: 10 * time.Second}, 1300},
		{Config{Rate: 750, Duration: 10 * time.Second}, 500},
		{Config{Rate: 1, Duration: time.Minute}, 0.67},
		{Config{Rate: 2000, Duration: 3 * time.Second}, 1000}, // a sixth of the calls
		{Config{Rate: 2000, Calls: 3000}, 500},
		{Config{Rate: 2000, Calls: 1e6}, 1300},
		{Config{Rate: 2000, Calls: 1}, 0.17},
		{Config{Calls: 1e6}, 4000}, // as fast as it goes
		{Config{Duration: time.Second}, 1000},
	} {
		assert.InDelta(t, row.want, row.config.DefaultCapacity(6000), 1e-9, "%+v", row.config)
	}
}
