package explain

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-go/reprise/settings"
)

// load reads settings from a made-up environment and config file.
func load(t *testing.T, file string, variables ...string) *settings.Settings {
	t.Helper()
	environment := map[string]string{"AWS_CONFIG_FILE": "/etc/aws/config"}
	for i := 0; i < len(variables); i += 2 {
		environment[variables[i]] = variables[i+1]
	}
	files := fstest.MapFS{}
	if file != "" {
		files["etc/aws/config"] = &fstest.MapFile{Data: []byte(file)}
	}
	s, err := settings.Load(settings.Opts{FS: files, Getenv: func(name string) string { return environment[name] }})
	require.NoError(t, err)
	return &s
}

func TestGoldenSettings(t *testing.T) {
	const file = "[default]\nretry_mode = legacy\n\n[profile prod]\nretry_mode = adaptive\nmax_attempts = 7\n"
	prod := load(t, file, "AWS_PROFILE", "prod", "AWS_MAX_ATTEMPTS", "5")
	for name, q := range map[string]Question{
		"settings_default":  {Settings: load(t, "")},
		"settings_dynamodb": {Settings: prod, Service: "dynamodb"},
		"settings_legacy":   {Settings: load(t, file)},
		"settings_flags":    {Settings: prod, Mode: "standard", MaxAttempts: new(1)},
		"settings_failure":  {Settings: prod, Status: new(503)},
	} {
		t.Run(name, func(t *testing.T) { golden(t, name+".txt", explain(t, q).Text()) })
	}
	for name, q := range map[string]Question{
		"settings_default": {Settings: load(t, ""), Service: "dynamodb"},
		"settings_legacy":  {Settings: load(t, file)},
		"settings_failure": {Settings: prod, MaxAttempts: new(2), Error: "cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := explain(t, q).JSON()
			require.NoError(t, err)
			golden(t, name+".json", string(text))
		})
	}
}

// A flag goes before the environment, which goes before the file (R1.2), in
// what is shown as in the engine; and what was loaded stays as it was.
func TestFlagsGoBeforeSettings(t *testing.T) {
	found := load(t, "[default]\nmax_attempts = 7\n", "AWS_MAX_ATTEMPTS", "5")
	a := explain(t, Question{Settings: found, MaxAttempts: new(2), Status: new(500)})
	assert.Contains(t, a.Text(), "max_attempts = 2 (--max-attempts); AWS_MAX_ATTEMPTS said 5; file said 7\n")
	assert.Equal(t, 2, a.Engine.MaxAttempts)
	assert.Equal(t, 2, a.Meaning.MaxAttempts)
	assert.Equal(t, 5, found.MaxAttempts.Value())

	_, err := Explain(Question{Settings: found, LongPoll: true})
	require.ErrorContains(t, err, "nothing to explain", "a long poll of what?")
}
