package storm

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/internal/sim"
)

// drawn is a small storm's page.
func drawn(t *testing.T, change func(*Setup)) string {
	t.Helper()
	s, ok := Find("throttle")
	require.True(t, ok)
	s.Scenario.Duration = 6 * time.Second
	s.Policies = sim.Policies()
	change(&s)
	r, err := s.Run(t.Context(), s.Prepare())
	require.NoError(t, err)
	text, err := HTML(s, r)
	require.NoError(t, err)
	again, err := HTML(s, r)
	require.NoError(t, err)
	assert.Equal(t, text, again)
	return string(text)
}

func TestPage(t *testing.T) {
	page := drawn(t, func(*Setup) {})
	assert.NotContains(t, page, "<script")
	assert.NotContains(t, page, "NaN")
	assert.NotContains(t, page, "ZgotmplZ", "nothing that html/template took for unsafe")
	for _, name := range []string{"http:", "https:", "url(", "@import"} {
		assert.NotContains(t, page, name, "it refers to nothing outside")
	}
	assert.Contains(t, page, "750 calls a second, at random (Poisson), for 6 s")
	assert.Contains(t, page, "throttled above 500 requests a second, after a burst of 500")
	for _, c := range courses {
		assert.Contains(t, page, `<figure id="`+c.id+`">`)
	}
	for i, name := range PolicyNames() {
		assert.Contains(t, page, fmt.Sprintf(`id="show-p%d" checked`, i+1))
		assert.Contains(t, page, "<td>"+name+"</td>")
		assert.NotEmpty(t, policyWords[name])
	}
	assert.Contains(t, page, "Without a limiter, or never throttled: none, naive, legacy, envoy, linkerd, standard, pacing, dynamodb.")
	assert.NotContains(t, page, "slow", "no fault")
}

// Few samples make a line too, on a phone as well.
func TestFewSamplesAreDrawn(t *testing.T) {
	for samples, points := range map[int]int{1: 2, 2: 2, 3: 3, 8: 8} {
		page := drawn(t, func(s *Setup) {
			s.Policies = []sim.Policy{sim.None()}
			s.Scenario.Sample = s.Scenario.Duration / time.Duration(samples)
		})
		_, load, _ := strings.Cut(page, `<figure id="load">`)
		load, _, _ = strings.Cut(load, "</figure>")
		lines := regexp.MustCompile(`<g class="p1"><g[^>]*>\s*<path d="(M[^A"]*)"`).FindAllStringSubmatch(load, -1)
		require.Len(t, lines, 2, "wide and narrow, of %d samples", samples)
		assert.Equal(t, points-1, strings.Count(lines[0][1], "L"), "wide, of %d samples", samples)
		assert.Positive(t, strings.Count(lines[1][1], "L"), "narrow, of %d samples", samples)
	}
}

func TestThePageIsOfWhatUsersWrote(t *testing.T) {
	page := drawn(t, func(s *Setup) {
		s.Name, s.About = `<script>alert(1)</script>`, `a & "b"`
		s.Policies = []sim.Policy{sim.None()}
		s.Scenario.Faults = []sim.Fault{{Kind: sim.Slow, Amount: 2, Start: 2 * time.Second, Length: time.Hour}}
	})
	assert.NotContains(t, page, "<script")
	assert.Contains(t, page, "slow × 2", "a fault that outlasts the run is drawn as far as that goes")
	assert.Contains(t, page, "None was ever on.")
	assert.Contains(t, page, "under 1 retry policy.")
}

// The page says what the own policy's numbers are.
func TestOwnNumbersInWords(t *testing.T) {
	for text, want := range map[string]string{
		"{}":                                "standard; 3 attempts, backoff from 50 ms or, throttled, 1 s up to 20 s; a quota of 500 tokens, of which a retry takes 14 or 5",
		"{max_attempts: 1}":                 "standard; one attempt",
		"{mode: legacy}":                    "legacy; 5 attempts, backoff from 1 s up to 20 s",
		"{service: DynamoDB, pacing: true}": "standard for DynamoDB; 4 attempts, backoff from 25 ms or, throttled, 1 s up to 20 s; a quota of 500 tokens, of which a retry takes 14 or 5; a call that it refuses waits",
		"{mode: adaptive, coalesce: 1m}":    "adaptive; 3 attempts, backoff from 50 ms or, throttled, 1 s up to 20 s; a quota of 500 tokens, of which a retry takes 14 or 5; throttles within 1 min cut the rate once",
		"{quota: {capacity: 1000}, backoff: {max: 5s}}": "standard; 3 attempts, backoff from 50 ms or, throttled, 1 s up to 5 s; a quota of 1000 tokens, of which a retry takes 14 or 5",
	} {
		s, err := Parse("f.yaml", []byte("duration: 1s\nload: {rate: 1}\nlayers: [{callers: 1}]\npolicies: own\npolicy: "+text+"\n"))
		require.NoError(t, err)
		assert.Equal(t, want, s.own, text)
		page := drawn(t, func(to *Setup) { to.Policies, to.own = s.Policies, s.own })
		assert.Contains(t, page, want, text)
		assert.NotContains(t, page, policyWords[OwnName])
	}
}

func TestLinesAreToldApartWithoutColour(t *testing.T) {
	solid := 0
	for name, l := range looks {
		if len(l.Dashes) == 0 {
			solid++
		}
		for other, o := range looks {
			if name != other {
				assert.NotEqual(t, l.Color, o.Color, "%s and %s", name, other)
			}
		}
	}
	assert.LessOrEqual(t, solid, 3)
	page := drawn(t, func(*Setup) {})
	for i := range PolicyNames() {
		assert.Regexp(t, regexp.MustCompile(fmt.Sprintf(`<g class="p%d">[^§]*?>%d</text>`, i+1, i+1)), page)
	}
	assert.Positive(t, strings.Count(page, "stroke-dasharray"))
}

func TestWords(t *testing.T) {
	for _, s := range Builtin() {
		for _, f := range words(s.Scenario) {
			assert.NotEmpty(t, f.Text, s.Name)
			assert.NotContains(t, f.Text, "%!", s.Name)
		}
	}
	all := words(sim.Scenario{
		Duration: 90 * time.Second,
		Load:     sim.Load{Rate: 12345, Paced: true, Swing: 0.5, Period: time.Minute, Loops: 3, Think: time.Second, Hot: 0.25, Bursts: []sim.Burst{{At: time.Second, Calls: 7}}, LongPoll: true},
		Layers:   []sim.Layer{{Callers: 1, Once: true}},
		Server: sim.Server{
			Shards: 2, Workers: 4, Queue: 9, Service: sim.Service{Mean: 2 * time.Millisecond}, Contention: 1, Patience: time.Second, FullThrottles: true,
			Errors: sim.Errors{Transient: 0.01, Throttling: 0.02, Permanent: 0.03}, Cache: sim.Cache{Entries: 10, MissFactor: 2},
		},
		Faults: []sim.Fault{{Kind: sim.Failing, Amount: 0.5, Shards: 0.5, Length: time.Second}},
	})
	var text []string
	for _, f := range all {
		text = append(text, f.Name+": "+f.Text)
	}
	assert.Equal(t, []string{
		"Load: 12,345 calls a second, evenly spaced, the rate swings by 50 % every 1 min, 7 calls at one instant after 1 s, " +
			"3 loops that call again when they have their answer, and have thought for 1 s in the mean, 25 % of the calls for one key, long polls, for 90 s",
		"Clients: one caller, which never retry",
		"Service: 2 shards, each with 4 workers that take 2 ms (always), 2000 requests a second, and a queue of 9, slower the more it has to do, " +
			"requests that have waited for 1 s are refused, a full queue throttles, 1 % of the requests fail as transient, 2 % of the requests are throttled, " +
			"3 % of the requests fail for good, a cache of 10 entries, cold after an outage: a miss takes 2 times as long",
		"Fault: 50 % of the requests fail, on 50 % of the shards, from 0 ms on for 1 s",
	}, text)
}
