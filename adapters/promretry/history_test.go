package promretry_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/promretry"
	"github.com/reprise-go/reprise/engine"
)

// Whatever happens between scrapes: names are few, those of engines in the group
// show what the engine says, and what the others count never goes back and never
// exceeds what was done.
func TestHistories(t *testing.T) {
	histories := 40
	if testing.Short() {
		histories = 8
	}
	for seed := range histories {
		synctest.Test(t, func(t *testing.T) { history(t, uint64(seed)) })
	}
}

func history(t *testing.T, seed uint64) {
	const stops = "reprise_stops_total engine=g"
	draw := rand.New(rand.NewPCG(seed, 9))
	limit, names := 1+draw.IntN(30), 1+draw.IntN(6)
	g := newGroup(t, limit)
	c, err := promretry.NewGroup("g", g, promretry.WithKeyLimit(names))
	require.NoError(t, err)
	r := registry(t, c)
	others, failed := 0.0, 0.0
	for range 100 {
		for range draw.IntN(20) {
			e := g.For(fmt.Sprint(draw.IntN(40)))
			if draw.IntN(2) == 0 {
				call(e, final)
				failed++
			} else {
				call(e)
			}
		}
		pass(time.Duration(draw.IntN(200)) * time.Second)
		s := gather(t, r)
		now := s[stops+" key=other reason=non_retryable"]
		require.GreaterOrEqual(t, now, others, "seed %d", seed)
		require.LessOrEqual(t, now, failed, "seed %d", seed)
		others = now
		engines := make(map[string]*engine.Engine)
		for key, e := range g.All() {
			engines[key] = e
		}
		level, shown := 0.0, 0
		for series, v := range s {
			if key, ok := strings.CutPrefix(series, "reprise_quota_tokens engine=g key="); ok {
				level += v
				if key != promretry.Others {
					shown++
					require.Contains(t, engines, key, "seed %d", seed)
					require.EqualValues(t, engines[key].Stats().Stops[engine.ReasonNonRetryable], s[stops+" key="+key+" reason=non_retryable"], "seed %d", seed)
				}
			}
		}
		require.LessOrEqual(t, shown, names, "seed %d", seed)
		require.EqualValues(t, 500*len(engines), level, "seed %d: every engine is in one row", seed)
	}
}

// Who invents keys that fail, as fast as can be, makes few series.
func TestInventedKeysMakeFewSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 200)
		c, err := promretry.NewGroup("g", g, promretry.WithKeyLimit(10))
		require.NoError(t, err)
		r := registry(t, c)
		seen := make(map[string]bool)
		for i := range 4 * 60 { // an hour of scrapes
			for j := range 50 {
				call(g.For(fmt.Sprint("invented", i, "-", j)), final)
			}
			for _, key := range labels(t, r, "reprise_hedges_total", "key") {
				seen[key] = true
			}
			pass(15 * time.Second)
		}
		assert.LessOrEqual(t, len(seen), 1+10*(1+60/5))
		assert.Positive(t, g.Stats().Overflowed+g.Stats().Dropped)
	})
}

// FuzzKey holds that no key makes a scrape fail, or a label that is long.
func FuzzKey(f *testing.F) {
	for _, key := range []string{"", "other", "a\xff", strings.Repeat("é", 100), "\x00", strings.Repeat("\xff", 300)} {
		f.Add(key, key+"x")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		g := newGroup(t, 2)
		call(g.For(a), final)
		call(g.For(b), final)
		c, err := promretry.NewGroup("g", g)
		require.NoError(t, err)
		r := registry(t, c)
		sum := 0.0
		for _, label := range labels(t, r, "reprise_hedges_total", "key") {
			assert.LessOrEqual(t, len(label), 128)
			assert.NotEmpty(t, label)
		}
		for name, v := range gather(t, r) {
			if strings.HasPrefix(name, "reprise_stops_total ") {
				sum += v
			}
		}
		assert.Equal(t, 2.0, sum)
	})
}
