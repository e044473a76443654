package settings_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/settings"
)

// Faults that other libraries shipped, by the number in their list.

// 104: attempts against retries, off by one. 1 switches retries off (R1.1).
func TestFault104AttemptsCountTheFirst(t *testing.T) {
	for _, source := range []func(n int) world{
		func(n int) world { return environment(fmt.Sprintf("AWS_MAX_ATTEMPTS=%d", n)) },
		func(n int) world { return config(fmt.Sprintf("[default]\nmax_attempts=%d", n)) },
	} {
		for n := -1; n <= 2; n++ {
			s, err := settings.Load(source(n).opts())
			if n < 1 {
				require.Error(t, err, "%d", n)
				continue
			}
			require.NoError(t, err)
			e, err := engine.New(s.Options()...)
			require.NoError(t, err)
			assert.Equal(t, n, e.MaxAttempts())
		}
	}
}

// 38: documentation and code disagree. What is printed for a value that nobody
// said is what the engine does.
func TestFault38PrintedDefaultsAreTheEngines(t *testing.T) {
	s, err := settings.Load(environment().opts())
	require.NoError(t, err)
	e, err := engine.New()
	require.NoError(t, err)
	dynamo, err := engine.New(engine.WithService("DynamoDB"))
	require.NoError(t, err)
	assert.Contains(t, s.String(), fmt.Sprintf("max_attempts = %d (default; DynamoDB %d)", e.MaxAttempts(), dynamo.MaxAttempts()))
	assert.Contains(t, s.String(), fmt.Sprintf("retry_mode = %v (default)", e.Mode()))

	s, err = settings.Load(environment("AWS_RETRY_MODE=legacy").opts())
	require.NoError(t, err)
	legacy, err := engine.New(s.Options()...)
	require.NoError(t, err)
	assert.Equal(t, engine.Legacy, legacy.Mode())
	assert.Contains(t, s.String(), fmt.Sprintf("max_attempts = %d (default of legacy mode)", legacy.MaxAttempts()))
}

// 124: two settings conflict and a valid configuration is refused.
func TestFault124ConflictsHavePrecedence(t *testing.T) {
	s, err := settings.Load(config("[default]\nretry_mode=legacy\nmax_attempts=7", "AWS_RETRY_MODE=standard", "AWS_MAX_ATTEMPTS=5").opts())
	require.NoError(t, err)
	e, err := engine.New(append(s.Options(), engine.WithMode(engine.Standard), engine.WithMaxAttempts(2))...)
	require.NoError(t, err)
	assert.Equal(t, 2, e.MaxAttempts())
}

// 125: max_attempts in the profile ignored.
func TestFault125ProfileCounts(t *testing.T) {
	file := "[default]\nmax_attempts = 3\n[profile p]\nmax_attempts = %s\nretry_mode = %s\n"
	for _, row := range []struct{ attempts, mode, want string }{
		{"7", "standard", "standard@p:5 7@p:4"},
		{" 5 ", "Adaptive", "adaptive@p:5 5@p:4"},
		{"abc", "standard", ""},
		{"0", "standard", ""},
		{"-1", "standard", ""},
		{"5", "quick", ""},
	} {
		s, err := settings.Load(config(fmt.Sprintf(file, row.attempts, row.mode), "AWS_PROFILE=p").opts())
		if row.want == "" {
			assert.Error(t, err, row)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, row.want, short(s))
	}
}

// 23: a reload that is believed to be active and is not. Nothing is cached.
func TestFault23NothingIsCached(t *testing.T) {
	w := config("[default]\nmax_attempts = 4", "AWS_RETRY_MODE=legacy")
	first, err := settings.Load(w.opts())
	require.NoError(t, err)
	w.env["AWS_RETRY_MODE"] = "standard"
	w.files["h/.aws/config"] = "[default]\nmax_attempts = 6"
	second, err := settings.Load(w.opts())
	require.NoError(t, err)
	assert.Equal(t, "legacy@AWS_RETRY_MODE 4@default:2", short(first))
	assert.Equal(t, "standard@AWS_RETRY_MODE 6@default:2", short(second))
}

// 131: probing for a cloud delays the start by minutes. Load looks at six
// variables at most and one file, and asks nobody else.
func TestFault131NothingIsProbed(t *testing.T) {
	known := []string{"AWS_RETRY_MODE", "AWS_MAX_ATTEMPTS", "AWS_PROFILE", "AWS_CONFIG_FILE", "HOME", "USERPROFILE"}
	files := &counted{FS: fstest.MapFS{"h/.aws/config": {Data: []byte("[default]")}, "h/.aws/credentials": {}}}
	o := environment().opts()
	getenv := o.Getenv
	o.FS, o.Getenv = files, func(name string) string {
		assert.Contains(t, known, name)
		return getenv(name)
	}
	_, err := settings.Load(o)
	require.NoError(t, err)
	assert.NotEmpty(t, files.names)
	for _, name := range files.names {
		assert.Equal(t, "h/.aws/config", name)
	}
}

// counted notes which files are opened.
type counted struct {
	fs.FS
	names []string
}

func (c *counted) Open(name string) (fs.File, error) {
	c.names = append(c.names, name)
	return c.FS.Open(name)
}

// 47: a negative value with a meaning of its own, or one that means unlimited.
func TestFault47NoMagicNumbers(t *testing.T) {
	for _, text := range []string{"-1", "-0", "0", "00", "+0", "", "inf", "none", "null", "max", "-9223372036854775808"} {
		_, err := settings.Load(config("[default]\nmax_attempts = " + text).opts())
		require.Error(t, err, text)
		assert.True(t, strings.Contains(err.Error(), "want an integer from 1"), text)
	}
}
