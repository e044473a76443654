//go:build !race

package ratelimit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/reprise-go/reprise/ratelimit"
)

// Nothing allocates but a place in the line, and a page for every 67 million
// tokens.
func TestAllocations(t *testing.T) {
	never := ratelimit.New(time.Now())
	limitedOne, start := limited(t, 90)
	now := start
	next := func() int64 { now += 1e6; return now }
	full, _ := limited(t, 400_000)
	line, _ := limited(t, 90)
	w := line.Wait()
	gateway, _ := limited(t, 90)
	for name, c := range map[string]struct {
		most float64
		op   func()
	}{
		"never throttled":  {0, func() { never.Acquire(); never.AcquireAt(epoch); never.Update(false) }},
		"admitted":         {0, func() { full.AcquireNanos(next()) }},
		"refused":          {0, func() { limitedOne.AcquireNanos(start) }},
		"refused in line":  {0, func() { w.AdmitNanos(start) }},
		"TryAdmit refused": {0, func() { _, _ = gateway.TryAdmitAt(epoch, 3) }},
		"success":          {0, func() { limitedOne.UpdateNanos(next(), false) }},
		"throttle":         {0, func() { limitedOne.UpdateNanos(next(), true) }},
		"snapshot":         {0, func() { limitedOne.SnapshotAt(epoch) }},
	} {
		t.Run(name, func(t *testing.T) {
			op := func() {
				for range 1000 {
					c.op()
				}
			}
			assert.LessOrEqual(t, testing.AllocsPerRun(20, op)/1000, c.most)
		})
	}
}
