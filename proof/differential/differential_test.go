package differential_test

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	wantedSteps = flag.Int("steps", 0, "steps of TestDifferential; 0: 1,000,000, or 150,000 with -short")
	firstSeed   = flag.Uint64("seed", 1, "of the first script")
	scriptFile  = flag.String("script", "", "a script that TestScript runs")
	outFolder   = flag.String("out", "", "where a failing script goes; empty: the system's folder for temporary files")
)

func sortedKinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// The SDK's retryers and the engine make the same of everything but what the
// table says, step for step.
func TestDifferential(t *testing.T) {
	steps := *wantedSteps
	if steps == 0 {
		steps = 1_000_000
		if testing.Short() {
			steps = 150_000
		}
	}
	longPolling() // outside of any bubble
	seen, start, seed := tally{}, time.Now(), *firstSeed
	for ; seen.steps() < steps; seed++ {
		s := newScript(seed, 400)
		if m, _ := run(t, s, seen); m != nil {
			report(t, s, m)
		}
	}
	took := time.Since(start)
	t.Logf("%d scripts, %d steps in %v: %.0f steps/s", seed-*firstSeed, seen.steps(), took.Round(time.Millisecond), float64(seen.steps())/took.Seconds())
	for _, d := range differences {
		t.Logf("%9d %s: %s", seen[d.name], d.name, d.why)
		assert.NotZero(t, seen[d.name], "a stale entry: %s", d.name)
		delete(seen, d.name)
	}
	for _, what := range []string{"success", "retry", "non_retryable", "max_attempts", "quota", "deadline", "cancelled",
		"waits for the limiter", "refused by the limiter"} {
		t.Logf("%9d %s", seen[metPrefix+what], what)
		assert.NotZero(t, seen[metPrefix+what], "never met: %s", what)
	}
	for what := range seen {
		assert.True(t, strings.HasPrefix(what, metPrefix), "not in the table: %s", what)
	}
}

// report shrinks a script that fails, writes it down, and fails.
func report(t *testing.T, s *script, m *mismatch) {
	small, least := shrink(t, s, m)
	require.FailNow(t, "SDK and engine differ", "seed %d: %v\nshrunk to %d calls, %d steps: %v\n%s",
		s.Seed, m, len(small.Calls), small.steps(), least, write(t, small, least))
}
