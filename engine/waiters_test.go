package engine_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/reprise-go/reprise/engine"
)

// sleeps is the context's count of what a call slept.
type sleeps struct{}

// countingClock is the bubble's clock; it counts how often each call sleeps.
type countingClock struct{}

func (countingClock) Now() time.Time { return time.Now() }

func (countingClock) Sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	ctx.Value(sleeps{}).(*atomic.Int64).Inc()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-wake:
	}
}

// A thousand calls wait in the engine at about ten a second, and a third of them
// give up on the way, by their deadlines or a cancel. The others are served in the
// order in which they came, each sleeps at most four times, the tokens go as fast as
// they come (R8.1), and those who left have taken none and left nothing.
func TestAdaptiveThousandWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := adaptive(t, engine.WithMaxAttempts(1), engine.WithClock(countingClock{}))
		for range 60 { // at 15/s
			c := e.Begin()
			require.Zero(t, c.Admit())
			c.Succeed()
			pass(time.Second / 15)
		}
		throttled(t, e)
		for { // what was saved up
			c := e.Begin()
			if c.Admit() != 0 {
				break
			}
			c.Abandon()
		}
		before := e.Stats()
		require.InDelta(t, 10, before.Limiter.FillRate, 2)
		require.Less(t, before.Limiter.Level, 1.0)

		const callers = 1000
		r := rand.New(rand.NewPCG(8, 1))
		var mu sync.Mutex
		var order []int
		var all sync.WaitGroup
		start := time.Now()
		for i := range callers {
			ctx, cancel := context.WithCancel(t.Context())
			switch after := time.Duration(r.Int64N(int64(100 * time.Second))); i % 6 {
			case 0:
				ctx, cancel = context.WithTimeout(t.Context(), after)
			case 3:
				time.AfterFunc(after, cancel)
			}
			all.Go(func() {
				defer cancel()
				var slept atomic.Int64
				c := e.Begin()
				d := c.AdmitWait(context.WithValue(ctx, sleeps{}, &slept))
				assert.LessOrEqual(t, slept.Load(), int64(4), "caller %d", i)
				if d.Reason == engine.ReasonRetry {
					mu.Lock()
					order = append(order, i)
					mu.Unlock()
				}
				c.Abandon() // no response: the rate stays as it is
			})
			synctest.Wait()
		}
		all.Wait()
		assert.IsIncreasing(t, order)
		assert.Greater(t, len(order), callers*2/3-1)
		assert.Less(t, len(order), callers-100)
		assert.InEpsilon(t, float64(len(order))/before.Limiter.FillRate, time.Since(start).Seconds(), 0.001)
		after := e.Stats()
		assert.Zero(t, after.Limiter.Waiting)
		assert.Less(t, after.Limiter.Level, 1.0)
		assert.Equal(t, before.QuotaLevel, after.QuotaLevel)
	})
}
