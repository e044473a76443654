package proof_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"
	"go.uber.org/goleak"

	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

type unavailable struct{}

func (unavailable) Error() string       { return "503" }
func (unavailable) HTTPStatusCode() int { return 503 }

type throttled struct{}

func (throttled) Error() string     { return "slow down" }
func (throttled) ErrorCode() string { return "SlowDown" }

// A hundred thousand goroutines are in Do at once and fail. Half of them are
// told to give up in their sleep, the other half get through on their retry. At
// the end each token is where R6 puts it and no goroutine is left.
func TestCrowdCancelledHalfWay(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	const crowd = 100_000
	// Room for every retry: 14 or 5 tokens each. No delay ends by itself.
	const capacity = crowd / 2 * (14 + 5)
	clock := newGate()
	e, err := engine.New(
		engine.WithQuota(engine.Quota{Capacity: capacity}),
		engine.WithSource(fastbackoff.Fixed(1)), engine.WithClock(clock))
	require.NoError(t, err)

	ctx, cancel := context.WithCancelCause(context.Background())
	leaving := errors.New("half of them leave")
	var callers sync.WaitGroup
	var cancelled, recovered, odd atomic.Int64
	for i := range crowd {
		callers.Go(func() {
			failure := error(unavailable{})
			if i%4 < 2 {
				failure = throttled{}
			}
			own := ctx
			if i%2 == 1 {
				own = context.Background()
			}
			attempts := 0
			err := engine.Run(own, e, func(context.Context) error {
				if attempts++; attempts > 1 {
					return nil
				}
				return failure
			})
			switch {
			case err == nil && attempts == 2:
				recovered.Inc()
			case errors.Is(err, engine.ErrCancelled) && errors.Is(err, leaving) && errors.Is(err, failure) && attempts == 1:
				cancelled.Inc()
			default:
				odd.Inc()
			}
		})
	}
	clock.awaitSleepers(crowd)
	assert.Zero(t, e.Stats().QuotaLevel, "every retry is granted and none is sent")
	cancel(leaving)
	for cancelled.Load()+odd.Load() < crowd/2 {
		clock.yield()
	}
	assert.Equal(t, capacity/2, e.Stats().QuotaLevel, "R6.3: the unsent retries of those who left came back")
	clock.open()
	callers.Wait()

	assert.Zero(t, odd.Load())
	assert.EqualValues(t, crowd/2, cancelled.Load())
	assert.EqualValues(t, crowd/2, recovered.Load())
	s := e.Stats()
	assert.Equal(t, capacity, s.QuotaLevel, "R6: the retries that succeeded gave back what they took")
	assert.EqualValues(t, crowd, s.TransientRetries+s.ThrottlingRetries)
	assert.EqualValues(t, crowd/2, s.UnsentRetries)
	assert.EqualValues(t, crowd/2, s.Recoveries)
	assert.EqualValues(t, crowd/2, s.Stops[engine.ReasonCancelled])
}

// The same with the quota of R6: 500 tokens, all transient. Thirty-five sleep,
// the others are refused at once; when the sleepers leave, the quota is full.
func TestCrowdOnTheDefaultQuota(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	const crowd = 100_000
	clock := newGate()
	e, err := engine.New(engine.WithClock(clock))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var callers sync.WaitGroup
	var refused atomic.Int64
	for range crowd {
		callers.Go(func() {
			if err := engine.Run(ctx, e, func(context.Context) error { return unavailable{} }); errors.Is(err, engine.ErrQuota) {
				refused.Inc()
			}
		})
	}
	clock.awaitSleepers(35)
	for refused.Load() < crowd-35 {
		clock.yield()
	}
	assert.Equal(t, 10, e.Stats().QuotaLevel, "500 - 35 * 14")
	cancel()
	callers.Wait()
	assert.Equal(t, 500, e.Stats().QuotaLevel)
	assert.EqualValues(t, crowd-35, refused.Load())
}

// gate is a clock on which sleepers stay until it opens or their context ends.
type gate struct {
	opened   chan struct{}
	sleepers atomic.Int64
}

func newGate() *gate { return &gate{opened: make(chan struct{})} }

func (g *gate) Now() time.Time { return time.Time{} }

func (g *gate) Sleep(ctx context.Context, _ time.Duration, _ <-chan struct{}) {
	g.sleepers.Inc()
	defer g.sleepers.Dec()
	select {
	case <-g.opened:
	case <-ctx.Done():
	}
}

func (g *gate) open() { close(g.opened) }

// awaitSleepers returns when n goroutines sleep.
func (g *gate) awaitSleepers(n int64) {
	for g.sleepers.Load() != n {
		g.yield()
	}
}

// yield lets the others run.
func (*gate) yield() { runtime.Gosched() }
