package differential_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/classify"
	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/fastbackoff"
)

// An engine that is off by a little is found within a few scripts, and what finds
// it is shrunk to a handful of attempts.
func TestWrongEngines(t *testing.T) {
	longPolling()
	cautious, err := classify.Default.With(classify.Overrides{Codes: map[string]classify.Class{"EC2ThrottledException": classify.Transient}})
	require.NoError(t, err)
	for name, wrong := range map[string]struct {
		topic  string
		option engine.Option
	}{
		"transient cost 13": {"quota", engine.WithQuota(engine.Quota{Capacity: 500, TransientCost: 13})},
		"throttling cost 6": {"quota", engine.WithQuota(engine.Quota{Capacity: 500, ThrottlingCost: 6})},
		"base 51 ms":        {"delay", engine.WithSchedule(fastbackoff.Schedule{Transient: 51 * ms})},
		"cap 19.999 s":      {"delay", engine.WithSchedule(fastbackoff.Schedule{Max: 19999 * ms})},
		"one attempt more":  {"attempts", engine.WithMaxAttempts(2001)},
		"another draw":      {"delay", engine.WithSource(fastbackoff.Fixed(0.5))},
		"another class":     {"delay", engine.WithClassifier(cautious)},
		"pacing":            {"delay", engine.WithPacing()},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := uint64(1); ; seed++ {
				require.Less(t, seed, uint64(500), "not found")
				s := newScript(seed, 400)
				s.Capacity, s.Tokens = 500, min(s.Tokens, 500)
				m, _ := run(t, s, tally{}, wrong.option)
				if m == nil {
					continue
				}
				small, least := shrink(t, s, m, wrong.option)
				t.Logf("seed %d: %v; shrunk from %d steps to %d: %v", seed, m, s.steps(), small.steps(), least)
				assert.Equal(t, wrong.topic, m.topic())
				assert.LessOrEqual(t, small.steps(), 60)
				require.NotNil(t, least)
				again, _ := run(t, small, tally{})
				assert.Nil(t, again, "the right engine passes")
				return
			}
		})
	}
}

// Scripts that once failed, and the one that a command line names.
func TestScript(t *testing.T) {
	longPolling()
	files, err := filepath.Glob("testdata/scripts/*.json")
	require.NoError(t, err)
	if *scriptFile != "" {
		files = append(files, *scriptFile)
	}
	require.NotEmpty(t, files)
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			m, _ := run(t, parse(t, text), tally{})
			require.Nil(t, m, "%v", m)
		})
	}
}
