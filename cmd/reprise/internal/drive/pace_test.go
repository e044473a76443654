package drive

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestPaceLetsCallsBeginAtItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		p := newPace(2000)
		var begun atomic.Int64
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() {
				for p.wait(ctx) {
					begun.Add(1)
				}
			})
		}
		callers.Wait()
		// Ten milliseconds of calls may catch up; the end may cut one short.
		assert.InDelta(t, 5*2000+20, begun.Load(), 100)
		assert.LessOrEqual(t, begun.Load(), int64(5*2000+20))
	})
	assert.True(t, newPace(0).wait(t.Context()), "no rate, no wait")
}

// Callers that are held up between looking at the clock and the limiter must
// not make the rate higher.
func TestPaceHoldsWhenTimesComeInAnyOrder(t *testing.T) {
	p := newPace(1000)
	start := time.Now()
	var last time.Duration
	for i := range 2000 {
		last = p.reserve(start.Add(time.Duration(i%2) * 100 * time.Millisecond))
	}
	assert.InDelta(t, 2000-11, last.Milliseconds(), 2, "a call a millisecond, but for the first and the 10 that catch up")
}
