package tally_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/internal/tally"
)

func TestDelays(t *testing.T) {
	var c tally.Tally
	c.Init()
	retry := c.Observer().Retry
	for _, delay := range []time.Duration{-1, 0, 25 * time.Millisecond, 25*time.Millisecond + 1, 25 * time.Second, 25*time.Second + 1, time.Hour} {
		retry(engine.RetryEvent{Class: classify.Transient, Delay: delay})
	}
	retry(engine.RetryEvent{Class: classify.Throttling, Delay: time.Second})
	upTo, count, sum := c.Delays(classify.Transient)
	assert.Equal(t, [len(tally.Bounds)]uint64{3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5}, upTo)
	assert.EqualValues(t, 7, count)
	assert.Equal(t, time.Hour+50*time.Second+50*time.Millisecond+2, sum)
	_, count, sum = c.Delays(classify.Throttling)
	assert.EqualValues(t, 1, count)
	assert.Equal(t, time.Second, sum)
}

func TestCalls(t *testing.T) {
	var c, zero tally.Tally
	c.Init()
	for _, c := range []*tally.Tally{&c, &zero} {
		o := c.Observer()
		o.Success(engine.SuccessEvent{Attempts: 1})
		o.Success(engine.SuccessEvent{Attempts: 3})
		o.Stop(engine.StopEvent{})
		o.Stop(engine.StopEvent{Attempts: 2})
	}
	calls, attempts := c.Calls()
	assert.Equal(t, []uint64{4, 6}, []uint64{calls, attempts})
	calls, attempts = zero.Calls()
	assert.Equal(t, []uint64{3, 5}, []uint64{calls, attempts}, "without Init no first success")
}

func TestHammer(t *testing.T) {
	var c tally.Tally
	c.Init()
	o := c.Observer()
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			before := uint64(0)
			for range 10_000 {
				o.Success(engine.SuccessEvent{Attempts: 1})
				o.Success(engine.SuccessEvent{Attempts: 2})
				calls, attempts := c.Calls()
				assert.LessOrEqual(t, before, calls)
				assert.LessOrEqual(t, calls, attempts)
				before = calls
			}
		})
	}
	wait.Wait()
	calls, attempts := c.Calls()
	assert.Equal(t, []uint64{80_000, 120_000}, []uint64{calls, attempts})
}
