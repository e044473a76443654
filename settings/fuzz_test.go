package settings_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/settings"
)

// Whatever stands in the file: no panic, and either an error with nothing said
// or settings that an engine takes (R1.3).
func FuzzFile(f *testing.F) {
	for _, row := range loads {
		if text, ok := row.world.files["h/.aws/config"]; ok {
			f.Add(text, row.world.env["AWS_PROFILE"])
		}
	}
	f.Fuzz(func(t *testing.T, text, profile string) {
		s, err := settings.Load(config(text, "AWS_PROFILE="+profile).opts())
		if err != nil {
			require.Equal(t, settings.Settings{}, s)
			return
		}
		for _, said := range s.MaxAttempts.Said {
			assert.Positive(t, said.Value)
			assert.Positive(t, said.Source.Line)
		}
		for _, said := range s.Mode.Said {
			assert.Contains(t, []engine.Mode{engine.Standard, engine.Adaptive, engine.Legacy}, said.Value)
			assert.Positive(t, said.Source.Line)
		}
		e, err := engine.New(s.Options()...)
		require.NoError(t, err)
		require.Equal(t, s.Mode.Value(), e.Mode())
	})
}

// The same for the environment's values.
func FuzzEnvironment(f *testing.F) {
	for _, row := range loads {
		f.Add(row.world.env["AWS_RETRY_MODE"], row.world.env["AWS_MAX_ATTEMPTS"])
	}
	f.Fuzz(func(t *testing.T, mode, attempts string) {
		w := environment()
		w.env["AWS_RETRY_MODE"], w.env["AWS_MAX_ATTEMPTS"] = mode, attempts
		s, err := settings.Load(w.opts())
		if err != nil {
			require.Equal(t, settings.Settings{}, s)
			return
		}
		assert.GreaterOrEqual(t, s.MaxAttempts.Value(), 0)
		assert.Equal(t, s.MaxAttempts.Set(), s.MaxAttempts.Value() > 0)
	})
}
