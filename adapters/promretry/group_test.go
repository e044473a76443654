package promretry_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/adapters/promretry"
	"github.com/reprise-go/reprise/engine"
)

func newGroup(tb testing.TB, limit int, opts ...engine.Option) *engine.Group[string] {
	tb.Helper()
	g, err := engine.NewGroup[string](newEngine(tb, opts...), limit)
	require.NoError(tb, err)
	return g
}

func TestGroup(t *testing.T) {
	recorder := promretry.NewRecorder()
	g := newGroup(t, 3, engine.WithObserver(recorder.Observer()))
	c, err := promretry.NewGroup("hosts", g, promretry.WithRecorder(recorder))
	require.NoError(t, err)
	r := registry(t, c)
	empty := gather(t, r)
	assert.Equal(t, 1.0, empty["reprise_group_lowest_quota_ratio engine=hosts"])
	assert.Equal(t, 0.0, empty["reprise_retries_total class=transient engine=hosts key=other"])

	call(g.For("a"), transient)
	call(g.For("b"), transient, final)
	g.For("c")
	g.For("d")
	s := gather(t, r)
	for name, want := range map[string]float64{
		"reprise_quota_tokens engine=hosts key=a":                      500,
		"reprise_quota_tokens engine=hosts key=b":                      486,
		"reprise_quota_tokens engine=hosts key=c":                      500,
		"reprise_retries_total class=transient engine=hosts key=a":     1,
		"reprise_retries_total class=transient engine=hosts key=b":     1,
		"reprise_stops_total engine=hosts key=b reason=non_retryable":  1,
		"reprise_recoveries_total engine=hosts key=a":                  1,
		"reprise_retries_total class=transient engine=hosts key=other": 0,
		"reprise_group_engines engine=hosts":                           3,
		"reprise_group_engines_limit engine=hosts":                     3,
		"reprise_group_made_engines_total engine=hosts":                3,
		"reprise_group_overflows_total engine=hosts":                   1,
		"reprise_group_lowest_quota_ratio engine=hosts":                0.972,
		"reprise_calls_total engine=hosts":                             2,
		"reprise_attempts_total engine=hosts":                          4,
		"reprise_retry_delay_seconds class=transient engine=hosts":     2,
	} {
		assert.Equal(t, want, s[name], name)
	}
	assert.NotContains(t, s, "reprise_quota_tokens engine=hosts key=other", "nobody is nameless")
}

// Names are few, whoever invents keys, and go to those in trouble; what the rest
// counts is summed.
func TestKeyLimit(t *testing.T) {
	g := newGroup(t, 10_000)
	for i := range 1000 {
		call(g.For(fmt.Sprint("quiet", i)))
	}
	for i := range 50 {
		call(g.For(fmt.Sprint("poor", i)), transient, final)
	}
	for i := range 5 {
		call(g.For(fmt.Sprint("worst", i)), transient, transient, final)
	}
	c, err := promretry.NewGroup("g", g, promretry.WithKeyLimit(5))
	require.NoError(t, err)
	r := registry(t, c)
	for range 3 {
		want := []string{"other", "worst0", "worst1", "worst2", "worst3", "worst4"}
		assert.Equal(t, want, labels(t, r, "reprise_hedges_total", "key"))
	}
	s := gather(t, r)
	assert.Equal(t, 50.0, s["reprise_retries_total class=transient engine=g key=other"])
	assert.Equal(t, 1050.0*500-50*14, s["reprise_quota_tokens engine=g key=other"])
	assert.Equal(t, 1050.0*500, s["reprise_quota_capacity_tokens engine=g key=other"])
	assert.Equal(t, 2.0, s["reprise_retries_total class=transient engine=g key=worst0"])
}

// A name under which nothing happens for five minutes goes to a key in trouble, and
// no count goes back.
func TestNamesAreGivenOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 10)
		c, err := promretry.NewGroup("g", g, promretry.WithKeyLimit(2))
		require.NoError(t, err)
		r := registry(t, c)
		names := func() []string { return labels(t, r, "reprise_hedges_total", "key") }
		others := func() float64 { return gather(t, r)["reprise_stops_total engine=g key=other reason=non_retryable"] }
		call(g.For("first"), final)
		call(g.For("second"), final)
		assert.Equal(t, []string{"first", "other", "second"}, names())
		call(g.For("third"), final)
		call(g.For("third"), final)
		assert.Equal(t, 2.0, others())

		pass(4 * time.Minute)
		call(g.For("second"), final)
		call(g.For("third"), final)
		assert.Equal(t, []string{"first", "other", "second"}, names(), "not yet")
		pass(2 * time.Minute)
		g.For("fourth")
		assert.Equal(t, []string{"first", "other", "second"}, names(), "nobody is in trouble")
		call(g.For("third"), final)
		assert.Equal(t, []string{"other", "second", "third"}, names())
		assert.Equal(t, 3.0, others(), "what was shown under a name is not shown again")
		assert.Equal(t, 4.0, gather(t, r)["reprise_stops_total engine=g key=third reason=non_retryable"])

		call(g.For("first"), final)
		assert.Equal(t, 4.0, others(), "only what is new")
		call(g.For("first"), final)
		assert.Equal(t, 5.0, others())
		assert.Equal(t, []string{"other", "second", "third"}, names())

		pass(6 * time.Minute)
		call(g.For("first"), final)
		assert.Equal(t, []string{"first", "other", "third"}, names(), "a name of its own once more, the quietest one's")
	})
}

// Engines that go take no counts with them, and free their names.
func TestEnginesGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 4)
		c, err := promretry.NewGroup("g", g, promretry.WithKeyLimit(1))
		require.NoError(t, err)
		r := registry(t, c)
		total, made := 0.0, 0.0
		for round := range 20 {
			for i := range 4 {
				call(g.For(fmt.Sprint(round, "-", i)), transient)
				made++
			}
			others := gather(t, r)["reprise_recoveries_total engine=g key=other"]
			assert.GreaterOrEqual(t, others, total)
			total = others
			pass(11 * time.Second)
			g.For("new") // marks go on
			pass(11 * time.Second)
		}
		assert.Positive(t, g.Stats().Dropped)
		made -= float64(g.Stats().Overflowed) // which were not retried
		assert.InDelta(t, made, total+2, 1, "but for those that had the name: one in five minutes")
		assert.Equal(t, []string{"other"}, labels(t, r, "reprise_hedges_total", "key"), "its engine has gone, and so has its series")
		pass(5 * time.Minute)
		assert.Len(t, labels(t, r, "reprise_hedges_total", "key"), 2, "the name is free again")
	})
}

func pass(d time.Duration) { <-time.After(d) }

// Whatever a key is, the scrape succeeds and tells keys apart, or sums them.
func TestOddKeys(t *testing.T) {
	g := newGroup(t, 100)
	long := strings.Repeat("ä", 200)
	for _, key := range []string{"", "other", "a\xffb", "a\xfeb", long, long + "!", "line\nbreak", `quo"te`, "key", "{}"} {
		call(g.For(key), final)
	}
	c, err := promretry.NewGroup("g", g)
	require.NoError(t, err)
	r := registry(t, c)
	got := labels(t, r, "reprise_hedges_total", "key")
	assert.ElementsMatch(t, []string{"other", "a\uFFFDb", strings.Repeat("ä", 64), "line\nbreak", `quo"te`, "key", "{}"}, got)
	sum := 0.0
	for name, v := range gather(t, r) {
		if strings.HasPrefix(name, "reprise_stops_total ") {
			sum += v
		}
	}
	assert.Equal(t, 10.0, sum)
	for _, key := range got {
		assert.True(t, utf8.ValidString(key))
	}
}

func TestKeyLabels(t *testing.T) {
	type tenant struct {
		ID   int
		Name string
	}
	g, err := engine.NewGroup[tenant](newEngine(t), 10)
	require.NoError(t, err)
	for i := range 4 {
		g.For(tenant{i, fmt.Sprint("t", i)})
	}
	plain, err := promretry.NewGroup("plain", g)
	require.NoError(t, err)
	named, err := promretry.NewGroup("named", g, promretry.WithKeyLabel(func(key tenant) string {
		if key.ID == 3 {
			panic("odd")
		}
		return key.Name
	}))
	require.NoError(t, err)
	assert.Contains(t, labels(t, registry(t, plain), "reprise_hedges_total", "key"), "{1 t1}")
	assert.ElementsMatch(t, []string{"other", "t0", "t1", "t2"}, labels(t, registry(t, named), "reprise_hedges_total", "key"))

	odd, err := engine.NewGroup[any](newEngine(t), 10)
	require.NoError(t, err)
	odd.For([]int{1})
	odd.For(math.NaN())
	odd.For("good")
	c, err := promretry.NewGroup("odd", odd)
	require.NoError(t, err)
	s := gather(t, registry(t, c))
	assert.Equal(t, 2.0, s["reprise_group_unkeyed_total engine=odd"])
	assert.Contains(t, s, "reprise_quota_tokens engine=odd key=good")

	c, err = promretry.NewGroup("zero", new(engine.Group[string]))
	require.NoError(t, err)
	assert.Zero(t, gather(t, registry(t, c))["reprise_group_engines_limit engine=zero"], "a zero Group has no engine")
}

// The gauges of an adaptive group's nameless keys are sums.
func TestAdaptiveGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 10, engine.WithMode(engine.Adaptive), engine.WithMaxAttempts(1))
		for i := range 4 {
			c := g.For(fmt.Sprint(i)).Begin()
			c.Fail(throttling)
		}
		c, err := promretry.NewGroup("g", g, promretry.WithKeyLimit(1))
		require.NoError(t, err)
		s := gather(t, registry(t, c))
		assert.Equal(t, 3.0, s["reprise_limiter_enabled engine=g key=other"])
		assert.Equal(t, 1.5, s["reprise_limiter_fill_attempts_per_second engine=g key=other"])
	})
}

// Scrapes, calls and invented keys at once: no scrape fails, no counter goes back.
func TestGroupHammer(t *testing.T) {
	g := newGroup(t, 64, engine.WithQuota(engine.Quota{Capacity: 1 << 20}))
	c, err := promretry.NewGroup("g", g, promretry.WithKeyLimit(8))
	require.NoError(t, err)
	r := registry(t, c)
	var calling sync.WaitGroup
	for w := range 4 {
		calling.Go(func() {
			for i := range 2000 {
				call(g.For(fmt.Sprint(w*i%97)), transient, final)
			}
		})
	}
	var scraping sync.WaitGroup
	for range 2 {
		scraping.Go(func() {
			for range 50 {
				s := gather(t, r)
				assert.LessOrEqual(t, s["reprise_group_engines engine=g"], 64.0)
			}
		})
	}
	scraping.Wait()
	calling.Wait()
	sum, want := 0.0, 0.0
	for name, v := range gather(t, r) {
		if strings.HasPrefix(name, "reprise_retries_total class=transient") {
			sum += v
		}
	}
	for _, e := range maps.Collect(g.All()) {
		want += float64(e.Stats().TransientRetries)
	}
	assert.GreaterOrEqual(t, sum, want, "a key that got a name later was counted with the others before")
	assert.LessOrEqual(t, sum, 8000.0*2)
	assert.Len(t, slices.Compact(labels(t, r, "reprise_hedges_total", "key")), 9)
}
