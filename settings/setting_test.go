package settings_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/settings"
)

// What is printed names each value's source and what the lower ones said (R1.2).
func TestString(t *testing.T) {
	file := "[default]\nmax_attempts = 7\nretry_mode = legacy\n"
	rows := []struct {
		world world
		want  string
	}{
		{environment(), "retry_mode = standard (default)\n" +
			"max_attempts = 3 (default; DynamoDB 4)\n" +
			"profile = default (default)\n" +
			"config file = /h/.aws/config (default), which does not exist"},
		{config(file, "AWS_MAX_ATTEMPTS=5"), "retry_mode = legacy (/h/.aws/config:3, profile \"default\")\n" +
			"max_attempts = 5 (AWS_MAX_ATTEMPTS); file said 7\n" +
			"profile = default (default)\n" +
			"config file = /h/.aws/config (default)"},
		{config(file, "AWS_RETRY_MODE=adaptive", "AWS_PROFILE=default"), "retry_mode = adaptive (AWS_RETRY_MODE); file said legacy\n" +
			"max_attempts = 7 (/h/.aws/config:2, profile \"default\")\n" +
			"profile = default (AWS_PROFILE)\n" +
			"config file = /h/.aws/config (default)"},
		{environment("AWS_RETRY_MODE=legacy", "HOME=", "USERPROFILE="), "retry_mode = legacy (AWS_RETRY_MODE)\n" +
			"max_attempts = 5 (default of legacy mode)\n" +
			"profile = default (default)\n" +
			"config file = none (home directory unknown)"},
		{environment("AWS_CONFIG_FILE=/dev/null"), "retry_mode = standard (default)\n" +
			"max_attempts = 3 (default; DynamoDB 4)\n" +
			"profile = default (default)\n" +
			"config file = /dev/null (AWS_CONFIG_FILE)"},
	}
	for _, row := range rows {
		s, err := settings.Load(row.world.opts())
		require.NoError(t, err)
		assert.Equal(t, row.want, s.String())
	}
	assert.Equal(t, "retry_mode = standard (default)\n"+
		"max_attempts = 3 (default; DynamoDB 4)\n"+
		"profile = default (default)\n"+
		"config file = none (home directory unknown)", settings.Settings{}.String(), "the zero Settings")
}

// Names that would break the line, or that a terminal would obey, are quoted, so
// that a setting is a line and an error too; what people write is shown as it is.
func TestOddNamesAreQuoted(t *testing.T) {
	w := config("", "AWS_CONFIG_FILE=/etc/a\nretry_mode = legacy", "AWS_PROFILE=p\x1b[2J")
	w.files["etc/a\nretry_mode = legacy"] = "[profile p\x1b[2J]\nmax_attempts = 4\n"
	s, err := settings.Load(w.opts())
	require.NoError(t, err)
	assert.Equal(t, "retry_mode = standard (default)\n"+
		`max_attempts = 4 ("/etc/a\nretry_mode = legacy":2, profile "p\x1b[2J")`+"\n"+
		`profile = "p\x1b[2J" (AWS_PROFILE)`+"\n"+
		`config file = "/etc/a\nretry_mode = legacy" (AWS_CONFIG_FILE)`, s.String())
	o := w.opts()
	o.Profile = "q\xff"
	_, err = settings.Load(o)
	require.ErrorContains(t, err, `want a section [profile "q\xff"] in "/etc/a\nretry_mode = legacy"`)
	assert.NotContains(t, err.Error(), "\n")
	o.File = "/etc/ä \\ \"b\""
	_, err = settings.Load(o)
	require.ErrorContains(t, err, `config file /etc/ä \ "b" (Opts.File): file does not exist`)
}

// Every pair of a higher and a lower source, for both settings (R1.2).
func TestEveryPairOfSources(t *testing.T) {
	s, err := settings.Load(config("[default]\nmax_attempts = 7\nretry_mode = legacy", "AWS_MAX_ATTEMPTS=5", "AWS_RETRY_MODE=standard").opts())
	require.NoError(t, err)
	environment := settings.Source{Variable: "AWS_MAX_ATTEMPTS"}
	file := settings.Source{File: "/h/.aws/config", Line: 2, Profile: "default"}
	assert.Equal(t, []settings.Said[int]{{Value: 5, Source: environment}, {Value: 7, Source: file}}, s.MaxAttempts.Said)
	environment.Variable, file.Line = "AWS_RETRY_MODE", 3
	assert.Equal(t, []settings.Said[engine.Mode]{{Value: engine.Standard, Source: environment}, {Value: engine.Legacy, Source: file}}, s.Mode.Said)
	assert.True(t, s.Mode.Set(), "standard was said")
}

func TestZeroSetting(t *testing.T) {
	var s settings.Setting[int]
	assert.Zero(t, s.Value())
	assert.Zero(t, s.Source())
	assert.False(t, s.Set())
	assert.Equal(t, "0 (default)", s.String())
}
