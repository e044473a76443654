package settings_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/ini.v1"

	"github.com/reprise-go/reprise/engine"
	"github.com/reprise-go/reprise/settings"
)

// world is an environment and the files of a machine. The home directory is /h.
type world struct {
	env   map[string]string
	files map[string]string
}

func (w world) opts() settings.Opts {
	files := fstest.MapFS{}
	for name, text := range w.files {
		files[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o600}
	}
	return settings.Opts{FS: files, Getenv: func(name string) string {
		if value, ok := w.env[name]; ok {
			return value
		}
		if name == "HOME" || name == "USERPROFILE" {
			return "/h"
		}
		return ""
	}}
}

// config is a world with a config file at the usual place.
func config(text string, env ...string) world {
	return world{envOf(env), map[string]string{"h/.aws/config": text}}
}

// environment is a world without a config file.
func environment(env ...string) world { return world{envOf(env), nil} }

func envOf(pairs []string) map[string]string {
	env := make(map[string]string)
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	return env
}

// short is a Settings in one line: mode, attempts, each with its source, "-" for
// what nobody said.
func short(s settings.Settings) string {
	mode, attempts := "-", "-"
	if s.Mode.Set() {
		mode = fmt.Sprintf("%v@%s", s.Mode.Value(), place(s.Mode.Source()))
	}
	if s.MaxAttempts.Set() {
		attempts = fmt.Sprintf("%d@%s", s.MaxAttempts.Value(), place(s.MaxAttempts.Source()))
	}
	return mode + " " + attempts
}

func place(source settings.Source) string {
	if source.File != "" {
		return fmt.Sprintf("%s:%d", source.Profile, source.Line)
	}
	return source.Variable
}

const nested = `[default]
s3 =
  max_attempts = 9
  retry_mode = legacy

	max_attempts = 8
region = eu-west-1
  max_attempts = 7
max_attempts = 6
`

// Each row is a world and what Load makes of it: a short Settings, or (after
// "error: ") words of the error, all of which must be there.
var loads = []struct {
	clause string
	world  world
	want   string
}{
	// Where a value comes from.
	{"R1.1 nobody says anything", environment(), "- -"},
	{"R1.1 attempts from the environment", environment("AWS_MAX_ATTEMPTS=5"), "- 5@AWS_MAX_ATTEMPTS"},
	{"R1.1 mode from the environment", environment("AWS_RETRY_MODE=adaptive"), "adaptive@AWS_RETRY_MODE -"},
	{"R1.1 both from the file", config("[default]\nretry_mode=legacy\nmax_attempts=7\n"), "legacy@default:2 7@default:3"},
	{"R1.2 environment before file", config("[default]\nmax_attempts=7\nretry_mode=legacy", "AWS_MAX_ATTEMPTS=5"), "legacy@default:3 5@AWS_MAX_ATTEMPTS"},
	{"R1.2 AWS_PROFILE chooses the section", config("[default]\nmax_attempts=7\n[profile p]\nmax_attempts=2", "AWS_PROFILE=p"), "- 2@p:4"},
	{"R1.2 a profile inherits nothing", config("[default]\nmax_attempts=7\n[profile p]\nregion=x", "AWS_PROFILE=p"), "- -"},
	{"R1.2 AWS_CONFIG_FILE moves the file", world{envOf([]string{"AWS_CONFIG_FILE=/etc/c"}), map[string]string{"etc/c": "[default]\nmax_attempts=4", "h/.aws/config": "[default]\nmax_attempts=7"}}, "- 4@default:2"},
	{"R1.2 blanks around the names in the environment", world{envOf([]string{"AWS_CONFIG_FILE= /etc/c ", "AWS_PROFILE= p "}), map[string]string{"etc/c": "[profile p]\nmax_attempts=4"}}, "- 4@p:2"},
	{"R1.2 an empty AWS_PROFILE and AWS_CONFIG_FILE say nothing", config("[default]\nmax_attempts=7", "AWS_PROFILE=", "AWS_CONFIG_FILE="), "- 7@default:2"},
	{"R1.2 [profile default] replaces [default]", config("[profile default]\nmax_attempts=2\n[default]\nmax_attempts=7\nretry_mode=legacy"), "- 2@default:2"},
	{"R1.2 [default] is found by name", config("[default]\nmax_attempts=7", "AWS_PROFILE=default"), "- 7@default:2"},
	{"R1.2 [NAME] is no profile", config("[p]\nmax_attempts=7", "AWS_PROFILE=p"), `error: "p" (AWS_PROFILE) | a section [p], which is a profile only as [profile p]`},
	{"R1.2 nor is [Default]", config("[Default]\nmax_attempts=7\n[DEFAULT]\nmax_attempts=8"), "- -"},
	{"R1.2 sso-session and services are none either", config("[sso-session default]\nmax_attempts=7\n[services default]\nmax_attempts=8\n[profile]\nmax_attempts=9"), "- -"},
	{"R1.2 a dot in a name is no inheritance", config("[profile a]\nmax_attempts=7\n[profile a.b]\nregion=x", "AWS_PROFILE=a.b"), "- -"},
	{"R1.2 names with blanks, as AWS's CLI writes them", config("[profile \"my own\"]\nmax_attempts=7", "AWS_PROFILE=my own"), "- 7@my own:2"},
	{"R1.2 and bare", config("[ profile \t my own ]\nmax_attempts=7", "AWS_PROFILE=my own"), "- 7@my own:2"},

	// Values.
	{"R1.1 1 turns retries off", environment("AWS_MAX_ATTEMPTS=1"), "- 1@AWS_MAX_ATTEMPTS"},
	{"R1.1 the greatest value", environment("AWS_MAX_ATTEMPTS=2147483647"), "- 2147483647@AWS_MAX_ATTEMPTS"},
	{"R1.3 blanks are trimmed", environment("AWS_MAX_ATTEMPTS= 5\t", "AWS_RETRY_MODE= standard\n"), "standard@AWS_RETRY_MODE 5@AWS_MAX_ATTEMPTS"},
	{"R1.3 modes match without case", environment("AWS_RETRY_MODE=AdaPtive"), "adaptive@AWS_RETRY_MODE -"},
	{"R1.3 ASCII case, that is", environment("AWS_RETRY_MODE=\u017ftandard"), "error: retry_mode = | (AWS_RETRY_MODE): want standard, adaptive or legacy"},
	{"R1.3 an empty or blank variable says nothing", config("[default]\nmax_attempts=7", "AWS_MAX_ATTEMPTS=", "AWS_RETRY_MODE= "), "- 7@default:2"},
	{"R1.3 an empty value in the file is bad", config("[default]\nmax_attempts =\nretry_mode = "), `error: max_attempts = "" (/h/.aws/config:2, profile "default"): want an integer | retry_mode = "" (/h/.aws/config:3`},
	{"R1.3 zero", environment("AWS_MAX_ATTEMPTS=0"), `error: max_attempts = "0" (AWS_MAX_ATTEMPTS): want an integer from 1 (no retries) to 2147483647`},
	{"R1.3 negative", environment("AWS_MAX_ATTEMPTS=-1"), `error: max_attempts = "-1" (AWS_MAX_ATTEMPTS): want`},
	{"R1.3 no number", environment("AWS_MAX_ATTEMPTS=abc"), `error: max_attempts = "abc" (AWS_MAX_ATTEMPTS): want`},
	{"R1.3 exponent", environment("AWS_MAX_ATTEMPTS=1e3"), `error: "1e3"`},
	{"R1.3 fraction", environment("AWS_MAX_ATTEMPTS=3.0"), `error: "3.0"`},
	{"R1.3 other bases and separators", environment("AWS_MAX_ATTEMPTS=0x10"), `error: "0x10"`},
	{"R1.3 one above the greatest value", environment("AWS_MAX_ATTEMPTS=2147483648"), `error: "2147483648"`},
	{"R1.3 wraps to 1 in 64 bits", environment("AWS_MAX_ATTEMPTS=18446744073709551617"), `error: "18446744073709551617"`},
	{"R1.3 quotes in the environment stay", environment(`AWS_MAX_ATTEMPTS="5"`), `error: want an integer`},
	{"R1.3 unlimited is no value", environment("AWS_MAX_ATTEMPTS=unlimited"), `error: "unlimited"`},
	{"R1.3 unknown mode", environment("AWS_RETRY_MODE=fast"), `error: retry_mode = "fast" (AWS_RETRY_MODE): want standard, adaptive or legacy`},
	{"R1.3 bad in the file: file, line and profile", config("# ours\n\n[profile p]\nmax_attempts = x", "AWS_PROFILE=p"), `error: max_attempts = "x" (/h/.aws/config:4, profile "p"): want`},
	{"R1.3 bad and overruled", config("[default]\nmax_attempts=0", "AWS_MAX_ATTEMPTS=5"), `error: max_attempts = "0" (/h/.aws/config:2, profile "default")`},
	{"R1.3 all that is bad at once", config("[default]\nmax_attempts=0\nretry_mode=x", "AWS_MAX_ATTEMPTS=y", "AWS_RETRY_MODE=z"), `error: "0" | "x" | "y" | "z"`},
	{"R1.3 bad in a profile that nobody asked for", config("[profile p]\nmax_attempts=0\n[default]\nmax_attempts=7"), "- 7@default:4"},
	{"R1.3 a long value is shown in part", environment("AWS_MAX_ATTEMPTS=" + strings.Repeat("9", 1000)), `error: ... (1000 bytes)`},

	// The file as people and tools write it.
	{"R1.2 nested blocks, continued values, and a tab", config(nested), "- 6@default:9"},
	{"R1.2 only a nested one", config("[default]\ns3 =\n    max_attempts = 9\n# note\n    retry_mode = legacy\n"), "- -"},
	{"R1.2 a block ends with its section", config("[default]\ns3 =\n  a = 1\n[profile p]\nmax_attempts = 4", "AWS_PROFILE=p"), "- 4@p:5"},
	{"R1.2 a section indented as a whole", config("[default]\n  region = x\n  max_attempts = 4\n  s3 =\n    retry_mode = legacy\n"), "- 4@default:3"},
	{"R1.2 a quoted value does not open a block to us", config("[default]\nregion = \"x\"\n  max_attempts = 9\n"), "- -"},
	{"R1.2 comments", config("# a\n; b\n[default] # ] c\n#max_attempts = 1\nmax_attempts = 4 # five\nretry_mode = legacy\t; old\n"), "legacy@default:6 4@default:5"},
	{"R1.3 no comment without a blank", config("[default]\nmax_attempts = 4#five"), `error: "4#five"`},
	{"R1.2 CRLF", config("[default]\r\nmax_attempts = 4\r\nretry_mode = legacy\r\n"), "legacy@default:3 4@default:2"},
	{"R1.2 CR", config("[default]\rmax_attempts = 4\rretry_mode = legacy"), "legacy@default:3 4@default:2"},
	{"R1.2 a BOM", config("\ufeff[default]\nmax_attempts = 4"), "- 4@default:2"},
	{"R1.2 blanks everywhere", config("[ default\t]  \n max_attempts\t=\t 4 \t\n"), "- 4@default:2"},
	{"R1.2 a colon", config("[default]\nmax_attempts: 4\n"), "- 4@default:2"},
	{"R1.2 names without case", config("[default]\nMax_Attempts = 4\n"), "- 4@default:2"},
	{"R1.2 one pair of quotes", config("[default]\nmax_attempts = \"4\"\nretry_mode = ' legacy '\n"), "legacy@default:3 4@default:2"},
	{"R1.3 and not two", config("[default]\nmax_attempts = '\"4\"'\n"), `error: max_attempts = "\"4\""`},
	{"R1.2 the last of two counts", config("[default]\nmax_attempts = 4\nmax_attempts = 5\n"), "- 5@default:3"},
	{"R1.2 though the first is bad", config("[default]\nmax_attempts = x\nmax_attempts = 5\n"), "- 5@default:3"},
	{"R1.2 sections of one name are one", config("[default]\nmax_attempts = 4\nretry_mode = legacy\n[profile p]\n[default ]\nmax_attempts = 5"), "legacy@default:3 5@default:6"},
	{"R1.2 and the last counts, however they are spelt", config("[default]\nmax_attempts = 4\n[default ]\nmax_attempts = 5\n[default]\nmax_attempts = 6"), "- 6@default:6"},
	{"R1.2 a backslash at the end joins nothing", config("[default]\nca_bundle = C:\\certs\\\nmax_attempts = 4"), "- 4@default:3"},
	{"R1.2 nothing is interpolated", config("[default]\nn = 4\nmax_attempts = %(n)s"), `error: max_attempts = "%(n)s"`},
	{"R1.2 settings before any section belong to none", config("max_attempts = 4\n[default]\n"), "- -"},
	{"R1.2 an empty file", config(""), "- -"},
	{"R1.2 other bytes than UTF-8 in what is not ours", config("[default]\n# caf\xe9\nregion = \xff\xfe\nmax_attempts = 4"), "- 4@default:4"},
	{"R1.3 and in what is", config("[default]\nmax_attempts = 4\xff"), `error: max_attempts = "4\xff"`},
	{"R1.2 UTF-16", config("\xff\xfe[\x00d\x00]\x00"), "error: config file /h/.aws/config (default): it holds NUL bytes: want text in UTF-8"},
	{"R1.2 a line without a value", config("[default]\n\nmax_attempts\n"), "error: config file /h/.aws/config (default): line 3: want NAME = VALUE"},
	{"R1.2 a value without a name", config("[default]\n= 4\n"), "error: line 2: want NAME = VALUE"},
	{"R1.2 a header that does not end", config("\n[default\nmax_attempts = 4"), "error: line 2: want [SECTION]"},
	{"R1.2 a header without a name", config("[]\nmax_attempts = 4"), "error: line 1: want [SECTION]"},
	{"R1.2 a lone quote swallows nothing", config("[default]\na = `b\nc: \"\"\"d\n\"e = f\nmax_attempts = 4\ng = `h"), "- 4@default:5"},
	{"R1.3 and no quotes but AWS's are dropped", config("[default]\nmax_attempts = `4`\nretry_mode: \"\"\"legacy\"\"\" # c"), "error: max_attempts = \"`4`\" (/h/.aws/config:2 | retry_mode = \"\\\"\\\"\\\"legacy\\\"\\\"\\\"\" (/h/.aws/config:3"},
	{"R1.2 nor is a name in quotes the setting", config("[default]\n\"max_attempts\" = 4\n  retry_mode = legacy\n`retry_mode` = legacy"), "- -"},

	// Files and profiles that are not there.
	{"R1.2 AWS_CONFIG_FILE names no file", environment("AWS_CONFIG_FILE=/etc/none", "AWS_MAX_ATTEMPTS=5"), "- 5@AWS_MAX_ATTEMPTS"},
	{"R1.2 AWS_CONFIG_FILE=/dev/null", config("[default]\nmax_attempts=7", "AWS_CONFIG_FILE=/dev/null"), "- -"},
	{"R1.2 home directory unknown", config("[default]\nmax_attempts=7", "HOME=", "USERPROFILE="), "- -"},
	{"R1.2 home directory unknown, a file asked for", world{envOf([]string{"HOME=", "USERPROFILE=", "AWS_CONFIG_FILE=/etc/c"}), map[string]string{"etc/c": "[default]\nmax_attempts=4"}}, "- 4@default:2"},
	{"R1.2 a named profile that is not in the file", config("[default]\nmax_attempts=7", "AWS_PROFILE=p"), `error: no such profile: "p" (AWS_PROFILE): want a section [profile p] in /h/.aws/config`},
	{"R1.2 a named profile and no file", environment("AWS_PROFILE=p"), `error: no such profile: "p" (AWS_PROFILE): /h/.aws/config does not exist`},
	{"R1.2 a named profile and no home", environment("AWS_PROFILE=p", "HOME=", "USERPROFILE="), `error: no such profile: "p" (AWS_PROFILE): there is no config file`},
	{"R1.2 [default] is not there", config("[profile p]\nmax_attempts=7", "AWS_PROFILE=default"), "- -"},
}

func TestLoad(t *testing.T) {
	for _, row := range loads {
		t.Run(row.clause, func(t *testing.T) {
			s, err := settings.Load(row.world.opts())
			words, wantError := strings.CutPrefix(row.want, "error: ")
			if !wantError {
				require.NoError(t, err)
				assert.Equal(t, row.want, short(s))
				return
			}
			require.Error(t, err)
			for word := range strings.SplitSeq(words, " | ") {
				assert.ErrorContains(t, err, word)
			}
			for line := range strings.Lines(err.Error()) {
				assert.True(t, strings.HasPrefix(line, "reprise/settings: "), line)
			}
			assert.Equal(t, settings.Settings{}, s, "a failed Load says nothing")
			assert.Empty(t, s.Options())
		})
	}
}

// The INI reader's name for what stands before any header is a variable that
// anybody may change. It must not turn that into a profile.
func TestNoProfileBeforeHeaders(t *testing.T) {
	name := ini.DefaultSection
	t.Cleanup(func() { ini.DefaultSection = name })
	ini.DefaultSection = "default"
	s, err := settings.Load(config("max_attempts = 4\n[profile p]\n").opts())
	require.NoError(t, err)
	assert.Equal(t, "- -", short(s))
}

// An option in code is before AWS_PROFILE and AWS_CONFIG_FILE (R1.2).
func TestOptsBeforeEnvironment(t *testing.T) {
	w := world{
		envOf([]string{"AWS_PROFILE=p", "AWS_CONFIG_FILE=/etc/p"}),
		map[string]string{"etc/p": "[profile p]\nmax_attempts=4", "etc/q": "[profile q]\nmax_attempts=5"},
	}
	o := w.opts()
	o.Profile, o.File = " q ", "/etc/q"
	s, err := settings.Load(o)
	require.NoError(t, err)
	assert.Equal(t, "- 5@q:2", short(s))
	assert.Equal(t, "q (Opts.Profile); AWS_PROFILE said p", s.Profile.String())
	assert.Equal(t, "/etc/q (Opts.File); AWS_CONFIG_FILE said /etc/p", s.File.String())

	o.Profile = "p"
	_, err = settings.Load(o)
	require.ErrorIs(t, err, settings.ErrNoProfile)
	assert.ErrorContains(t, err, `"p" (Opts.Profile): want a section [profile p] in /etc/q`)
}

// Options carries what was said and nothing else, so that defaults stay alive
// and later options win (R1.1, R1.2).
func TestOptions(t *testing.T) {
	build := func(w world, after ...engine.Option) *engine.Engine {
		t.Helper()
		s, err := settings.Load(w.opts())
		require.NoError(t, err)
		e, err := engine.New(append(append([]engine.Option{engine.WithService("DynamoDB")}, s.Options()...), after...)...)
		require.NoError(t, err)
		return e
	}
	assert.Equal(t, 4, build(environment()).MaxAttempts(), "R1.1: DynamoDB's own default")
	assert.Equal(t, 3, build(environment("AWS_MAX_ATTEMPTS=3")).MaxAttempts(), "R1.2: said, though it is the general default")
	assert.Equal(t, 2, build(environment("AWS_MAX_ATTEMPTS=3"), engine.WithMaxAttempts(2)).MaxAttempts(), "R1.2: code first")
	assert.Equal(t, engine.Standard, build(environment("AWS_RETRY_MODE=Standard")).Mode())

	s, err := settings.Load(environment("AWS_RETRY_MODE=standard").opts())
	require.NoError(t, err)
	assert.Len(t, s.Options(), 1, "R1.2: the mode alone")
	assert.Empty(t, settings.Settings{}.Options())
}
