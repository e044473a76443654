//go:build !race

package promretry_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/promretry"
	"github.com/reprise-go/reprise/engine"
)

// A recorder allocates nothing on any path of a call.
func TestAllocations(t *testing.T) {
	e, _ := withRecorder(t, "e", engine.WithQuota(engine.Quota{Capacity: 1 << 20}))
	ctx := context.Background()
	succeeds := func(context.Context) (int, error) { return 1, nil }
	for name, f := range map[string]func(){
		"success":   func() { call(e) },
		"Do":        func() { _, _ = engine.Do(ctx, e, succeeds) },
		"retry":     func() { c := e.Begin(); c.Fail(transient); c.Admit(); c.Succeed() },
		"stop":      func() { c := e.Begin(); c.Fail(final) },
		"abandoned": func() { c := e.Begin(); c.Fail(throttling); c.Abandon() },
	} {
		assert.Zero(t, testing.AllocsPerRun(1000, f), name)
	}
}

// troubled is a group's collector with so many keys, each of which has retried.
func troubled(tb testing.TB, keys int) *promretry.Collector {
	g := newGroup(tb, keys)
	for i := range keys {
		call(g.For(fmt.Sprint("host", i)), transient)
	}
	c, err := promretry.NewGroup("g", g)
	require.NoError(tb, err)
	return c
}

// scrape collects once and returns how much.
func scrape(c *promretry.Collector) int {
	to := make(chan prometheus.Metric)
	go func() { c.Collect(to); close(to) }()
	n := 0
	for range to {
		n++
	}
	return n
}

// What a scrape allocates and sends is bounded by the names and not by the keys.
func TestScrapeIsBounded(t *testing.T) {
	few, many := troubled(t, 1000), troubled(t, 10_000)
	scrape(few)
	scrape(few)
	scrape(many)
	scrape(many)
	assert.Equal(t, scrape(few), scrape(many))
	assert.InEpsilon(t, testing.AllocsPerRun(5, func() { scrape(few) }), testing.AllocsPerRun(5, func() { scrape(many) }), 0.05)
}

func BenchmarkScrape(b *testing.B) {
	for _, keys := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			c := troubled(b, keys)
			b.ReportAllocs()
			for b.Loop() {
				scrape(c)
			}
		})
	}
}

func BenchmarkSuccess(b *testing.B) {
	plain := newEngine(b)
	with, _ := withRecorder(b, "with")
	for name, e := range map[string]*engine.Engine{"plain": plain, "recorded": with} {
		b.Run("engine="+name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					c := e.Begin()
					c.Succeed()
				}
			})
		})
	}
}
